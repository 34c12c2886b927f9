"""Step 4's decision: nothing but a true confirmation of what was shown reaches the commit."""

import pytest

from lab_helpers.agents.refund import action, policy
from tests.unit.shop import CONTRACT, facts, pending

COMMIT = None


def decide(
    confirmed=True, code=None, shown=..., mode="confirmed", order_id=90124, found=True, **more
):
    held = policy.evaluation(
        eval_id="EVAL-1",
        node_exec_id="NODE-1",
        result="FAIL" if code else "PASS",
        failure_code=code,
        facts=facts(**more) if found else None,
        contract=CONTRACT,
        standard_limit=10,
    )
    kind, reason, stale = action.decide(
        mode=mode,
        order_id=order_id,
        confirmed=confirmed,
        policy_eval=held,
        pending=pending() if shown is ... else shown,
        user_id=1001,
        candidates=[],
    )
    return kind and kind[1], reason, stale


def test_a_true_confirmation_of_what_was_shown_commits():
    assert decide() == (COMMIT, None, False)


@pytest.mark.parametrize(
    "value", ["true", "True", "yes", 1, 1.0, None, False, [True], {"ok": True}]
)
def test_only_true_itself_confirms(value):
    assert decide(confirmed=value)[0] == "PENDING_CONFIRMATION"


@pytest.mark.parametrize(
    "shown",
    [
        None,
        pending(90131),
        pending(user_id=2048),
        pending(evaluation_result="FAIL", failure_code="ORDER_NOT_DELIVERED"),
        pending(price=10.0),
    ],
)
def test_an_approval_of_something_else_is_shown_again(shown):
    assert decide(shown=shown) == ("PENDING_CONFIRMATION", None, True)


@pytest.mark.parametrize(
    "code",
    [policy.ALREADY_RETURNED, policy.NOT_DELIVERED, policy.WINDOW_EXPIRED, policy.LIMIT_EXCEEDED],
)
def test_a_failure_is_pending_first_and_denied_when_confirmed(code):
    assert decide(confirmed=False, code=code)[0] == "PENDING_CONFIRMATION"
    kind, reason, _ = decide(code=code)
    assert kind == "DENIED"
    assert reason


def test_an_order_that_is_not_theirs_is_denied_at_once():
    assert decide(confirmed=False, code=policy.NOT_FOUND, found=False)[0] == "DENIED"


@pytest.mark.parametrize(
    ("mode", "status", "action_type"),
    [
        ("list_orders", "ORDER_LIST", "LIST_CUSTOMER_ORDERS"),
        ("order_info", "ORDER_INFO", "SHOW_ORDER_DETAILS"),
        ("policy_info", "POLICY_INFO", "SHOW_POLICY_AND_ORDERS"),
    ],
)
def test_information_turns_show_and_do_nothing(mode, status, action_type):
    assert decide(mode=mode)[0] == status
    assert action.INFORMATION[mode] == (action_type, status)


@pytest.mark.parametrize("mode", ["clarify", "cancelled"])
def test_without_an_order_the_turn_waits(mode):
    assert decide(mode=mode, order_id=None, found=False)[0] == "PENDING_CONFIRMATION"
