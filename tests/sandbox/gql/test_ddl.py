"""CREATE and DROP PROPERTY GRAPH: what they mean, and what is refused."""

import pytest

from lab_helpers.sandbox.gql import (
    CreateGraph,
    DropGraph,
    GqlError,
    build_graph,
    is_graph_ddl,
    mentions_graph,
    parse_graph_ddl,
)
from tests.sandbox.gql.conftest import GRAPH, World


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE PROPERTY GRAPH g NODE TABLES (t)", True),
        ("create or replace property graph g node tables (t)", True),
        ("/* x */ CREATE PROPERTY GRAPH IF NOT EXISTS a.b NODE TABLES (t)", True),
        ("DROP PROPERTY GRAPH g", True),
        ("-- note\nDROP PROPERTY GRAPH IF EXISTS g", True),
        ("CREATE TABLE property (graph INT64)", False),
        ("SELECT 'CREATE PROPERTY GRAPH'", False),
        ("DROP TABLE property", False),
        ("SELECT 1", False),
        ("'unclosed PROPERTY", False),
    ],
)
def test_is_graph_ddl(sql, expected):
    assert is_graph_ddl(sql) is expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("GRAPH g MATCH (n) RETURN n.x", True),
        ("  -- a note\n graph g MATCH (n) RETURN n.x", True),
        ("@{OPTIMIZER_VERSION=7} GRAPH g RETURN 1 AS x", True),
        ("SELECT * FROM GRAPH_TABLE(g MATCH (n) COLUMNS (n.x))", True),
        ("SELECT * FROM t WHERE EXISTS { GRAPH g MATCH (n) }", True),
        ("SELECT graph FROM t", False),
        ("SELECT * FROM graph", False),
        ("SELECT 'GRAPH_TABLE('", False),
        ("SELECT 1 -- GRAPH_TABLE(", False),
        ("SELECT `GRAPH_TABLE`(1)", False),
        ("SELECT graph_table FROM t", False),
        ("INSERT INTO graph (x) VALUES (1)", False),
    ],
)
def test_mentions_graph(sql, expected):
    assert mentions_graph(sql) is expected


def test_create_keeps_its_options():
    found = parse_graph_ddl("CREATE OR REPLACE PROPERTY GRAPH shop.g NODE TABLES (t KEY (a));")
    assert isinstance(found, CreateGraph)
    assert (found.name, found.or_replace, found.if_not_exists) == ("shop.g", True, False)
    found = parse_graph_ddl("CREATE PROPERTY GRAPH IF NOT EXISTS g NODE TABLES (t)")
    assert (found.or_replace, found.if_not_exists) == (False, True)


def test_drop_keeps_its_option():
    assert parse_graph_ddl("DROP PROPERTY GRAPH IF EXISTS a.b") == DropGraph(
        "a.b", True, "DROP PROPERTY GRAPH IF EXISTS a.b"
    )
    assert parse_graph_ddl("DROP PROPERTY GRAPH g").if_exists is False


def graph_of(world, ddl):
    return build_graph(parse_graph_ddl(ddl), world.tables)


def test_defaults_are_the_primary_key_one_label_and_all_columns(world):
    graph = graph_of(world, "CREATE PROPERTY GRAPH g NODE TABLES (city)")
    table = graph.elements["city"]
    assert table.key == ("code",)
    assert [x.name for x in table.labels.values()] == ["city"]
    assert list(table.properties) == ["code", "name", "population"]
    assert table.properties["population"].type == "BIGINT"


@pytest.mark.parametrize(
    ("clauses", "properties"),
    [
        ("PROPERTIES (code, name AS title)", ["code", "title"]),
        ("PROPERTIES ALL COLUMNS", ["code", "name", "population"]),
        ("PROPERTIES ARE ALL COLUMNS EXCEPT (name)", ["code", "population"]),
        ("NO PROPERTIES", []),
        ("LABEL A LABEL B NO PROPERTIES", ["code", "name", "population"]),
        (
            "DEFAULT LABEL PROPERTIES (code) LABEL B PROPERTIES (UPPER(name) AS loud)",
            ["code", "loud"],
        ),
    ],
)
def test_property_lists(world, clauses, properties):
    graph = graph_of(world, f"CREATE PROPERTY GRAPH g NODE TABLES (city {clauses})")
    assert list(graph.elements["city"].properties) == properties


