"""Statements: each row is a query over the tiny graph and the rows it must give."""

import pytest

CASES = {
    "match_returns_properties": (
        "MATCH (p:Person) RETURN p.name ORDER BY name",
        [("Ana",), ("Ben",), ("Cleo",), ("Dan",)],
    ),
    "where_keeps_true_only": (
        "MATCH (p:Person) WHERE p.age > 26 RETURN p.name ORDER BY name",
        [("Ana",), ("Ben",)],
    ),
    "comma_patterns_join_on_shared_variables": (
        "MATCH (a:Person)-[:Knows]->(b:Person), (b)-[:Lives]->(c:City) "
        "RETURN a.name AS a, b.name AS b, c.code ORDER BY a, b",
        [
            ("Ana", "Ben", "LIS"),
            ("Ben", "Ana", "LIS"),
            ("Ben", "Cleo", "POR"),
            ("Cleo", "Cleo", "POR"),
        ],
    ),
    "comma_patterns_without_shared_variables_multiply": (
        "MATCH (a:City), (b:City) RETURN COUNT(*) AS n",
        [(9,)],
    ),
    "consecutive_matches_share_variables": (
        "MATCH (a:Person {name: 'Ana'}) MATCH (a)-[:Knows]->(b) RETURN b.name",
        [("Ben",)],
    ),
    "optional_match_keeps_rows": (
        "MATCH (p:Person) OPTIONAL MATCH (p)-[:Lives]->(c:City) "
        "RETURN p.name, c.name AS city ORDER BY name",
        [("Ana", "Lisbon"), ("Ben", "Lisbon"), ("Cleo", "Porto"), ("Dan", None)],
    ),
    "optional_match_where_belongs_to_the_match": (
        "MATCH (p:Person) OPTIONAL MATCH (p)-[k:Knows]->(q) WHERE k.weight > 5 "
        "RETURN p.name, q.name AS q ORDER BY name",
        [("Ana", None), ("Ben", "Ana"), ("Cleo", None), ("Dan", None)],
    ),
    "optional_match_first_gives_one_row_of_nulls": (
        "OPTIONAL MATCH (p:Person {name: 'Zoe'}) RETURN p.name",
        [(None,)],
    ),
    "let_adds_columns": (
        "MATCH (p:Person {id: 1}) LET twice = p.age * 2, more = 1 RETURN twice, more",
        [(60, 1)],
    ),
    "let_sees_earlier_items": ("LET a = 2 LET b = a * 3 RETURN a, b", [(2, 6)]),
    "filter_with_and_without_where": (
        "MATCH (p:Person) FILTER p.age IS NOT NULL FILTER WHERE p.age < 35 "
        "RETURN p.name ORDER BY name",
        [("Ana",), ("Dan",)],
    ),
    "for_unnests_in_order_with_offset": (
        "FOR x IN ['a', 'b'] WITH OFFSET AS i RETURN x, i ORDER BY i",
        [("a", 0), ("b", 1)],
    ),
    "for_over_null_gives_nothing": (
        "FOR x IN CAST(NULL AS ARRAY<INT64>) RETURN x",
        [],
    ),
    "statements_follow_expressions": (
        "LET x = [2, 1] FOR y IN x LET z = y FILTER z > 0 LIMIT 5 LET w = z "
        "MATCH (p:Person {id: 1}) WITH p, y, w LET v = y OPTIONAL MATCH (p)-[:Lives]->(c) "
        "FILTER v IS NOT NULL OFFSET 0 LET k = c.code CALL () { RETURN 1 AS one } "
        "RETURN y, k, one ORDER BY y NEXT RETURN y, k, one ORDER BY y",
        [(1, "LIS", 1), (2, "LIS", 1)],
    ),
    "structs_keep_their_fields": (
        "LET l = [STRUCT(1 AS a, 'x' AS b)] FOR s IN l RETURN s.a, s.b",
        [(1, "x")],
    ),
    "order_limit_offset_as_statements": (
        "MATCH (p:Person) ORDER BY p.name DESC OFFSET 1 LIMIT 2 RETURN p.name ORDER BY name",
        [("Ben",), ("Cleo",)],
    ),
    "skip_is_offset": (
        "MATCH (p:Person) RETURN p.name ORDER BY name SKIP 3",
        [("Dan",)],
    ),
    "nulls_sort_first": (
        "MATCH (p:Person) RETURN p.age ORDER BY age LIMIT 2",
        [(None,), (25,)],
    ),
    "return_distinct": (
        "MATCH (:Person)-[:Lives]->(c:City) RETURN DISTINCT c.name ORDER BY name",
        [("Lisbon",), ("Porto",)],
    ),
    "aggregates_group_by_the_rest": (
        "MATCH (p:Person)-[:Lives]->(c:City) RETURN c.code, COUNT(*) AS n ORDER BY code",
        [("LIS", 2), ("POR", 1)],
    ),
    "group_by_names_an_output": (
        "MATCH (p:Person)-[:Lives]->(c) RETURN c.code AS k, SUM(p.age) AS total "
        "GROUP BY k ORDER BY k",
        [("LIS", 70), ("POR", None)],
    ),
    "group_by_an_element": (
        "MATCH (p:Person)-[:Lives]->(c) RETURN c.name, COUNT(p) AS n GROUP BY c ORDER BY n",
        [("Porto", 1), ("Lisbon", 2)],
    ),
    "group_by_all": (
        "MATCH (p:Person)-[:Lives]->(c) RETURN c.code, MAX(p.age) AS oldest GROUP BY ALL "
        "ORDER BY code",
        [("LIS", 40), ("POR", None)],
    ),
    "aggregates_without_rows_give_one": (
        "MATCH (p:Person {name: 'Zoe'}) RETURN COUNT(*) AS n, SUM(p.age) AS total",
        [(0, None)],
    ),
    "count_distinct_of_elements": (
        "MATCH (a:Person)-[:Knows]->(b:Person) RETURN COUNT(DISTINCT a) AS n, COUNT(a) AS m",
        [(3, 4)],
    ),
    "string_agg_distinct_is_sorted": (
        "MATCH (:Person)-[:Lives]->(c) RETURN STRING_AGG(DISTINCT c.name, '; ') AS cities",
        [("Lisbon; Porto",)],
    ),
    "string_agg_in_the_order_asked_for": (
        "MATCH (p:Person) RETURN STRING_AGG(p.name, '' ORDER BY p.name DESC LIMIT 2) AS s",
        [("DanCleo",)],
    ),
    "array_agg_keeps_nulls_unless_told": (
        "MATCH (p:Person) RETURN ARRAY_AGG(p.age ORDER BY p.id) AS a, "
        "ARRAY_AGG(p.age IGNORE NULLS ORDER BY p.id) AS b",
        [([30, 40, None, 25], [30, 40, 25])],
    ),
    "having_max_takes_the_rows_at_the_top": (
        "MATCH (p:Person) RETURN ANY_VALUE(p.name HAVING MAX p.age) AS oldest, "
        "SUM(p.id HAVING MIN p.age) AS youngest",
        [("Ben", 4)],
    ),
    "with_goes_on": (
        "MATCH (p:Person) WITH p.name AS n, p.age AS age FILTER age > 26 RETURN n ORDER BY n",
        [("Ana",), ("Ben",)],
    ),
    "with_distinct_aggregates": (
        "MATCH (p:Person)-[:Lives]->(c) WITH c, COUNT(*) AS n FILTER n > 1 RETURN c.name, n",
        [("Lisbon", 2)],
    ),
    "next_hands_on_columns_and_elements": (
        "MATCH (p:Person {id: 2}) RETURN p, p.age AS age NEXT "
        "MATCH (p)-[:Knows]->(q) RETURN q.name, age ORDER BY name",
        [("Ana", 40), ("Cleo", 40)],
    ),
    "return_star": (
        "MATCH (p:Person {id: 1}) LET n = p.name, a = p.age RETURN n, a NEXT RETURN *",
        [("Ana", 30)],
    ),
    "union_all_matches_columns_by_name": (
        "MATCH (p:Person {id: 1}) RETURN p.name AS n, 1 AS k UNION ALL "
        "MATCH (c:City {code: 'FAR'}) RETURN 2 AS k, c.name AS n",
        [("Ana", 1), ("Faro", 2)],
    ),
    "union_distinct": (
        "MATCH (:Person)-[:Lives]->(c) RETURN c.code UNION DISTINCT MATCH (c:City) RETURN c.code",
        [("FAR",), ("LIS",), ("POR",)],
    ),
    "intersect_distinct": (
        "MATCH (:Person)-[:Lives]->(c) RETURN c.code INTERSECT DISTINCT "
        "MATCH (c:City) WHERE c.population > 300 RETURN c.code",
        [("LIS",)],
    ),
    "except_all_counts": (
        "MATCH (:Person)-[:Lives]->(c) RETURN c.code EXCEPT ALL MATCH (c:City) RETURN c.code",
        [("LIS",)],
    ),
    "full_union_pads_with_null": (
        "MATCH (p:Person {id: 4}) RETURN p.name FULL UNION ALL "
        "MATCH (c:City {code: 'FAR'}) RETURN c.code",
        [(None, "FAR"), ("Dan", None)],
    ),
    "inner_union_keeps_the_common_columns": (
        "MATCH (p:Person {id: 4}) RETURN p.name, p.id INNER UNION ALL "
        "MATCH (c:City {code: 'FAR'}) RETURN c.name, c.code",
        [("Dan",), ("Faro",)],
    ),
    "set_operation_of_elements": (
        "MATCH (p:Person {id: 1}) RETURN p AS n UNION ALL MATCH (c:City {code: 'FAR'}) "
        "RETURN c AS n NEXT RETURN n.name, n.population AS size",
        [("Ana", None), ("Faro", 60)],
    ),
    "call_runs_once_for_each_row": (
        "MATCH (p:Person) CALL (p) { MATCH (p)-[k:Knows]->(q) RETURN q.name AS friend "
        "ORDER BY k.weight DESC LIMIT 1 } RETURN p.name, friend ORDER BY name",
        [("Ana", "Ben"), ("Ben", "Ana"), ("Cleo", "Cleo")],
    ),
    "optional_call_keeps_rows": (
        "MATCH (p:Person) OPTIONAL CALL (p) { MATCH (p)-[:Lives]->(c) RETURN c.code } "
        "RETURN p.name, code ORDER BY name",
        [("Ana", "LIS"), ("Ben", "LIS"), ("Cleo", "POR"), ("Dan", None)],
    ),
    "call_without_variables": (
        "MATCH (p:Person {id: 1}) CALL () { MATCH (c:City) RETURN COUNT(*) AS n } RETURN p.name, n",
        [("Ana", 3)],
    ),
    "exists_subquery": (
        "MATCH (p:Person) WHERE NOT EXISTS { MATCH (q)-[:Lives]->(:City) WHERE q = p } "
        "RETURN p.name",
        [("Dan",)],
    ),
    "exists_takes_a_bare_pattern": (
        "MATCH (p:Person) WHERE EXISTS { (x)-[:Knows]->(x) WHERE x = p } RETURN p.name",
        [("Cleo",)],
    ),
    "in_subquery": (
        "MATCH (c:City) WHERE c.code IN { MATCH (:Person)-[:Lives]->(d) RETURN d.code } "
        "RETURN c.code ORDER BY code",
        [("LIS",), ("POR",)],
    ),
    "not_in_subquery": (
        "MATCH (c:City) WHERE c.code NOT IN { MATCH (:Person)-[:Lives]->(d) RETURN d.code } "
        "RETURN c.code",
        [("FAR",)],
    ),
    "value_subquery": (
        "MATCH (p:Person {id: 1}) RETURN VALUE { MATCH (c:City) RETURN MAX(c.population) AS m } "
        "AS biggest",
        [(500,)],
    ),
    "array_subquery": (
        "RETURN ARRAY { MATCH (c:City) RETURN c.code ORDER BY code } AS codes",
        [(["FAR", "LIS", "POR"],)],
    ),
    "subquery_names_its_graph": (
        "RETURN VALUE { GRAPH world MATCH (c:City) RETURN COUNT(*) AS n } AS n",
        [(3,)],
    ),
    "window_in_return": (
        "MATCH (p:Person) RETURN p.name, ROW_NUMBER() OVER (ORDER BY p.name DESC) AS r "
        "ORDER BY r LIMIT 2",
        [("Dan", 1), ("Cleo", 2)],
    ),
    "window_over_a_sum_stays_int64": (
        "MATCH (p:Person) RETURN p.id, SUM(p.id) OVER (ORDER BY p.id) AS s ORDER BY id",
        [(1, 1), (2, 3), (3, 6), (4, 10)],
    ),
    "sql_subquery_in_an_expression": (
        "MATCH (p:Person {id: 1}) RETURN p.name, (SELECT p.age + 1) AS older",
        [("Ana", 31)],
    ),
}


