"""GoogleSQL's public graph cases before Google's analyser: what it accepts, we accept, and no more.

Where the two differ, the complaint of the one that refuses names a construct of the tables below.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from lab_helpers.sandbox.gql import GqlError, lower
from tests.sandbox.gql.analyser import Analyser
from tests.sandbox.gql.test_public_cases import CASES, parameters_of, public_cases

pytest.importorskip("zetasql")
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the public case set is not here")

# GQL that is newer than this build of the analyser
UNKNOWN_TO_THE_ANALYSER = (
    "Unbounded quantifier is not supported",
    "Dynamic label that holds ARRAY<STRING> expression is not supported",
    "DYNAMIC LABEL clause must hold expression of type STRING",
    "does not support SAFE error mode",
    "Gql set operation does not support column propagation mode",
)
REFUSED_HERE_ONLY = (
    "TABLESAMPLE is not supported",  # a sample of a few rows teaches nothing
    "Invalid INT64 literal",  # the analyser has UINT64, which the services have not
)
TYPES = {str: "STRING", int: "INT64", bool: "BOOL", float: "FLOAT64"}


def type_of(value) -> str | None:
    """GoogleSQL's type of a parameter; None where the value does not tell."""
    if isinstance(value, list):
        item = type_of(value[0]) if value else None
        return item and f"ARRAY<{item}>"
    return TYPES.get(type(value))


def declared(case: dict) -> dict[str, str]:
    types = {name: type_of(value) for name, value in parameters_of(case).items()}
    return {name: kind for name, kind in types.items() if kind}


def complaint(query: str, fixture) -> str | None:
    try:
        lower(query, fixture.graphs, fixture.tables)
    except GqlError as error:
        return str(error)
    return None


def outcome(google: str | None, ours: str | None) -> str:
    """What two complaints (None: accepted) say together."""
    if (google is None) == (ours is None):
        return "both accept" if ours is None else "both refuse"
    if ours is None:
        known = any(reason in google for reason in UNKNOWN_TO_THE_ANALYSER)
        return "newer than the analyser" if known else "accepted here only"
    known = any(reason in ours for reason in REFUSED_HERE_ONLY)
    return "left out here" if known else "refused here only"


def test_the_judges_agree_on_the_cases(capsys):
    counts: Counter[str] = Counter()
    disagreements, analysers = [], {}
    for fixture, case in public_cases(json.loads(CASES.read_text())):
        if fixture not in analysers:
            analysers[fixture] = Analyser(
                fixture.tables, fixture.tables.names(), fixture.graphs.values()
            )
        google = analysers[fixture].complaint(case["sql"], declared(case))
        ours = complaint(case["sql"], fixture)
        found = outcome(google, ours)
        counts[found] += 1
        if found.endswith("here only"):
            disagreements.append(f"{case['id']}: {found}: {google or ours}")
    with capsys.disabled():
        print("\nGQL cases, Google's analyser and ours:", dict(counts.most_common()))
    assert not disagreements, "\n".join(disagreements)
    assert counts["both accept"] > 240


def test_the_judges_agree_on_the_graphs():
    """Every graph that the cases can be asked about is valid, or newer than the analyser."""
    fixtures = {id(f): f for f, _ in public_cases(json.loads(CASES.read_text()))}.values()
    refused = {}
    for fixture in fixtures:
        analyser = Analyser(fixture.tables, fixture.tables.names(), [])
        for graph in fixture.graphs.values():
            found = analyser.complaint(graph.ddl)
            if found and not any(reason in found for reason in UNKNOWN_TO_THE_ANALYSER):
                refused[graph.name] = found
    assert not refused
