"""Functions of graph elements, paths, arrays and JSON, and GoogleSQL's own meanings."""

import json
from datetime import date
from types import SimpleNamespace

import duckdb
import pytest

CASES = {
    "labels_are_sorted": (
        "MATCH (n:Person {id: 1}) RETURN LABELS(n) AS l",
        [(["Named", "Person"],)],
    ),
    "property_names_are_sorted": (
        "MATCH (n:City {code: 'FAR'}) RETURN PROPERTY_NAMES(n) AS p",
        [(["code", "name", "people", "population"],)],
    ),
    "element_definition_name": (
        "MATCH (n) RETURN ELEMENT_DEFINITION_NAME(n) AS t, COUNT(*) AS n ORDER BY t",
        [("City", 3), ("Person", 4)],
    ),
    "element_id_tells_elements_apart": (
        "MATCH (n) RETURN COUNT(DISTINCT ELEMENT_ID(n)) AS n",
        [(7,)],
    ),
    "edge_ends_are_node_ids": (
        "MATCH (a)-[e]->(b) RETURN LOGICAL_AND(SOURCE_NODE_ID(e) = ELEMENT_ID(a) "
        "AND DESTINATION_NODE_ID(e) = ELEMENT_ID(b)) AS ok, COUNT(*) AS n",
        [(True, 10)],
    ),
    "functions_of_null_elements_are_null": (
        "OPTIONAL MATCH (n:Person {id: 9})-[e]->() RETURN LABELS(n) AS l, ELEMENT_ID(n) AS i, "
        "SOURCE_NODE_ID(e) AS s, TO_JSON(n) AS j, n IS LABELED Person AS p",
        [(None, None, None, None, None)],
    ),
    "property_exists": (
        "MATCH (n) RETURN PROPERTY_EXISTS(n, population) AS p, COUNT(*) AS n ORDER BY n",
        [(True, 3), (False, 4)],
    ),
    "is_labeled": (
        "MATCH (n) RETURN n IS LABELED City|Person AS a, n IS NOT LABELED City AS b, "
        "COUNT(*) AS n ORDER BY n",
        [(True, False, 3), (True, True, 4)],
    ),
    "is_source_and_destination": (
        "MATCH (a:Person {id: 1})-[k:Knows]->(b) RETURN a IS SOURCE OF k AS s, "
        "a IS DESTINATION OF k AS d, b IS NOT SOURCE OF k AS n",
        [(True, False, True)],
    ),
    "same_and_all_different": (
        "MATCH (a:Person)-[:Knows]->(b:Person) RETURN SAME(a, b) AS s, ALL_DIFFERENT(a, b) AS d, "
        "COUNT(*) AS n ORDER BY n",
        [(True, False, 1), (False, True, 3)],
    ),
    "elements_compare_by_identity": (
        "MATCH (a:Person)-[:Knows]->(b:Person) WHERE a != b RETURN COUNT(*) AS n",
        [(3,)],
    ),
    "null_element_is_null": (
        "MATCH (p:Person) OPTIONAL MATCH (p)-[:Lives]->(c) FILTER c IS NULL RETURN p.name",
        [("Dan",)],
    ),
    # paths
    "path_parts": (
        "MATCH p = (:Person {id: 1})-[:Knows]->()-[:Knows]->() LET n = NODES(p), e = EDGES(p) "
        "RETURN PATH_LENGTH(p) AS l, ARRAY_LENGTH(n) AS nodes, ARRAY_LENGTH(e) AS edges, "
        "PATH_FIRST(p).id AS first, PATH_LAST(p).id AS last ORDER BY last",
        [(2, 3, 2, 1, 1), (2, 3, 2, 1, 3)],
    ),
    "path_tests": (
        "MATCH p = (:Person)-[:Knows]->{2}() RETURN IS_TRAIL(p) AS t, IS_ACYCLIC(p) AS a, "
        "IS_SIMPLE(p) AS s, COUNT(*) AS n ORDER BY n, s",
        [
            (False, False, False, 1),
            (True, False, False, 1),
            (True, True, True, 1),
            (True, False, True, 2),
        ],
    ),
    "path_equality": (
        "MATCH p = (a:Person {id: 1})-[k:Knows]->(b) RETURN p = PATH(a, k, b) AS same, "
        "p = PATH(a) AS shorter",
        [(True, False)],
    ),
    "path_concatenation": (
        "MATCH p = (a:Person {id: 1})-[:Knows]->(b), q = (b)-[:Lives]->(c) "
        "RETURN PATH_LENGTH(p || q) AS l, PATH_LAST(p || q).code AS code",
        [(2, "LIS")],
    ),
    "zero_length_path": (
        "MATCH p = (:Person {id: 4}) RETURN PATH_LENGTH(p) AS l, ARRAY_LENGTH(NODES(p)) AS n",
        [(0, 1)],
    ),
    # arrays
    "array_subscripts": (
        "LET a = [10, 20, 30] RETURN a[0] AS x, a[OFFSET(1)] AS y, a[ORDINAL(3)] AS z, "
        "a[SAFE_OFFSET(9)] AS none",
        [(10, 20, 30, None)],
    ),
    "horizontal_aggregates": (
        "LET a = [3, NULL, 5] LET s = SUM(a), c = COUNT(a), m = MAX(a), v = AVG(a), "
        "l = ARRAY_AGG(a * 2 IGNORE NULLS ORDER BY a DESC) RETURN s, c, m, v, l",
        [(8, 2, 5, 4.0, [10, 6])],
    ),
    "horizontal_string_agg_keeps_the_order": (
        "LET a = ['b', 'a'] LET s = STRING_AGG(a, '-'), t = STRING_AGG(a ORDER BY a) RETURN s, t",
        [("b-a", "a,b")],
    ),
    "horizontal_distinct": (
        "LET a = [1, 1, 2] LET c = COUNT(DISTINCT a), s = SUM(DISTINCT a) RETURN c, s",
        [(2, 3)],
    ),
    "horizontal_having_max": (
        "LET a = [1, 4, 2] LET l = ARRAY_AGG(a + 1 HAVING MAX -a) RETURN l",
        [([2],)],
    ),
    "group_variable_aggregates": (
        "MATCH (:Person {id: 1})-[k:Knows]->{2}(b:Person {id: 3}) "
        "LET s = SUM(k.weight), t = STRING_AGG(CAST(k.weight AS STRING), '>') "
        "RETURN s, t, FLATTEN(k.weight) AS f",
        [(6, "5>1", [5, 1])],
    ),
    "array_functions_over_elements": (
        "MATCH p = (:Person {id: 1})-[:Knows]->()-[:Knows]->(:Person {id: 3}) "
        "RETURN ARRAY_TRANSFORM(NODES(p), n -> n.name) AS names, "
        "ARRAY_LENGTH(ARRAY_FILTER(NODES(p), (n, i) -> i > 0)) AS rest, "
        "ARRAY_IS_DISTINCT(NODES(p)) AS d, ARRAY_FIRST(NODES(p)).name AS f, "
        "ARRAY_LAST(EDGES(p)).weight AS w",
        [(["Ana", "Ben", "Cleo"], 2, True, "Ana", 1)],
    ),
    "array_concat_of_null_is_null": (
        "LET a = [1], b = CAST(NULL AS ARRAY<INT64>) RETURN ARRAY_CONCAT(a, b) AS l, "
        "ARRAY_CONCAT(a, [2]) AS m",
        [(None, [1, 2])],
    ),
    "with_expression": (
        "LET x = [1, 2] LET r = WITH(s AS SUM(x), s * s) RETURN r",
        [(9,)],
    ),
    # choices
    "elements_through_choices": (
        "MATCH (p:Person {id: 4}), (q:Person {id: 1}) OPTIONAL MATCH (p)-[:Lives]->(c) "
        "RETURN COALESCE(p, q).name AS a, IF(p.age > 26, p, q).name AS b, "
        "NULLIF(p, p) IS NULL AS n, NULLIF(p, q).name AS m",
        [("Dan", "Ana", True, "Dan")],
    ),
    "any_value_of_an_element": (
        "MATCH (c:City {code: 'FAR'}) RETURN ANY_VALUE(c) AS c NEXT RETURN c.name",
        [("Faro",)],
    ),
    "array_agg_of_elements": (
        "MATCH (c:City) RETURN ARRAY_AGG(c ORDER BY c.code) AS cs NEXT "
        "FOR c IN cs RETURN c.name ORDER BY name",
        [("Faro",), ("Lisbon",), ("Porto",)],
    ),
    # GoogleSQL's meanings
    "division_is_real": ("RETURN 3 / 2 AS a, DIV(7, 2) AS b, MOD(7, 3) AS c", [(1.5, 3, 1)]),
    "safe_divide": ("RETURN SAFE_DIVIDE(1, 0) AS a", [(None,)]),
    "integers_are_64_bit": (
        "RETURN 2147483647 + 1 AS a, 65536 * 65536 AS b",
        [(2147483648, 4294967296)],
    ),
    "sum_is_int64": ("MATCH (p:Person) RETURN SUM(p.age) AS s", [(95,)]),
    "timestamp_diff_counts_whole_days": (
        "RETURN TIMESTAMP_DIFF(TIMESTAMP '2024-03-11 11:00:00', TIMESTAMP '2024-03-09 12:00:00', "
        "DAY) AS a, TIMESTAMP_DIFF(TIMESTAMP '2024-01-01 00:00:00+00', "
        "TIMESTAMP '2024-01-02 12:00:00+00', DAY) AS b",
        [(1, -1)],
    ),
    "timestamp_days_have_24_hours": (
        "RETURN TIMESTAMP_DIFF(TIMESTAMP '2024-03-11 12:00:00+00', "
        "TIMESTAMP_SUB(TIMESTAMP '2024-03-11 12:00:00+00', INTERVAL 2 DAY), HOUR) AS a",
        [(48,)],
    ),
    "null_in_concatenation": ("RETURN CONCAT('a', NULL) AS a, 'a' || 'b' AS b", [(None, "ab")]),
    "cast_and_string_functions": (
        "RETURN CAST('12' AS INT64) AS a, UPPER('x') AS b, STARTS_WITH('abc', 'ab') AS c",
        [(12, "X", True)],
    ),
    "weeks_start_on_sunday": (
        "RETURN DATE_TRUNC(DATE '2024-01-10', WEEK) AS d, "
        "EXTRACT(DAYOFWEEK FROM DATE '2024-01-07') AS w",
        [(date(2024, 1, 7), 1)],
    ),
    "casts_of_real_numbers": (
        "RETURN CAST(2.5 AS INT64) AS a, CAST(-0.5 AS INT64) AS b, CAST(1.0 AS STRING) AS c, "
        "CAST(1.25 AS STRING) AS d",
        [(3, -1, "1", "1.25")],
    ),
    "format_is_printf": (
        "RETURN FORMAT('%s-%03d|%.1f|%t%%', 'a', 5, 2.25, TRUE) AS f",
        [("a-005|2.2|true%",)],
    ),
    "format_timestamp_in_a_zone": (
        "RETURN FORMAT_TIMESTAMP('%Y-%m-%d', TIMESTAMP '2024-01-01 00:00:00+00', 'UTC') AS a, "
        "FORMAT_TIMESTAMP('%Y-%m-%d', TIMESTAMP '2024-01-01 00:00:00+00') AS b",
        [("2024-01-01", "2023-12-31")],
    ),
    # SAFE
    "safe_turns_errors_into_null": (
        "OPTIONAL MATCH (a:Person {id: 9}) MATCH (b:City {code: 'FAR'}) "
        "RETURN SAFE.SAME(a, a) AS x, SAFE.ARRAY_FIRST(CAST([] AS ARRAY<INT64>)) AS y",
        [(None, None)],
    ),
    "safe_sum": (
        "LET x = [9223372036854775807, 1] LET s = SAFE.SUM(x) RETURN s",
        [(None,)],
    ),
}


