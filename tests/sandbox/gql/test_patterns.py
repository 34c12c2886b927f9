"""Graph patterns: labels, directions, quantifiers, path modes and path searches."""

import pytest

CASES = {
    # labels
    "any_label": ("MATCH (n) RETURN COUNT(*) AS n", [(7,)]),
    "wildcard": ("MATCH (n:%) RETURN COUNT(*) AS n", [(7,)]),
    "shared_label": (
        "MATCH (n:Named) RETURN n.name ORDER BY name LIMIT 3",
        [("Ana",), ("Ben",), ("Cleo",)],
    ),
    "labels_match_in_any_case": ("MATCH (n:pErSoN) RETURN COUNT(*) AS n", [(4,)]),
    "or": ("MATCH (n:Person|City) RETURN COUNT(*) AS n", [(7,)]),
    "and": ("MATCH (n:Named&City) RETURN COUNT(*) AS n", [(3,)]),
    "not": ("MATCH (n:!Person) RETURN COUNT(*) AS n", [(3,)]),
    "not_wildcard": ("MATCH (n:!%) RETURN COUNT(*) AS n", [(0,)]),
    "parentheses": ("MATCH (n:(Person|City)&!City) RETURN COUNT(*) AS n", [(4,)]),
    "is_instead_of_colon": ("MATCH (n IS City) RETURN COUNT(*) AS n", [(3,)]),
    "contradiction": ("MATCH (n:Person&City) RETURN COUNT(*) AS n", [(0,)]),
    # elements
    "inline_properties": ("MATCH (n:Person {name: 'Ben', age: 40}) RETURN n.id", [(2,)]),
    "element_where": ("MATCH (n:Person WHERE n.age < 30) RETURN n.id", [(4,)]),
    "property_of_some_tables_is_null_elsewhere": (
        "MATCH (n) WHERE n.population IS NULL RETURN COUNT(*) AS n",
        [(4,)],
    ),
    "computed_property": ("MATCH (n:City {code: 'FAR'}) RETURN n.people", [(60000,)]),
    # directions
    "rightward": ("MATCH (a:Person)-[:Knows]->(b) RETURN COUNT(*) AS n", [(4,)]),
    "leftward": (
        "MATCH (a:Person {id: 3})<-[:Knows]-(b) RETURN b.id ORDER BY id",
        [(2,), (3,)],
    ),
    "any_direction_counts_a_loop_once": (
        "MATCH (a:Person {id: 3})-[k:Knows]-(b) RETURN k.id, b.id AS b ORDER BY id",
        [(12, 2), (13, 3)],
    ),
    "any_direction_without_a_label": (
        "MATCH (a:Person {id: 3})-[k]-(b) RETURN COUNT(*) AS n",
        [(3,)],
    ),
    "any_direction_on_both_ends": ("MATCH -[k]- RETURN COUNT(*) AS n", [(19,)]),
    "abbreviated_edges": (
        "MATCH (a:Person {id: 1})->(b:Person)<-(c:Person)-(d:City) RETURN c.id, d.code",
        [(1, "LIS")],
    ),
    "edge_without_nodes": ("MATCH -[k:Knows]-> RETURN COUNT(*) AS n", [(4,)]),
    "edge_with_a_missing_end_matches_nothing": (
        "MATCH (p:Person {id: 4})-[:Lives]->(c) RETURN c.code",
        [],
    ),
    "same_node_twice": ("MATCH (a)-[k]->(a) RETURN k.id", [(13,)]),
    "same_edge_twice": (
        "MATCH (a)-[k:Knows]->(b), (c)-[k]->(d) RETURN COUNT(*) AS n",
        [(4,)],
    ),
    "cycle": (
        "MATCH (a:Person)-[:Knows]->(b)-[:Knows]->(a) RETURN a.id, b.id AS b ORDER BY id",
        [(1, 2), (2, 1), (3, 3)],
    ),
    "parenthesised_where": (
        "MATCH ((a:Person)-[:Knows]->(b) WHERE a.age < b.age) RETURN a.id, b.id AS b",
        [(1, 2)],
    ),
    # quantifiers
    "fixed": ("MATCH (a:Person {id: 1})-[:Knows]->{2}(b) RETURN b.id ORDER BY id", [(1,), (3,)]),
    "range": (
        "MATCH (a:Person {id: 1})-[:Knows]->{1,2}(b) RETURN b.id ORDER BY id",
        [(1,), (2,), (3,)],
    ),
    "zero_is_the_node_itself": (
        "MATCH (a:Person {id: 1})-[:Knows]->{0,1}(b) RETURN b.id ORDER BY id",
        [(1,), (2,)],
    ),
    "no_lower_bound_is_zero": (
        "MATCH (a:Person {id: 4})-[:Knows]->{,3}(b) RETURN b.id",
        [(4,)],
    ),
    "question_mark_is_zero_or_one": (
        "MATCH (a:Person {id: 1})-[:Knows]->?(b) RETURN b.id ORDER BY id",
        [(1,), (2,)],
    ),
    "group_variables_are_arrays": (
        "MATCH (:Person {id: 1})-[k:Knows]->{2}(b) "
        "LET w = SUM(k.weight) "
        "RETURN b.id, ARRAY_LENGTH(k) AS n, w, k[OFFSET(0)].id AS first "
        "ORDER BY id",
        [(1, 2, 12, 10), (3, 2, 6, 10)],
    ),
    "quantified_sub_path_with_where": (
        "MATCH (a:Person {id: 1})((x)-[k:Knows]->(y) WHERE k.weight > 1){1,3}(b) "
        "RETURN COUNT(*) AS n",
        [(3,)],
    ),
    "empty_group_is_an_empty_array": (
        "MATCH (a:Person {id: 4})-[k:Knows]->{0,2}(b) "
        "LET w = SUM(k.weight), c = COUNT(k) RETURN ARRAY_LENGTH(k) AS n, w, c",
        [(0, None, 0)],
    ),
    "where_aggregates_a_group_variable": (
        "MATCH (a:Person {id: 1})-[k:Knows]->{1,2}(b) WHERE SUM(k.weight) > 5 "
        "RETURN b.id ORDER BY id",
        [(1,), (3,)],
    ),
    "sub_path_where_aggregates_a_group_variable": (
        "MATCH ((a:Person {id: 1})-[k:Knows]->{1,2}(b) WHERE MAX(k.weight) < 6) "
        "RETURN b.id ORDER BY id",
        [(2,), (3,)],
    ),
    "return_counts_group_variables_as_values": (
        "MATCH (a:Person {id: 1})-[k:Knows]->{1,2}(b) RETURN COUNT(k) AS n",
        [(3,)],
    ),
    # path modes
    "walk_repeats": (
        "MATCH WALK (a:Person {id: 3})-[:Knows]->{3}(b) RETURN COUNT(*) AS n",
        [(1,)],
    ),
    "trail_repeats_no_edge": (
        "MATCH TRAIL (a:Person {id: 1})-[:Knows]->{3}(b) RETURN b.id ORDER BY id",
        [(3,)],
    ),
    "acyclic_repeats_no_node": (
        "MATCH ACYCLIC (a:Person {id: 1})-[:Knows]->{1,3}(b) RETURN b.id ORDER BY id",
        [(2,), (3,)],
    ),
    "simple_may_close": (
        "MATCH SIMPLE (a:Person {id: 1})-[:Knows]->{1,3}(b) RETURN b.id ORDER BY id",
        [(1,), (2,), (3,)],
    ),
    "mode_of_a_sub_path": (
        "MATCH (ACYCLIC (a:Person {id: 1})-[:Knows]->{2})-[:Knows]->(b) RETURN b.id",
        [(3,)],
    ),
    # unbounded
    "trail_star": (
        "MATCH TRAIL (a:Person {id: 1})-[:Knows]->*(b) RETURN b.id ORDER BY id",
        [(1,), (1,), (2,), (3,), (3,)],
    ),
    "acyclic_plus": (
        "MATCH ACYCLIC (a:Person {id: 1})-[k:Knows]->+(b) "
        "RETURN b.id, ARRAY_LENGTH(k) AS n ORDER BY id",
        [(2, 1), (3, 2)],
    ),
    "simple_unbounded": (
        "MATCH SIMPLE (a:Person {id: 2})-[:Knows]->{1,}(b) RETURN b.id ORDER BY id",
        [(1,), (2,), (3,)],
    ),
    "any_unbounded": (
        "MATCH p = ANY (a:Person {id: 1})-[:Knows]->+(b) "
        "RETURN b.id, PATH_LENGTH(p) AS n ORDER BY id",
        [(1, 2), (2, 1), (3, 2)],
    ),
    "shortest_two_unbounded": (
        "MATCH p = SHORTEST 2 (a:Person {id: 1})-[:Knows]->+(b:Person {id: 3}) "
        "RETURN PATH_LENGTH(p) AS n ORDER BY n",
        [(2,), (3,)],
    ),
    "shortest_with_a_lower_bound": (
        "MATCH p = ANY SHORTEST (a:Person {id: 1})-[:Knows]->{3,}(b:Person {id: 2}) "
        "RETURN PATH_LENGTH(p) AS n",
        [(3,)],
    ),
    "cheapest_unbounded": (
        "MATCH ANY CHEAPEST (a:Person {id: 1})-[k:Knows COST k.weight]->+(b) "
        "LET cost = SUM(k.weight) RETURN b.id, cost ORDER BY id",
        [(1, 12), (2, 5), (3, 6)],
    ),
    "cheapest_with_real_costs": (
        "MATCH CHEAPEST 2 (a:City {code: 'LIS'})-[r:Road COST r.km / 100]->+(b:City {code: 'POR'}) "
        "LET km = SUM(r.km) RETURN km ORDER BY km",
        [(300.0,), (910.0,)],
    ),
    "unbounded_between_other_parts": (
        "MATCH ACYCLIC (c:City {code: 'LIS'})<-[:Lives]-(a)-[:Knows]->+(b) "
        "RETURN a.id, b.id AS b ORDER BY id, b",
        [(1, 2), (1, 3), (2, 1), (2, 3)],
    ),
    "unbounded_over_any_direction_without_labels": (
        "MATCH ANY SHORTEST (a:Person {id: 4})-[]-*(b) RETURN COUNT(*) AS n",
        [(1,)],
    ),
    # path searches
    "any_keeps_one_for_each_pair": (
        "MATCH ANY (a:Person {id: 1})-[:Knows]->{1,4}(b) RETURN b.id ORDER BY id",
        [(1,), (2,), (3,)],
    ),
    "any_shortest": (
        "MATCH ANY SHORTEST (a:Person {id: 1})-[k:Knows]->{1,4}(b) "
        "RETURN b.id, ARRAY_LENGTH(k) AS n ORDER BY id",
        [(1, 2), (2, 1), (3, 2)],
    ),
    "shortest_k": (
        "MATCH SHORTEST 2 (a:Person {id: 1})-[k:Knows]->{1,4}(b:Person {id: 3}) "
        "RETURN ARRAY_LENGTH(k) AS n ORDER BY n",
        [(2,), (3,)],
    ),
    "any_zero": ("MATCH ANY 0 (a:Person)-[:Knows]->(b) RETURN a.id", []),
    "cheapest_needs_not_be_shortest": (
        "MATCH ANY CHEAPEST (a:Person {id: 2})-[k:Knows COST k.weight]->{1,2}(b:Person {id: 3}) "
        "LET cost = SUM(k.weight) RETURN cost",
        [(1,)],
    ),
    "where_of_the_statement_comes_after_the_search": (
        "MATCH ANY SHORTEST (a:Person {id: 1})-[k:Knows]->{1,4}(b) WHERE ARRAY_LENGTH(k) > 1 "
        "RETURN b.id ORDER BY id",
        [(1,), (3,)],
    ),
    "where_inside_the_pattern_comes_before_it": (
        "MATCH p = ANY SHORTEST (a:Person {id: 1})(-[k:Knows WHERE k.weight != 1]->){1,4}(b) "
        "RETURN b.id, PATH_LENGTH(p) AS n ORDER BY id",
        [(1, 2), (2, 1)],
    ),
    "two_searches_in_one_match": (
        "MATCH ANY (a:Person {id: 1})-[:Knows]->{1,2}(b:Person {id: 3}), "
        "ANY SHORTEST (b)-[:Lives]->(c) RETURN c.code",
        [("POR",)],
    ),
}


@pytest.mark.parametrize(("query", "expected"), CASES.values(), ids=CASES)
def test_pattern(world, query, expected):
    rows = world.gql(query)
    ordered = "ORDER BY" in query
    assert (rows if ordered else sorted(rows, key=repr)) == expected
