"""The door: one kind of reply opens it, and nothing else in the world does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab_helpers.agents import verdict as door
from lab_helpers.agents.gate import shift
from tests.agents.gate.replies import DRAFT, GOOD, MALFORMED


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f'{{"released": true, "draft": "{DRAFT}"}}',
        f'  {{"draft": "{DRAFT}",\n "released": true, "reason": "all there"}}\n',
        f'{{"draft": "{DRAFT}", "released": true, "missing": []}}',
        f'{{"draft": "{DRAFT}", "released": true, "missing": null, "score": 0.2}}',
    ],
)
def test_true_about_this_draft_opens(reply):
    assert door.parse(reply, DRAFT).released is True


def test_there_are_enough_malformed_replies():
    assert len(MALFORMED) >= 200


@pytest.mark.parametrize("reply", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_reply_stops(reply):
    verdict = door.parse(reply, DRAFT)
    assert verdict.released is False
    assert verdict.code and verdict.reason


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (None, door.NO_REPLY),
        ("", door.NO_REPLY),
        (" \n", door.NO_REPLY),
        (True, door.NO_REPLY),
        (b'{"released": true}', door.NO_REPLY),
        ({"released": True, "draft": DRAFT}, door.NO_REPLY),
        ("Approved!", door.NOT_JSON),
        (f"```json\n{GOOD}\n```", door.NOT_JSON),
        (f"{GOOD} ", None),
        (f"{GOOD} Done.", door.NOT_JSON),
        ("true", door.NOT_AN_OBJECT),
        (f"[{GOOD}]", door.NOT_AN_OBJECT),
        (json.dumps(GOOD), door.NOT_AN_OBJECT),
        (f'{{"draft": "{DRAFT}"}}', door.MISSING_FIELD),
        (f'{{"draft": "{DRAFT}", "released": "true"}}', door.NOT_A_BOOLEAN),
        (f'{{"draft": "{DRAFT}", "released": 1}}', door.NOT_A_BOOLEAN),
        (f'{{"draft": "{DRAFT}", "released": null}}', door.NOT_A_BOOLEAN),
        (f'{{"draft": "{DRAFT}", "released": false}}', door.RETURNED),
        ('{"released": true}', door.OTHER_DRAFT),
        ('{"draft": "DRF-1", "released": true}', door.OTHER_DRAFT),
        (f'{{"draft": ["{DRAFT}"], "released": true}}', door.OTHER_DRAFT),
        (f'{{"draft": "{DRAFT}", "released": true, "missing": ["x"]}}', door.CONTRADICTION),
        (f'{{"draft": "{DRAFT}", "released": true, "missing": "x"}}', door.CONTRADICTION),
        ("[" * 100_000, door.NOT_JSON),
        ("[" * 9_000, door.NOT_JSON),
        (f'{{"draft": "{DRAFT}", "released": {"9" * 5000}}}', door.NOT_JSON),
        (GOOD[:-1] + f', "reason": "{"x" * 30_000}"}}', door.NOT_JSON),
    ],
    ids=lambda v: str(v)[:40],
)
def test_each_stop_has_its_name(reply, code):
    assert door.parse(reply, DRAFT).code == code


def test_what_the_auditor_named_reaches_the_handler():
    reply = f'{{"draft": "{DRAFT}", "released": false, "missing": ["total", 3], "reason": "a\\nb"}}'
    verdict = door.parse(reply, DRAFT)
    assert (verdict.missing, verdict.reason) == (("total",), "a b")


def test_the_listed_wrong_replies_cover_every_stop_of_the_parse():
    said = {
        door.parse(r["says"] and r["says"].replace("$draft", DRAFT), DRAFT).code
        for r in shift.wrong_replies()
    }
    assert said == {
        door.NO_REPLY,
        door.NOT_JSON,
        door.NOT_AN_OBJECT,
        door.MISSING_FIELD,
        door.NOT_A_BOOLEAN,
        door.OTHER_DRAFT,
        door.RETURNED,
        door.CONTRADICTION,
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values, st.sampled_from([DRAFT, "DRF-0", None, 1]))
def test_no_value_but_true_opens(value, draft):
    reply = json.dumps({"draft": draft, "released": value})
    opens = value is True and draft == DRAFT
    assert door.parse(reply, DRAFT).released is opens


@given(st.text() | st.binary() | values)
def test_nothing_else_opens_and_nothing_raises(reply):
    assert door.parse(reply, DRAFT).released is False