@pytest.mark.parametrize(("query", "expected"), CASES.values(), ids=CASES)
def test_statement(world, query, expected):
    rows = world.gql(query)
    if "ORDER BY" not in query.rsplit("RETURN", 1)[-1]:
        rows = sorted(rows, key=repr)
        expected = sorted(expected, key=repr)
    assert rows == expected


def test_parameters_stand_for_values(world):
    rows = world.gql(
        "MATCH (p:Person {id: @id}) WHERE p.age > @age RETURN p.name LIMIT @n", id=1, age=3, n=5
    )
    assert rows == [("Ana",)]


def test_columns_are_named_in_order(world):
    lowered = world.lower("GRAPH world MATCH (p:Person) RETURN p.name, p.age AS Years")
    assert lowered.columns == ("name", "Years")
    assert lowered.graphs == ("world",)


def test_graph_names_match_in_any_case_and_by_last_part(world):
    for name in ("world", "WORLD", "`world`", "dataset.world", "project.dataset.World"):
        assert world.rows(f"GRAPH {name} MATCH (c:City) RETURN COUNT(*) AS n") == [(3,)]


def test_callers_get_their_own_tree(world):
    query = "GRAPH world MATCH (p:Person) RETURN p.name"
    first = world.lower(query)
    first.tree.set("limit", None)
    first.tree.expressions.clear()
    assert world.lower(query).tree.expressions