@pytest.mark.parametrize(("query", "expected"), CASES.values(), ids=CASES)
def test_function(world, query, expected):
    assert world.gql(query) == expected


ERRORS = {
    "sum_overflow": "LET x = [9223372036854775807, 1] LET s = SUM(x) RETURN s",
    "vertical_sum_overflow": "FOR x IN [9223372036854775807, 1] RETURN SUM(x) AS s",
    "integer_overflow": "RETURN 9223372036854775807 + 1 AS x",
    "division_by_zero": "MATCH (p:Person) RETURN 1 / (p.id - p.id) AS x",
    "modulo_by_zero": "MATCH (p:Person) RETURN MOD(p.id, p.id - p.id) AS x",
    "index_out_of_bounds": "LET a = [1] RETURN a[OFFSET(3)] AS x",
    "same_of_null": "OPTIONAL MATCH (a:Person {id: 9}) RETURN SAME(a, a) AS x",
    "source_of_null": "OPTIONAL MATCH (a:Person {id: 9})-[e]->() RETURN a IS SOURCE OF e AS x",
    "path_of_null": "OPTIONAL MATCH (a:Person {id: 9}) RETURN PATH_LENGTH(PATH(a)) AS x",
    "path_of_strangers": (
        "MATCH (a:City {code: 'FAR'}), (b:City {code: 'POR'}), -[r:Road]-> "
        "RETURN PATH_LENGTH(PATH(a, r, b)) AS x"
    ),
    "joined_paths_that_do_not_meet": (
        "MATCH p = (:City {code: 'FAR'}), q = (:City {code: 'POR'}) RETURN PATH_LENGTH(p || q) AS x"
    ),
    "cost_of_zero": "MATCH ANY CHEAPEST -[k:Knows COST k.weight - 1]-> RETURN k.id",
    "cost_of_null": "MATCH ANY CHEAPEST -[k:Knows COST NULLIF(k.weight, 1)]-> RETURN k.id",
    "cost_overflow": (
        "MATCH ANY CHEAPEST -[k:Knows COST 9223372036854775807]->()-[j:Knows COST 1]-> "
        "RETURN k.id, j.id AS j"
    ),
    "cost_overflow_of_doubles": (
        "MATCH ANY CHEAPEST -[k:Knows COST 1.7e308]->()-[j:Knows COST 1.7e308]-> "
        "RETURN k.id, j.id AS j"
    ),
}


