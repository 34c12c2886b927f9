"""Schemaless graphs: labels and properties that each row brings along."""

import json

import pytest

from lab_helpers.sandbox.gql import GqlError
from tests.sandbox.gql.conftest import World

TABLES = """
CREATE TABLE thing (id BIGINT PRIMARY KEY, label VARCHAR, tags VARCHAR[], data JSON);
INSERT INTO thing VALUES
  (1, 'person', ['person', 'teacher'], '{"name": "Ana", "age": 30}'),
  (2, 'person', ['person'], '{"name": "Ben", "id": 99}'),
  (3, 'city', ['city', ''], '{"name": "Lisbon", "big": true}'),
  (4, NULL, NULL, NULL);
CREATE TABLE link (a BIGINT, b BIGINT, label VARCHAR, data JSON, PRIMARY KEY (a, b));
INSERT INTO link VALUES (1, 2, 'knows', '{"since": 2020}'), (1, 3, 'lives', '{}');
"""
ONE_LABEL = """
CREATE PROPERTY GRAPH g
NODE TABLES (thing LABEL Thing PROPERTIES (id) DYNAMIC LABEL (label) DYNAMIC PROPERTIES (data))
EDGE TABLES (link SOURCE KEY (a) REFERENCES thing (id) DESTINATION KEY (b) REFERENCES thing (id)
  LABEL Link PROPERTIES (a, b) DYNAMIC LABEL (label) DYNAMIC PROPERTIES (data))
"""
MANY_LABELS = """
CREATE PROPERTY GRAPH many
NODE TABLES (thing LABEL Thing PROPERTIES (id) DYNAMIC LABEL (tags))
"""


@pytest.fixture(scope="module")
def world():
    return World(TABLES, ONE_LABEL, MANY_LABELS)


CASES = {
    "dynamic_label": ("GRAPH g MATCH (n:Person) RETURN n.id ORDER BY id", [(1,), (2,)]),
    "static_label": ("GRAPH g MATCH (n:Thing) RETURN COUNT(*) AS n", [(4,)]),
    "both": ("GRAPH g MATCH (n:Thing&City) RETURN n.id", [(3,)]),
    "not": ("GRAPH g MATCH (n:!Person) RETURN n.id ORDER BY id", [(3,), (4,)]),
    "unknown_label_matches_nothing": ("GRAPH g MATCH (n:Ship) RETURN COUNT(*) AS n", [(0,)]),
    "array_of_labels": ("GRAPH many MATCH (n:Teacher|City) RETURN n.id ORDER BY id", [(1,), (3,)]),
    "labels_lists_both": (
        "GRAPH many MATCH (n) RETURN n.id, LABELS(n) AS l ORDER BY id",
        [
            (1, ["person", "teacher", "Thing"]),
            (2, ["person", "Thing"]),
            (3, ["city", "Thing"]),
            (4, ["Thing"]),
        ],
    ),
    "is_labeled": (
        "GRAPH g MATCH (n) RETURN n.id, n IS LABELED Person AS p ORDER BY id",
        [(1, True), (2, True), (3, False), (4, False)],
    ),
    "edge_label": (
        "GRAPH g MATCH (a)-[:Knows]->(b) RETURN a.id, b.id AS b",
        [(1, 2)],
    ),
    "inline_dynamic_property": ("GRAPH g MATCH (n {name: 'Ana'}) RETURN n.id", [(1,)]),
    "inline_dynamic_number_and_bool": (
        "GRAPH g MATCH (n {age: 30})-[]->(m {big: TRUE}) RETURN m.id",
        [(3,)],
    ),
    "dynamic_property_reads_in_any_case": (
        "GRAPH g MATCH (n:Person) RETURN STRING(n.Name) AS name ORDER BY name",
        [("Ana",), ("Ben",)],
    ),
    "declared_property_wins": ("GRAPH g MATCH (n {id: 2}) RETURN n.id", [(2,)]),
    "missing_dynamic_property_is_null": (
        "GRAPH g MATCH (n:City) RETURN n.age IS NULL AS missing",
        [(True,)],
    ),
    "property_exists": (
        "GRAPH g MATCH (n) RETURN n.id, PROPERTY_EXISTS(n, age) AS a ORDER BY id",
        [(1, True), (2, False), (3, False), (4, False)],
    ),
    "property_names": (
        "GRAPH g MATCH (n:Person) RETURN PROPERTY_NAMES(n) AS p ORDER BY n.id",
        [(["age", "id", "name"],), (["id", "name"],)],
    ),
    "dynamic_edge_property": (
        "GRAPH g MATCH -[e:Knows]-> RETURN INT64(e.since) AS since",
        [(2020,)],
    ),
    "through_next_and_paths": (
        "GRAPH g MATCH p = (:Person)-[:Lives]->(c) RETURN p, c NEXT "
        "RETURN STRING(c.name) AS c, STRING(PATH_FIRST(p).name) AS who",
        [("Lisbon", "Ana")],
    ),
    "quantified": (
        "GRAPH g MATCH ACYCLIC (a:Person {id: 1})-[e]->+(b) RETURN b.id ORDER BY id",
        [(2,), (3,)],
    ),
}


@pytest.mark.parametrize(("query", "expected"), CASES.values(), ids=CASES)
def test_dynamic(world, query, expected):
    assert world.rows(query) == expected


def test_json_holds_declared_and_dynamic_members(world):
    ((text,),) = world.rows("GRAPH g MATCH (n:Person {id: 2}) RETURN TO_JSON(n) AS j")
    node = json.loads(text)
    assert node["labels"] == ["person", "Thing"]
    assert node["properties"] == {"id": 2, "name": "Ben"}


def test_json_does_not_compare(world):
    with pytest.raises(GqlError, match="JSON"):
        world.lower("GRAPH g MATCH (n) WHERE n.name = 'Ana' RETURN n.id")
