"""GRAPH_TABLE inside SQL, and graph elements as SQL columns."""

import pytest

from lab_helpers.sandbox.gql import GqlError

CASES = {
    "columns_clause": (
        "SELECT * FROM GRAPH_TABLE(world MATCH (p:Person)-[:Lives]->(c) "
        "COLUMNS (p.name, c.code AS city)) ORDER BY name",
        [("Ana", "LIS"), ("Ben", "LIS"), ("Cleo", "POR")],
    ),
    "return_clause": (
        "SELECT n + 1 AS m FROM GRAPH_TABLE(world MATCH (p) RETURN COUNT(*) AS n)",
        [(8,)],
    ),
    "alias_and_join_with_a_table": (
        "SELECT g.name, k.weight FROM GRAPH_TABLE(world MATCH (p:Person) RETURN p.id, p.name) AS g "
        "JOIN knows AS k ON k.a = g.id ORDER BY k.weight",
        [("Ben", 1), ("Cleo", 2), ("Ana", 5), ("Ben", 7)],
    ),
    "group_and_having": (
        "SELECT city, COUNT(*) AS n FROM GRAPH_TABLE(world MATCH (p)-[:Lives]->(c:City) "
        "RETURN c.name AS city) GROUP BY city HAVING COUNT(*) > 1",
        [("Lisbon", 2)],
    ),
    "elements_without_columns": (
        "SELECT p.name, k.weight FROM GRAPH_TABLE(world MATCH (p:Person)-[k:Knows]->(q)) "
        "WHERE k.weight > 4 ORDER BY k.weight",
        [("Ana", 5), ("Ben", 7)],
    ),
    "elements_through_subqueries": (
        "SELECT p.name FROM (SELECT p FROM (SELECT * FROM GRAPH_TABLE(world "
        "MATCH (p:Person {id: 2})))) ",
        [("Ben",)],
    ),
    "elements_through_with": (
        "WITH people AS (SELECT p FROM GRAPH_TABLE(world MATCH (p:Person))) "
        "SELECT COUNT(DISTINCT ELEMENT_ID(p)) AS n FROM people",
        [(4,)],
    ),
    "elements_through_a_set_operation": (
        "SELECT LABELS(n) AS l FROM (SELECT n FROM GRAPH_TABLE(world MATCH (n:Person {id: 1})) "
        "UNION ALL SELECT n FROM GRAPH_TABLE(world MATCH (n:City {code: 'FAR'}))) "
        "ORDER BY ARRAY_TO_STRING(l, ',')",
        [(["City", "Named"],), (["Named", "Person"],)],
    ),
    "group_by_an_element": (
        "SELECT c.name, COUNT(*) AS n FROM GRAPH_TABLE(world MATCH (:Person)-[:Lives]->(c)) "
        "GROUP BY c ORDER BY n",
        [("Porto", 1), ("Lisbon", 2)],
    ),
    "star_of_an_element": (
        "SELECT g.c.* FROM GRAPH_TABLE(world MATCH (c:City {code: 'FAR'})) AS g",
        [("FAR", "Faro", 60000, 60)],
    ),
    "same_over_columns": (
        "SELECT COUNT(*) AS n FROM GRAPH_TABLE(world MATCH (a:Person)-[:Knows]->(b)) "
        "WHERE SAME(a, b)",
        [(1,)],
    ),
    "window_over_an_element": (
        "SELECT STRING(j.properties.name) AS n FROM (SELECT TO_JSON(FIRST_VALUE(p) OVER "
        "(ORDER BY p.name)) AS j FROM GRAPH_TABLE(world MATCH (p:Person))) LIMIT 1",
        [("Ana",)],
    ),
    "correlated_graph_table": (
        "SELECT c.name FROM city AS c WHERE EXISTS (SELECT 1 FROM GRAPH_TABLE(world "
        "MATCH (:Person)-[:Lives]->(d:City WHERE d.code = c.code) RETURN 1 AS one)) ORDER BY name",
        [("Lisbon",), ("Porto",)],
    ),
    "correlated_scalar_subquery": (
        "SELECT c.code, (SELECT n FROM GRAPH_TABLE(world MATCH (:Person)-[:Lives]->(d) "
        "WHERE d.code = c.code RETURN COUNT(*) AS n)) AS n FROM city AS c ORDER BY code",
        [("FAR", 0), ("LIS", 2), ("POR", 1)],
    ),
    "graph_subquery_in_sql": (
        "SELECT c.name FROM city AS c WHERE NOT EXISTS { GRAPH world "
        "MATCH (:Person)-[:Lives]->(d:City) WHERE d.code = c.code } ",
        [("Faro",)],
    ),
    "array_of_a_graph_subquery": (
        "SELECT ARRAY { GRAPH world MATCH (d:City) RETURN d.code ORDER BY code } AS codes",
        [(["FAR", "LIS", "POR"],)],
    ),
    "two_graph_tables": (
        "SELECT a.n + b.n AS n FROM "
        "GRAPH_TABLE(world MATCH (p:Person) RETURN COUNT(*) AS n) AS a, "
        "GRAPH_TABLE(world MATCH (c:City) RETURN COUNT(*) AS n) AS b",
        [(7,)],
    ),
    "left_join_makes_null_elements": (
        "SELECT LABELS(g.p) AS l FROM (SELECT 1 AS one) LEFT JOIN "
        "GRAPH_TABLE(world MATCH (p:Person)) AS g ON FALSE",
        [(None,)],
    ),
    "set_operation_of_queries": (
        "SELECT * FROM GRAPH_TABLE(world MATCH (c:City) RETURN c.code) EXCEPT DISTINCT "
        "SELECT * FROM GRAPH_TABLE(world MATCH (:Person)-[:Lives]->(c) RETURN c.code)",
        [("FAR",)],
    ),
}


@pytest.mark.parametrize(("query", "expected"), CASES.values(), ids=CASES)
def test_sql_around(world, query, expected):
    assert world.rows(query) == expected


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * FROM GRAPH_TABLE(world MATCH (c:City) RETURN c.code, c.name)", ("code", "name")),
        ("SELECT c.code AS k FROM GRAPH_TABLE(world MATCH (c:City))", ("k",)),
        (
            "SELECT p.*, g.code FROM person p, GRAPH_TABLE(world MATCH (c:City) RETURN c.code) g",
            ("id", "name", "age", "city", "joined", "code"),
        ),
    ],
)
def test_output_names(world, query, columns):
    assert world.lower(query).columns == columns


def test_dml_may_read_a_graph(world):
    sql = world.sql(
        "DELETE FROM person WHERE EXISTS (SELECT 1 FROM GRAPH_TABLE(world "
        "MATCH (p:Person {name: 'Zoe'}) RETURN p.id))"
    )
    assert world.connection.execute(sql).fetchall() == [(0,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT p FROM GRAPH_TABLE(world MATCH (p:Person))",
        "SELECT * FROM GRAPH_TABLE(world MATCH p = (:Person) RETURN p)",
    ],
)
def test_a_query_cannot_return_an_element(world, query):
    with pytest.raises(GqlError, match="cannot return it"):
        world.lower(query)
