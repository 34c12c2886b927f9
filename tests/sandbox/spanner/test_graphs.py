"""Property graphs: made by DDL, asked in GQL, described in the information schema."""

from __future__ import annotations

import datetime as dt

import pytest
from google.api_core import exceptions
from google.cloud.spanner_v1 import param_types

from tests.sandbox.spanner.conftest import rows

NOW = dt.datetime.now(dt.UTC)
GRAPH = """
CREATE PROPERTY GRAPH Shop
  NODE TABLES (
    users LABEL Person PROPERTIES (id, name),
    orders LABEL Purchase PROPERTIES (order_id, status, delivered_at)
  )
  EDGE TABLES (
    orders AS places
      SOURCE KEY (user_id) REFERENCES users (id)
      DESTINATION KEY (order_id) REFERENCES orders (order_id)
      LABEL PLACES NO PROPERTIES
  )
"""


@pytest.fixture(scope="module")
def shop(make_database):
    database = make_database(
        "CREATE TABLE users (id INT64 NOT NULL, name STRING(MAX)) PRIMARY KEY(id)",
        "CREATE TABLE orders (order_id INT64 NOT NULL, user_id INT64, status STRING(MAX),"
        " delivered_at TIMESTAMP) PRIMARY KEY(order_id)",
        GRAPH,
    )
    with database.batch() as batch:
        batch.insert("users", ["id", "name"], [(1, "ann"), (2, "bob"), (3, "cid")])
        batch.insert(
            "orders",
            ["order_id", "user_id", "status", "delivered_at"],
            [
                (10, 1, "Complete", NOW - dt.timedelta(days=12, hours=6)),
                (11, 1, "Returned", NOW - dt.timedelta(days=11, hours=23)),
                (20, 2, "Shipped", None),
            ],
        )
    return database


@pytest.mark.parametrize(
    ("sql", "params", "types", "expected"),
    [
        (
            "GRAPH Shop MATCH (u:Person {id: @id})-[:PLACES]->(o:Purchase)"
            " RETURN u.name AS name, o.order_id AS o ORDER BY o",
            {"id": 1},
            {"id": param_types.INT64},
            [["ann", 10], ["ann", 11]],
        ),
        (
            "GRAPH Shop MATCH (:Person {id: 1})-[:PLACES]->(o:Purchase)"
            " RETURN TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), o.delivered_at, DAY) AS age ORDER BY age",
            None,
            None,
            [[11], [12]],
        ),
        (
            "GRAPH Shop MATCH (u:Person) RETURN u.id AS id NEXT"
            " OPTIONAL MATCH (p:Person)-[:PLACES]->(o:Purchase) WHERE p.id = id AND"
            " o.delivered_at >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL @days DAY)"
            " RETURN id, COUNT(DISTINCT o.order_id) AS n GROUP BY id ORDER BY id",
            {"days": 12},
            {"days": param_types.INT64},
            [[1, 1], [2, 0], [3, 0]],
        ),
        (
            "SELECT g.name, COUNT(*) AS n FROM GRAPH_TABLE(Shop MATCH (u:Person)-[:PLACES]->()"
            " RETURN u.name AS name) AS g GROUP BY g.name ORDER BY g.name",
            None,
            None,
            [["ann", 2], ["bob", 1]],
        ),
    ],
)
def test_a_graph_query(shop, sql, params, types, expected):
    assert rows(shop, sql, params, types) == expected


@pytest.mark.parametrize("function", ["TO_JSON", "SAFE_TO_JSON"])
def test_an_element_comes_as_json(shop, function):
    sql = f"GRAPH Shop MATCH p = (:Person {{id: 2}})-[:PLACES]->() RETURN {function}(p) AS path"
    with shop.snapshot() as snapshot:
        result = snapshot.execute_sql(sql)
        [[path]] = list(result)
    assert [field.name for field in result.fields] == ["path"]
    assert [element["kind"] for element in path] == ["node", "edge", "node"]
    assert path[0]["properties"] == {"id": 2, "name": "bob"}
    assert path[1]["source_node_identifier"] == path[0]["identifier"]


def test_a_transaction_reads_its_own_writes_through_the_graph(shop):
    ask = "GRAPH Shop MATCH (o:Purchase {status: 'Undone'}) RETURN o.order_id AS o"

    def write_and_ask(transaction):
        transaction.execute_update("UPDATE orders SET status = 'Undone' WHERE order_id = 20")
        seen.append([list(row) for row in transaction.execute_sql(ask)])
        raise LookupError("take it back")

    seen: list = []
    with pytest.raises(LookupError):
        shop.run_in_transaction(write_and_ask)
    assert seen == [[[20]]]
    assert rows(shop, ask) == []


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("GRAPH Nope MATCH (n) RETURN n.id", r"Nope.*at 1:7"),
        ("GRAPH Shap MATCH (n) RETURN n.id", r"Shap; did you mean 'Shop'\?.*at 1:7"),
        ("GRAPH Shop MATCH (n:Persn) RETURN n.id", r"Persn.*did you mean 'Person'\?.*at 1:21"),
        ("GRAPH Shop MATCH (n:Person) RETURN n.nme", r"nme.*did you mean 'name'\?.*at 1:\d+"),
        ("GRAPH Shop MATCH (n {nme: 'a'}) RETURN n.id", r"nme.*did you mean 'name'\?.*at 1:22"),
        ("GRAPH Shop MATCH (n {name: 'a}) RETURN n.id", r"Unclosed string literal.*at 1:28"),
        ("GRAPH Shop MATCH (n:Person RETURN n.id", r"at 1:\d+"),
    ],
)
def test_a_graph_query_that_is_refused_says_where(shop, sql, words):
    with pytest.raises(exceptions.InvalidArgument, match=words):
        rows(shop, sql)


