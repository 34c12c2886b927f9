"""Queries that the service refuses: the message names the cause, the position points at it."""

import pytest

from lab_helpers.sandbox.gql import GqlError, Unsupported

INVALID = {
    "unknown_graph": ("GRAPH wold MATCH (n) RETURN n.id", "not found: wold; did you mean 'world'"),
    "unknown_label": ("MATCH (n:Persn) RETURN n.id", "Label 'Persn' is not found"),
    "nearest_label": ("MATCH (n:Persn) RETURN n.id", "did you mean 'Person'"),
    "edge_label_on_a_node": ("MATCH (n:Knows) RETURN 1 AS x", "Label 'Knows' is not found"),
    "unknown_property": ("MATCH (n:Person) RETURN n.nme", "Property nme is not exposed"),
    "nearest_property": ("MATCH (n:Person) RETURN n.nme", "did you mean 'name'"),
    "property_of_another_label": ("MATCH (n:Person) RETURN n.code", "Property code is not exposed"),
    "unknown_inline_property": ("MATCH (n:Person {size: 1}) RETURN n.id", "Property size"),
    "unknown_name": ("MATCH (n:Person) RETURN m.id", "Unrecognized name: m"),
    "column_without_a_name": ("MATCH (n:Person) RETURN n.id + 1", "name must be explicitly"),
    "duplicate_column": ("MATCH (n:Person) RETURN n.id, n.age AS id", "Duplicate column name id"),
    "return_of_a_node": ("MATCH (n:Person) RETURN n", "is a graph node"),
    "return_of_a_path": ("MATCH p = (n:Person) RETURN p", "is a path"),
    "return_of_a_group": ("MATCH (:Person)-[k]->{1,2}() RETURN k", "array of graph elements"),
    "not_grouped": (
        "MATCH (n:Person) RETURN n.id, COUNT(*) AS c GROUP BY n.age",
        "neither grouped",
    ),
    "element_redeclared_in_a_subquery": (
        "MATCH (n:Person) WHERE EXISTS { MATCH (n)-[:Knows]->() } RETURN n.id",
        "The name 'n' is already defined",
    ),
    "scalar_redeclared_as_an_element": (
        "MATCH (n:Person) RETURN n.id NEXT MATCH (id:Person) RETURN id.name",
        "'id' is already defined",
    ),
    "variable_declared_twice_by_let": ("LET a = 1 LET a = 2 RETURN a", "a already exists"),
    "node_and_edge_of_one_name": ("MATCH (a)-[a]->() RETURN 1 AS x", "both a node and an edge"),
    "path_name_taken": ("MATCH a = (a:Person) RETURN 1 AS x", "declared twice"),
    "unbounded_without_a_bound": ("MATCH (a)-[:Knows]->*(b) RETURN a.id", "unbounded quantifier"),
    "upper_below_lower": ("MATCH (a)-[:Knows]->{3,2}(b) RETURN a.id", "upper bound"),
    "quantified_node": ("MATCH (a:Person){1,2} RETURN 1 AS x", "node pattern"),
    "cheapest_without_a_cost": ("MATCH ANY CHEAPEST (a)->(b) RETURN a.id", "needs an edge pattern"),
    "vertical_aggregate_in_let": ("MATCH (n:Person) LET s = SUM(n.id) RETURN s", "array variable"),
    "order_by_an_element": ("MATCH (n:Person) RETURN n.id ORDER BY n", "Ordering by"),
    "set_operation_of_other_columns": (
        "MATCH (n:Person) RETURN n.id UNION ALL MATCH (n:Person) RETURN n.name",
        "same column names",
    ),
    "mixed_set_operations": (
        "RETURN 1 AS x UNION ALL RETURN 2 AS x EXCEPT ALL RETURN 1 AS x",
        "cannot be combined",
    ),
    "two_columns_in_value": ("RETURN VALUE { RETURN 1 AS a, 2 AS b } AS v", "one column"),
    "labels_of_a_scalar": ("LET a = 1 RETURN LABELS(a) AS l", "needs a graph element"),
    "source_id_of_a_node": ("MATCH (n:Person) RETURN SOURCE_NODE_ID(n) AS i", "takes an edge"),
    "path_function_of_a_node": (
        "MATCH (n:Person) RETURN PATH_LENGTH(n) AS l",
        "needs a graph path",
    ),
    "same_of_node_and_edge": ("MATCH (a)-[e]->() RETURN SAME(a, e) AS s", "nodes or edges"),
    "property_of_a_group_variable": ("MATCH (:Person)-[k]->{2}() RETURN k.id", "array of graph"),
    "element_where_names_another_element": (
        "MATCH (a)-[]->(b WHERE b.id > a.id) RETURN 1 AS x",
        "Unrecognized name: a",
    ),
    "pattern_names_an_earlier_variable": (
        "MATCH (a:Person) MATCH (b:Person WHERE b.id > a.id) RETURN a.id",
        "can only be referenced in the outermost WHERE",
    ),
    "walk_names_an_earlier_variable": (
        "MATCH (a:Person) MATCH TRAIL (b)(-[k:Knows WHERE k.weight < a.age]->)+(c) RETURN 1 AS x",
        "can only be referenced in the outermost WHERE",
    ),
    "group_variable_declared_again": (
        "MATCH (x)-[k:Knows]->{1,2}(b), (k) RETURN 1 AS y",
        "cannot be declared again",
    ),
    "array_aggregate_in_return": ("LET a = [1] RETURN SUM(a) AS s", "No matching signature"),
    "aggregate_in_for": ("FOR x IN ARRAY_AGG(1) RETURN x", "not allowed here"),
    "call_without_a_list": ("CALL { RETURN 1 AS x } RETURN x", "CALL () { ... }"),
    "limit_before_offset": ("MATCH (a) RETURN 1 AS x LIMIT 1 OFFSET 1", "Unexpected 'OFFSET'"),
    "where_is_not_a_bool": ("MATCH (a:Person) FILTER a.id RETURN a.id", "type BOOL"),
    "where_is_an_element": ("MATCH (a:Person) WHERE a RETURN a.id", "type BOOL"),
    "order_of_elements": ("MATCH (a:Person) RETURN a < a AS x", "Order is not defined"),
    "node_equals_edge": ("MATCH (a)-[e]->() RETURN a = e AS x", "compares only with"),
    "string_equals_number": ("MATCH (a:Person) WHERE a.name = 1 RETURN a.id", "STRING, INT64"),
    "union_of_different_types": (
        "RETURN 1 AS x UNION ALL RETURN 'a' AS x",
        "incompatible types: INT64, STRING",
    ),
    "order_by_what_is_not_grouped": (
        "MATCH (n:Person) RETURN COUNT(*) AS c GROUP BY n.name ORDER BY n.age",
        "neither grouped nor aggregated",
    ),
    "order_by_what_is_not_distinct": (
        "MATCH (n:Person) RETURN DISTINCT n.name ORDER BY n.age",
        "not in the DISTINCT result",
    ),
    "is_needs_null_or_a_truth_value": ("MATCH (n:Person) WHERE n.id IS x RETURN n.id", "after IS"),
    "no_return": ("MATCH (n:Person)", "Expected a graph statement"),
    "union_without_all": ("RETURN 1 AS x UNION RETURN 2 AS x", "Expected ALL or DISTINCT"),
    "both_ways": ("MATCH (a)<-[e]->(b) RETURN 1 AS x", "both ways"),
    "misspelt_statement": ("MTCH (n) RETURN 1 AS x", "Expected a graph statement but got 'MTCH'"),
    "unclosed_string": ("MATCH (n {name: 'x}) RETURN n.id", "Syntax error"),
    "literal_out_of_range": ("RETURN 9223372036854775808 AS x", "out of range"),
}


