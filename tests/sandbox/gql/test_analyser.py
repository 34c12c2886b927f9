"""Google's own analyser, compiled to WebAssembly, judges the queries of this folder.

What these tests call valid it must accept, and what they call invalid it must refuse. The build
is older than the services, so constructs it does not know are named below.
"""

from __future__ import annotations

import re

import pytest

from lab_helpers.sandbox.gql import GqlError
from tests.sandbox.gql import test_errors, test_functions, test_patterns, test_statements
from tests.sandbox.gql.analyser import Analyser

pytest.importorskip("zetasql")

# newer than this build of the analyser, or a rewrite that it leaves out
UNKNOWN_TO_THE_ANALYSER = {
    # FULL, LEFT and INNER set operations
    "statements": {"full_union_pads_with_null", "inner_union_keeps_the_common_columns"},
    # unbounded quantifiers, and `?` for {0,1}
    "patterns": {
        "question_mark_is_zero_or_one",
        "trail_star",
        "acyclic_plus",
        "simple_unbounded",
        "any_unbounded",
        "shortest_two_unbounded",
        "shortest_with_a_lower_bound",
        "cheapest_unbounded",
        "cheapest_with_real_costs",
        "unbounded_between_other_parts",
        "unbounded_over_any_direction_without_labels",
    },
    # SAFE. before a graph function
    "functions": {"safe_turns_errors_into_null"},
}
# refused by this front end for a reason the analyser leaves to others
REFUSED_HERE_ONLY = {"literal_out_of_range"}  # it has UINT64, which the services have not


@pytest.fixture(scope="module")
def analyser(world):
    return Analyser(world.tables, world.tables.names(), world.graphs.values())


def accepted():
    suites = {
        "statements": test_statements.CASES,
        "patterns": test_patterns.CASES,
        "functions": test_functions.CASES,
    }
    for suite, cases in suites.items():
        for name, (query, _) in cases.items():
            if name not in UNKNOWN_TO_THE_ANALYSER[suite]:
                yield pytest.param(query, id=name)


@pytest.mark.parametrize("query", list(accepted()))
def test_the_analyser_accepts_what_runs_here(analyser, query):
    assert analyser.complaint(f"GRAPH world {query}") is None


def refused():
    for name, (query, _) in test_errors.INVALID.items():
        if name not in REFUSED_HERE_ONLY:
            yield pytest.param(query, id=name)


@pytest.mark.parametrize("query", list(refused()))
def test_the_analyser_refuses_what_is_refused_here(analyser, query):
    assert analyser.complaint(test_errors.whole(query)) is not None


def test_both_refuse_misspelt_names(analyser, world):
    """One wrong identifier in a valid query: both must notice, or both not mind.

    Function names are left out: whether a function exists is for the engine to say.
    """
    disagreements = []
    cases = test_patterns.CASES | test_statements.CASES
    newer = UNKNOWN_TO_THE_ANALYSER["patterns"] | UNKNOWN_TO_THE_ANALYSER["statements"]
    for name, (query, _) in cases.items():
        if name in newer or name == "structs_keep_their_fields":  # the engine knows structs
            continue
        for word in sorted(set(re.findall(r"\b[A-Za-z]+\b(?!\()", query)))[::2]:
            mutant = "GRAPH world " + re.sub(rf"\b{word}\b", word + "x", query, count=1)
            theirs = analyser.complaint(mutant) is not None
            try:
                world.lower(mutant)
                ours = False
            except GqlError:
                ours = True
            if ours != theirs:
                disagreements.append((ours, mutant))
    assert not disagreements
