"""A turn of the concierge as rows of the trail: the four tables of the other agents.

Its verdict is whether rows answered; its action is the answer. It never approves or denies.
"""

from __future__ import annotations

from lab_helpers.agents.concierge.classifier import GENERAL_CONVERSATION
from lab_helpers.agents.concierge.result import ChatResult
from lab_helpers.agents.concierge.turn import Turn
from lab_helpers.agents.trace import new_id
from lab_helpers.stores.lineage import Rows

PASS, FAIL, INFO = "PASS", "FAIL", "INFO"
NO_ROWS = "NOTHING_FITS"
_POLICY = {
    "catalog_term_id": "grounded-answers",
    "policy_id": "POL-GROUNDED-ANSWERS",
    "policy_name": "Answers from rows, or no answer",
    # The concierge weighs no refund; the columns are the trail's own.
    "max_refunds_100d": 0,
    "return_window_days": 0,
    "prior_refund_count_100d": 0,
    "target_order_age_days": None,
}
_ACTIONS = {
    PASS: ("ANSWER_FROM_ROWS", "ANSWERED"),
    FAIL: ("SAY_NOTHING_FITS", "NOT_ANSWERED"),
    INFO: ("CONVERSE", "ANSWERED"),
}


def verdict(turn: Turn) -> str:
    """PASS where rows answered, FAIL where none fitted, INFO for conversation."""
    if turn.intent is None:
        return FAIL
    if turn.intent.label == GENERAL_CONVERSATION and not turn.products:
        return INFO
    no_rows = turn.mode in ("nothing_fits", "no_search")
    return FAIL if no_rows or any(step.error for step in turn.trace.steps) else PASS


def rows(turn: Turn, result: ChatResult) -> Rows:
    """The rows of one turn: 1 session, a row a step, 1 verdict, 1 action."""
    found, steps = verdict(turn), turn.trace.steps
    evaluation = {
        **_POLICY,
        "eval_id": new_id("EVAL"),
        "node_exec_id": steps[-1].node_exec_id if steps else new_id("NODE", 12),
        "evaluation_result": found,
        "failure_code": NO_ROWS if found == FAIL else None,
    }
    kind, status = _ACTIONS[found]
    action = {
        "action_id": new_id("ACT"),
        "action_type": kind,
        "decision_status": status,
        "rejection_reason": None,
    }
    return turn.trace.rows(
        user_id=turn.customer,
        prompt=turn.message,
        order_id=None,
        policy_eval=evaluation,
        action=action,
    )