def test_views_can_be_element_tables():
    world = World()
    world.connection.execute("CREATE VIEW adults AS SELECT * FROM person WHERE age >= 30")
    ddl = "CREATE PROPERTY GRAPH grown NODE TABLES (adults KEY (id) LABEL Adult)"
    world.graphs["grown"] = graph_of(world, ddl)
    assert world.rows("GRAPH grown MATCH (a:Adult) RETURN COUNT(*) AS n") == [(2,)]


def test_edges_may_refer_to_columns_that_are_no_key():
    world = World()
    world.connection.execute("CREATE TABLE twin (x BIGINT, y BIGINT)")
    world.connection.execute("INSERT INTO twin VALUES (500, 230)")
    ddl = """CREATE PROPERTY GRAPH sizes NODE TABLES (city) EDGE TABLES (
        twin KEY (x, y) SOURCE KEY (x) REFERENCES city (population)
                        DESTINATION KEY (y) REFERENCES city (population))"""
    world.graphs["sizes"] = graph_of(world, ddl)
    rows = world.rows("GRAPH sizes MATCH (a)-[t]->(b) RETURN a.code AS a, b.code AS b")
    assert rows == [("LIS", "POR")]
    assert world.rows("GRAPH sizes MATCH (a)-[t]-(b) RETURN COUNT(*) AS n") == [(2,)]


def test_keys_of_several_columns_are_told_apart():
    """('a|b', 'c') and ('a', 'b|c') are two nodes, also where identity is a text."""
    world = World()
    world.connection.execute("CREATE TABLE pair (x VARCHAR, y VARCHAR)")
    world.connection.execute("CREATE TABLE other (z VARCHAR)")
    world.connection.execute(r"INSERT INTO pair VALUES ('a|b', 'c'), ('a', 'b|c'), ('a\', 'c')")
    ddl = "CREATE PROPERTY GRAPH pairs NODE TABLES (pair KEY (x, y), other KEY (z))"
    world.graphs["pairs"] = graph_of(world, ddl)
    rows = world.rows("GRAPH pairs MATCH (n) RETURN COUNT(DISTINCT ELEMENT_ID(n)) AS n")
    assert rows == [(3,)]


REFUSED = {
    "unknown_table": (
        "CREATE PROPERTY GRAPH g NODE TABLES (town)",
        "Table not found: town",
        (1, 38),
    ),
    "unknown_key_column": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city KEY (cod))",
        "did you mean 'code'",
        (1, 38),
    ),
    "unknown_property_column": (
        "CREATE PROPERTY GRAPH g\nNODE TABLES (city PROPERTIES (nam))",
        "did you mean 'name'",
        (2, 31),
    ),
    "no_key": ("CREATE PROPERTY GRAPH g NODE TABLES (keyless)", "has no KEY", (1, 38)),
    "property_without_a_name": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city PROPERTIES (population + 1))",
        "needs a name",
        (1, 55),
    ),
    "same_element_twice": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city, city)",
        "defined twice",
        (1, 44),
    ),
    "same_label_twice": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city LABEL A LABEL A)",
        "given twice",
        (1, 51),
    ),
    "same_property_twice": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city PROPERTIES (code, name AS code))",
        "listed twice",
        (1, 61),
    ),
    "two_definitions_of_a_property": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city LABEL A PROPERTIES (code) "
        "LABEL B PROPERTIES (name AS code))",
        "two definitions",
        (1, 89),
    ),
    "label_with_different_properties": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city LABEL A PROPERTIES (code), "
        "person LABEL A PROPERTIES (name))",
        "different properties",
        (1, 70),
    ),
    "property_with_two_types": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city PROPERTIES (code AS k), "
        "person PROPERTIES (id AS k))",
        "has type",
        (1, 67),
    ),
    "edge_to_an_unknown_node": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city) EDGE TABLES (road SOURCE KEY (start) "
        "REFERENCES cty (code) DESTINATION KEY (stop) REFERENCES city (code))",
        "did you mean 'city'",
        (1, 62),
    ),
    "edge_without_a_destination": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city) EDGE TABLES (road SOURCE KEY (start) "
        "REFERENCES city)",
        "no DESTINATION KEY",
        (1, 57),
    ),
    "edge_with_too_few_columns": (
        "CREATE PROPERTY GRAPH g NODE TABLES (city) EDGE TABLES (road SOURCE KEY (start, stop) "
        "REFERENCES city (code) DESTINATION KEY (stop) REFERENCES city (code))",
        "gives 2 key column",
        (1, 62),
    ),
    "broken_syntax": ("CREATE PROPERTY GRAPH g NODE TABLES city", 'Expected "("', (1, 37)),
    "no_node_tables": ("CREATE PROPERTY GRAPH g", "Expected NODE TABLES", None),
    "trailing_words": ("DROP PROPERTY GRAPH g CASCADE", "Unexpected 'CASCADE'", (1, 23)),
    "replace_and_if_not_exists": (
        "CREATE OR REPLACE PROPERTY GRAPH IF NOT EXISTS g NODE TABLES (city)",
        "both",
        None,
    ),
}


