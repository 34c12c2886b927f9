"""A text a student is still typing: whatever is wrong with it, the answer is an error of ours.

Valid queries are cut short, lose, repeat, swap and gain words; the front end must accept them or
raise GqlError, and point into the text.
"""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab_helpers.sandbox.gql import GqlError, is_graph_ddl, mentions_graph, parse_graph_ddl
from tests.sandbox.gql import conftest, test_functions, test_patterns, test_statements

VALID = [
    f"GRAPH world {query}"
    for suite in (test_statements, test_patterns, test_functions)
    for query, _ in suite.CASES.values()
] + ["SELECT * FROM GRAPH_TABLE(world MATCH (n:Person) COLUMNS (n.id, n.name AS who)) AS t"]
WORDS = re.compile(r"\s+|\w+|'[^']*'|[^\w\s]")
INSERTED = re.findall(
    r"\S+",
    """GRAPH MATCH OPTIONAL WHERE RETURN NEXT FILTER LET FOR IN WITH GROUP BY ORDER LIMIT ANY
    SHORTEST CHEAPEST TRAIL COST UNION ALL DISTINCT CALL EXISTS CASE WHEN END AS NULL AND NOT IS
    -1 0 1.5 'x    ( ) [ ] { } , . : ; - -> <- <-[ ]-> * + ? | & ! % = !=
    @p @{ `x` " \\ /* -- é ☃ \0 r' b'\\x' '''""",
)
SETTINGS = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@st.composite
def broken(draw, texts) -> str:
    """A valid text after one to three edits, each of a word, or cut at any character."""
    words = WORDS.findall(draw(st.sampled_from(texts)))
    for _ in range(draw(st.integers(1, 3))):
        here = draw(st.integers(0, len(words) - 1))
        there = draw(st.integers(0, len(words) - 1))
        edit = draw(st.sampled_from(["drop", "insert", "replace", "swap", "repeat"]))
        if edit == "drop" and len(words) > 1:
            del words[here]
        elif edit == "insert":
            words.insert(here, f" {draw(st.sampled_from(INSERTED))} ")
        elif edit == "replace":
            words[here] = draw(st.sampled_from(INSERTED))
        elif edit == "swap":
            words[here], words[there] = words[there], words[here]
        else:
            words.insert(there, words[here])
    text = "".join(words)
    return text[: draw(st.integers(1, len(text)))] if draw(st.booleans()) else text


def assert_points_into(error: GqlError, text: str) -> None:
    assert error.message
    assert error.line is not None, error.message
    lines = text.split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1


@SETTINGS
@given(text=broken(VALID))
def test_a_broken_query_gives_our_error(world, text):
    mentions_graph(text)
    try:
        world.lower(text)
    except GqlError as error:
        assert_points_into(error, text)


@SETTINGS
@given(text=broken([conftest.GRAPH.strip(), "DROP PROPERTY GRAPH IF EXISTS world"]))
def test_a_broken_definition_gives_our_error(text):
    is_graph_ddl(text)
    try:
        parse_graph_ddl(text)
    except GqlError as error:
        assert_points_into(error, text)