def test_the_graph_is_described(shop):
    [[name, described]] = rows(
        shop,
        "SELECT property_graph_name, property_graph_metadata_json"
        " FROM INFORMATION_SCHEMA.PROPERTY_GRAPHS",
    )
    assert name == "Shop"
    assert [table["baseTableName"] for table in described["nodeTables"]] == ["users", "orders"]
    assert [table["name"] for table in described["edgeTables"]] == ["places"]
    shop.reload()
    assert GRAPH.strip() in list(shop.ddl_statements)


def test_graph_ddl_made_replaced_and_dropped(make_database):
    database = make_database("CREATE TABLE n (id INT64, a INT64) PRIMARY KEY(id)")
    create = "CREATE PROPERTY GRAPH g NODE TABLES (n LABEL {label})"
    database.update_ddl([create.format(label="One")]).result(10)
    ask = "GRAPH g MATCH (x:{label}) RETURN COUNT(*) AS n"
    assert rows(database, ask.format(label="One")) == [[0]]
    with pytest.raises(exceptions.FailedPrecondition, match="Duplicate name in schema: g"):
        database.update_ddl([create.format(label="Two")])
    database.update_ddl(
        [
            create.replace("GRAPH g", "GRAPH IF NOT EXISTS g").format(label="Three"),
            create.replace("CREATE", "CREATE OR REPLACE").format(label="Two"),
        ]
    ).result(10)
    assert rows(database, ask.format(label="Two")) == [[0]]
    database.reload()
    assert list(database.ddl_statements)[1] == create.format(label="Two")
    with pytest.raises(exceptions.FailedPrecondition, match="the property graph `g` depends on it"):
        database.update_ddl(["DROP TABLE n"])
    database.update_ddl(["ALTER TABLE n ADD COLUMN b INT64", "ALTER TABLE n DROP COLUMN a"])
    assert rows(database, "GRAPH g MATCH (x:Two) RETURN x.b AS b") == []
    with pytest.raises(exceptions.InvalidArgument):
        database.update_ddl(["CREATE PROPERTY GRAPH h NODE TABLES (nope)"])
    database.update_ddl(["DROP PROPERTY GRAPH g", "DROP PROPERTY GRAPH IF EXISTS g"]).result(10)
    with pytest.raises(exceptions.NotFound, match="Property graph not found: g"):
        database.update_ddl(["DROP PROPERTY GRAPH g"])
    database.update_ddl(["DROP TABLE n"]).result(10)


def test_views_are_element_tables(make_database):
    database = make_database(
        "CREATE TABLE users (id INT64 NOT NULL, name STRING(MAX), boss INT64) PRIMARY KEY(id)",
        "CREATE VIEW staff SQL SECURITY INVOKER AS"
        " SELECT u.id AS id, UPPER(u.name) AS name FROM users AS u",
        "CREATE VIEW bosses SQL SECURITY INVOKER AS"
        " SELECT u.id AS id, u.boss AS boss FROM users AS u WHERE u.boss IS NOT NULL",
        "CREATE PROPERTY GRAPH Firm NODE TABLES (staff KEY (id) LABEL Person)"
        " EDGE TABLES (bosses KEY (id) SOURCE KEY (id) REFERENCES staff (id)"
        " DESTINATION KEY (boss) REFERENCES staff (id) LABEL REPORTS_TO NO PROPERTIES)",
    )
    with database.batch() as batch:
        batch.insert("users", ["id", "name", "boss"], [(1, "ann", None), (2, "bob", 1)])
    ask = "GRAPH Firm MATCH (a)-[:REPORTS_TO]->(b) RETURN a.name AS a, b.name AS b"
    assert rows(database, ask) == [["BOB", "ANN"]]
    with pytest.raises(exceptions.FailedPrecondition, match="property graph `Firm` depends on it"):
        database.update_ddl(["DROP VIEW staff"])
    with pytest.raises(exceptions.InvalidArgument, match="KEY"):
        database.update_ddl(["CREATE PROPERTY GRAPH Keyless NODE TABLES (staff)"])


def test_graph_queries_inside_dml_are_left_out_by_name(shop):
    with pytest.raises(exceptions.MethodNotImplemented, match="A graph query inside DML"):
        shop.run_in_transaction(
            lambda t: t.execute_update(
                "DELETE FROM users WHERE id IN (SELECT id FROM GRAPH_TABLE(Shop MATCH (u:Person)"
                " RETURN u.id))"
            )
        )