@pytest.mark.parametrize("query", ERRORS.values(), ids=ERRORS)
def test_rows_that_break_a_rule_raise(world, query):
    with pytest.raises(duckdb.Error):
        world.gql(query)


def test_json_of_a_node(world):
    ((text,),) = world.gql("MATCH (n:Person {id: 1}) RETURN TO_JSON(n) AS j")
    node = json.loads(text)
    assert isinstance(node.pop("identifier"), str)
    assert node == {
        "kind": "node",
        "labels": ["Named", "Person"],
        "properties": {"age": 30, "id": 1, "joined": "2024-01-01T12:00:00Z", "name": "Ana"},
    }


def test_json_of_an_edge_names_its_nodes(world):
    ((edge, source, target),) = world.gql(
        "MATCH (a:Person {id: 1})-[k:Knows]->(b) "
        "RETURN TO_JSON(k) AS k, ELEMENT_ID(a) AS a, ELEMENT_ID(b) AS b"
    )
    edge = json.loads(edge)
    assert edge["kind"] == "edge"
    assert edge["properties"] == {"id": 10, "since": "2020-01-01", "weight": 5}
    assert edge["source_node_identifier"] == source
    assert edge["destination_node_identifier"] == target


def test_json_of_a_path_alternates_nodes_and_edges(world):
    ((path,),) = world.gql(
        "MATCH p = (:Person {id: 1})-[:Knows]->()-[:Lives]->(:City) RETURN SAFE_TO_JSON(p) AS j"
    )
    path = json.loads(path)
    assert [x["kind"] for x in path] == ["node", "edge", "node", "edge", "node"]
    assert path[1]["source_node_identifier"] == path[0]["identifier"]
    assert path[3]["destination_node_identifier"] == path[4]["identifier"]


