"""The shape of the lowered SQL: what keeps it short and fast."""

import re
import sys

import pytest

from lab_helpers.sandbox.gql import candidates
from tests.sandbox.gql import test_functions, test_patterns
from tests.sandbox.gql.conftest import World

TWO_STAGES = """
GRAPH world
MATCH (p:Person {id: @id})-[:Lives]->(c:City)
WHERE p.age >= @age
RETURN p.id AS person_id, p.name AS name, STRING_AGG(DISTINCT c.name, ', ') AS cities
GROUP BY person_id, name
NEXT
OPTIONAL MATCH (q:Person)-[k:Knows]->(other:Person)
WHERE q.id = person_id AND other.id != person_id AND k.weight > @weight
RETURN person_id, name, cities, COUNT(DISTINCT k.id) AS friends
GROUP BY person_id, name, cities
"""


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"id": 2, "age": 1, "weight": 0}, [(2, "Ben", "Lisbon", 2)]),
        ({"id": 2, "age": 1, "weight": 5}, [(2, "Ben", "Lisbon", 1)]),
        ({"id": 1, "age": 1, "weight": 9}, [(1, "Ana", "Lisbon", 0)]),
        ({"id": 1, "age": 99, "weight": 0}, []),
        ({"id": 4, "age": 1, "weight": 0}, []),
    ],
)
def test_two_stage_query(world, parameters, expected):
    assert world.rows(TWO_STAGES, **parameters) == expected


def test_a_constant_is_carried_over_next(world):
    """The second stage filters by the parameter itself, not only by the column equal to it."""
    second_stage = world.sql(TWO_STAGES).rsplit("LEFT JOIN", 1)[1]
    assert re.search(r'"q\$id" = \$id', second_stage)


def test_a_redeclared_variable_forgets_its_constant(world):
    query = (
        "GRAPH world MATCH (p:Person {id: @id}) RETURN p.name AS n NEXT "
        "MATCH (p:Person) RETURN p.id AS i, n NEXT MATCH (q:Person) WHERE q.id = i "
        "RETURN q.id, n ORDER BY id"
    )
    assert world.rows(query, id=1) == [(1, "Ana"), (2, "Ana"), (3, "Ana"), (4, "Ana")]


def test_unlabelled_paths_do_not_multiply(world):
    """Every hop reads one union of edge tables, however many tables and hops there are."""
    sizes = [
        len(world.sql(f"GRAPH world MATCH (a)-[e]-{{1,{n}}}(b) RETURN COUNT(*) AS n"))
        for n in (2, 4, 6)
    ]
    assert sizes[2] < 60_000
    assert sizes[2] - sizes[1] < 3 * (sizes[1] - sizes[0])


def test_unlabelled_long_path_counts_right(world):
    """The unions give what the labelled walks give together."""
    once = world.gql("MATCH (a:Person {id: 1})-[]-{3}(b) RETURN COUNT(*) AS n")
    rows = [(1,)]
    for _ in range(3):
        rows = [(step,) for (node,) in rows for step in _neighbours(world, node)]
    assert once == [(len(rows),)]


def _neighbours(world, node):
    label, key = ("Person", "id") if isinstance(node, int) else ("City", "code")
    rows = world.rows(
        f"GRAPH world MATCH (a:{label} {{{key}: @k}})-[e]-(b) RETURN b.id, b.code", k=node
    )
    return [person if person is not None else code for person, code in rows]


def test_an_edge_in_its_node_table_is_read_once(world):
    sql = world.sql("GRAPH world MATCH (p:Person)-[:Lives]->(c) RETURN p.name, c.code")
    assert sql.count('"person" AS') == 1


def test_unused_properties_are_not_carried(world):
    sql = world.sql("GRAPH world MATCH (p:Person)-[:Knows]->(q) RETURN p.name, q.id")
    assert "joined" not in sql
    assert "since" not in sql


def test_a_text_is_lowered_once(world, monkeypatch):
    query = "GRAPH world MATCH (n:City {code: 'LIS'}) RETURN n.name AS only_here"
    first = world.sql(query)
    monkeypatch.setattr(
        sys.modules["lab_helpers.sandbox.gql.lower"],
        "parse",
        lambda text: pytest.fail("parsed again"),
    )
    assert world.sql(query) == first


def test_a_changed_graph_is_lowered_anew():
    from lab_helpers.sandbox.gql import build_graph, parse_graph_ddl

    world = World()
    query = "GRAPH g MATCH (n:Thing) RETURN COUNT(*) AS n"
    for table, count in (("person", 4), ("city", 3)):
        ddl = f"CREATE PROPERTY GRAPH g NODE TABLES ({table} LABEL Thing NO PROPERTIES)"
        world.graphs["g"] = build_graph(parse_graph_ddl(ddl), world.tables)
        assert world.rows(query) == [(count,)]


@pytest.mark.parametrize("combinations", [0, 1000], ids=["unions", "single tables"])
def test_both_forms_of_a_pattern_agree(monkeypatch, combinations):
    """Whether a slot reads a union of tables or each table by itself, the rows are the same."""
    monkeypatch.setattr(candidates, "MAX_COMBINATIONS", combinations)
    world = World()
    for name, (query, expected) in (test_patterns.CASES | test_functions.CASES).items():
        rows = world.gql(query)
        if "ORDER BY" not in query:
            rows, expected = sorted(rows, key=repr), sorted(expected, key=repr)
        assert rows == expected, name


@pytest.mark.parametrize(
    "query",
    [
        "MATCH ANY (a:Person)-[:Knows]->+(b) RETURN a.id UNION ALL "
        "MATCH ANY (a:Person)-[:Knows]->+(b) RETURN a.id",
        "MATCH p = ANY SHORTEST (a)-[]-*(b) RETURN PATH_LENGTH(p) AS l, COUNT(*) AS n GROUP BY l",
        "MATCH p = ANY (a:Person {id: 1})-[:Knows]->+(b) MATCH q = ANY (a)-[:Knows]->+(b) "
        "RETURN COUNT(*) AS n",
        "MATCH ANY (a)-[e]-{1,3}(b) RETURN COUNT(*) AS n UNION ALL "
        "MATCH ANY (a)-[e]-{1,3}(b) RETURN COUNT(*) AS n",
    ],
)
def test_equal_subplans_do_not_upset_the_engine(query):
    """DuckDB 1.5 merges equal subplans; some shapes made it fail with an internal error."""
    world = World()
    assert world.gql(query)