def whole(query: str) -> str:
    return query if query.startswith("GRAPH") else f"GRAPH world {query}"


@pytest.mark.parametrize(("query", "message"), INVALID.values(), ids=INVALID)
def test_invalid(world, query, message):
    with pytest.raises(GqlError) as caught:
        world.lower(whole(query))
    assert message in caught.value.message
    assert not isinstance(caught.value, Unsupported)


UNSUPPORTED = {
    "TABLESAMPLE": "MATCH (n) TABLESAMPLE BERNOULLI (10 PERCENT) RETURN 1 AS x",
    "COLLATE": "RETURN COLLATE('a', 'und:ci') AS x",
    "ALL SHORTEST": "MATCH ALL SHORTEST (a)-[]->{1,3}(b) RETURN 1 AS x",
    "table-valued function": "CALL PER() YIELD x RETURN x",
    "quantified path inside": "MATCH ((a)-[:Knows]->{1,2}(b)){1,2} RETURN 1 AS x",
    "path variable inside": "MATCH (a)((p = (x)-[]->(y))) RETURN 1 AS x",
    "quantifier bound": "MATCH (a)-[:Knows]->{1,@n}(b) RETURN 1 AS x",
    "graph statement INSERT": "MATCH (a) INSERT (b) RETURN 1 AS x",
    "condition on a whole unbounded path": (
        "MATCH ANY ((a:Person)-[k:Knows]->+(b) WHERE SUM(k.weight) > 3) RETURN 1 AS x"
    ),
    "FLATTEN": "LET a = [[1]] RETURN FLATTEN(a) AS x",
}


@pytest.mark.parametrize(("construct", "query"), UNSUPPORTED.items(), ids=UNSUPPORTED)
def test_unsupported_names_the_construct_and_its_place(world, construct, query):
    with pytest.raises(Unsupported) as caught:
        world.lower(whole(query))
    assert construct in caught.value.message
    assert caught.value.line == 1
    assert caught.value.column > len("GRAPH world")


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("GRAPH world\nMATCH (n:Persn)\nRETURN n.id", (2, 10)),
        ("GRAPH world\nMATCH (n:Person)\nRETURN n.id, n.nme", (3, 14)),
        ("GRAPH world MATCH (n:Person) RETURN n.id + 1", (1, 37)),
        ("GRAPH world MATCH (n:Person WHERE m.x = 1) RETURN n.id", (1, 35)),
        ("GRAPH world MATCH (n:Person) TABLESAMPLE RESERVOIR (1 ROWS) RETURN 1 AS x", (1, 30)),
    ],
)
def test_positions(world, query, place):
    with pytest.raises(GqlError) as caught:
        world.lower(query)
    assert (caught.value.line, caught.value.column) == place
    assert str(caught.value).endswith(f"[at {place[0]}:{place[1]}]")