def test_null_properties_are_present_in_json(world):
    ((text,),) = world.gql("MATCH (n:Person {id: 3}) RETURN TO_JSON_STRING(n) AS j")
    assert json.loads(text)["properties"]["age"] is None


def test_json_members(world):
    rows = world.gql(
        "MATCH (n:Person {id: 1}) LET j = TO_JSON(n) "
        "RETURN STRING(j.properties.name) AS name, INT64(j.properties.age) AS age, "
        "STRING(j.labels[0]) AS label"
    )
    assert rows == [("Ana", 30, "Named")]


def test_json_passes_the_notebook_drawing(world):
    """The library under the notebook magics finds every node and edge in a path."""
    conversion = pytest.importorskip("spanner_graphs.conversion")
    rows = world.gql("MATCH p = (:Person)-[]->() RETURN TO_JSON(p) AS p")
    data = {"p": [json.loads(p) for (p,) in rows]}
    fields = [SimpleNamespace(name="p", typename="JSON")]
    nodes, edges = conversion.get_nodes_edges(data, fields, None)
    assert len(nodes) == 5
    assert len(edges) == 7


def test_typeof_names_the_element_type(world):
    ((shown,),) = world.gql("MATCH (c:City {code: 'FAR'}) RETURN TYPEOF(c) AS t")
    assert shown == ("GRAPH_NODE(world)<code STRING, name STRING, people INT64, population INT64>")