@pytest.mark.parametrize(("ddl", "message", "place"), REFUSED.values(), ids=REFUSED)
def test_refusals_name_the_mistake_and_its_place(world, ddl, message, place):
    world.connection.execute("CREATE TABLE IF NOT EXISTS keyless (x BIGINT)")
    with pytest.raises(GqlError) as caught:
        graph_of(world, ddl)
    assert message in caught.value.message
    if place:
        assert (caught.value.line, caught.value.column) == place


def test_metadata_in_the_shape_of_spanner(world):
    found = world.graphs["world"].metadata()
    assert found["name"] == "world"
    assert [t["name"] for t in found["nodeTables"]] == ["Person", "City"]
    lives = found["edgeTables"][0]
    assert lives["baseTableName"] == "person"
    assert lives["destinationNodeTable"] == {
        "nodeTableName": "City",
        "edgeTableColumns": ["city"],
        "nodeTableColumns": ["code"],
    }
    assert {"name": "Named", "propertyDeclarationNames": ["name"]} in found["labels"]
    assert {"name": "people", "type": "INT64"} in found["propertyDeclarations"]
    city = found["nodeTables"][1]
    assert {"propertyDeclarationName": "people", "valueExpressionSql": "population * 1000"} in city[
        "propertyDefinitions"
    ]


def test_metadata_in_the_shape_of_bigquery(world):
    found = world.graphs["world"].metadata("lab", "lineage")
    assert found["propertyGraphReference"] == {
        "projectId": "lab",
        "datasetId": "lineage",
        "propertyGraphId": "world",
    }
    knows = found["edgeTables"][1]
    assert knows["dataSourceTable"] == {
        "projectId": "lab",
        "datasetId": "lineage",
        "tableId": "knows",
    }
    assert knows["sourceNodeReference"]["nodeTable"] == "Person"
    properties = knows["labelAndProperties"][0]["properties"]
    assert {p["name"]: p["dataType"]["typeKind"] for p in properties} == {
        "id": "INT64",
        "weight": "INT64",
        "since": "DATE",
    }


def test_the_bigquery_magic_reads_the_metadata(world):
    import json

    server = pytest.importorskip("bigquery_magics.graph_server")
    convert = server._convert_schema
    shown = json.loads(convert(json.dumps(world.graphs["world"].metadata("lab", "lineage"))))
    assert [t["name"] for t in shown["nodeTables"]] == ["Person", "City"]
    assert shown["edgeTables"][1]["sourceNodeTable"]["nodeTableName"] == "Person"


def test_ddl_is_kept_as_written(world):
    assert world.graphs["world"].ddl == GRAPH
