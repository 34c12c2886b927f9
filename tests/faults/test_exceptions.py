"""An exception nobody thought of, in any of the five steps: refused, told, true in the trail."""

import pytest

from lab_helpers.agents.refund import templates
from lab_helpers.agents.refund.workflow import STEPS
from tests.faults.trails import refunds, whole

ORDER = 90124
QUESTION = f"Please refund my order ORD-{ORDER}."


class Unforeseen(Exception):
    """No store, client or library raises this."""


def raising(*_args, **_more):
    raise Unforeseen("the lights went out")


def after(work):
    """Does the work, and then fails all the same."""

    def late(*args, **more):
        work(*args, **more)
        raise Unforeseen("the answer was lost")

    return late


def break_step(lab, monkeypatch, step):
    """What the step calls at the agent's edge fails."""
    place, name, broken = {
        1: (lab.operations, "orders", raising),
        2: (lab.refund.catalog, "contract", raising),
        3: (lab.operations, "policy_facts", raising),
        4: (lab.operations, "commit_refund", raising),
        5: (templates, "reply", once(templates.reply)),
    }[step]
    monkeypatch.setattr(place, name, broken)


def once(work):
    """Fails the first time: the step's own call; what completes the turn may speak again."""
    failed = []

    def first(*args, **more):
        if not failed:
            failed.append(True)
            raise Unforeseen("no words")
        return work(*args, **more)

    return first


def verdict(lab, result):
    row = lab.lineage(result.trace_id).verdict
    return row["evaluation_result"], row["failure_code"], row["decision_status"]


# Step that fails: what asking comes to; step 1 reads the orders where no number is given.
ASKING = {
    1: ("PENDING_CONFIRMATION", "MISSING_ORDER_ID"),
    2: ("DENIED", "STORE_UNAVAILABLE"),
    3: ("DENIED", "STORE_UNAVAILABLE"),
    5: ("PENDING_CONFIRMATION", None),
}


@pytest.mark.parametrize("step", ASKING)
async def test_asking(lab, monkeypatch, step):
    words = "Please refund the Harbor Straight Jeans." if step == 1 else QUESTION
    with monkeypatch.context() as patch:
        break_step(lab, patch, step)
        result = await lab.refund.turn(words, "A", session=f"ask-{step}")
    assert (result.decision_status, result.failure_code) == ASKING[step]
    assert result.reply and "Traceback" not in result.reply and "Unforeseen" not in result.reply
    assert refunds(lab) == {}
    assert verdict(lab, result)[2] == result.decision_status
    assert "APPROVED" not in verdict(lab, result)
    assert [s.node_name for s in result.steps if s.error] == [STEPS[step - 1]]


# Step that fails: what a confirmation comes to. Where the money moved, nothing says it did not.
CONFIRMING = {
    2: ("DENIED", "STORE_UNAVAILABLE", False),
    3: ("DENIED", "STORE_UNAVAILABLE", False),
    4: ("DENIED", None, False),  # it passed every rule; "could not be written" is the reason
    5: ("APPROVED", None, True),
}


@pytest.mark.parametrize("step", CONFIRMING)
async def test_confirming(lab, monkeypatch, step):
    status, code, paid = CONFIRMING[step]
    await lab.refund.turn(QUESTION, "A", session=f"yes-{step}")
    with monkeypatch.context() as patch:
        break_step(lab, patch, step)
        result = await lab.refund.turn("", "A", confirmed=True, session=f"yes-{step}")
    assert (result.decision_status, result.failure_code) == (status, code)
    assert refunds(lab) == ({ORDER: result.trace_id} if paid else {})
    assert verdict(lab, result) == ("FAIL" if code else "PASS", code, status)
    again = await lab.refund.turn("", "A", confirmed=True, session=f"yes-{step}")
    assert again.decision_status != "APPROVED", "an approval lives for one turn"
    assert len(refunds(lab)) == paid


async def test_a_commit_that_was_taken_and_then_fails_is_told_as_taken(lab, monkeypatch):
    await lab.refund.turn(QUESTION, "A", session="late")
    with monkeypatch.context() as patch:
        patch.setattr(lab.operations, "commit_refund", after(lab.operations.commit_refund))
        result = await lab.refund.turn("", "A", confirmed=True, session="late")
    assert result.decision_status == "APPROVED"
    assert refunds(lab) == {ORDER: result.trace_id}
    assert verdict(lab, result) == ("PASS", None, "APPROVED")
    assert whole(lab, [result.trace_id]) == {result.trace_id}
