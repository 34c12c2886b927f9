"""One message of the gate as rows of the four lineage tables.

One evaluation per draft, on the auditor's step, and one action per decided draft; a draft that was
returned leaves as much as one that was released. What the columns mean here:

  catalog_term_id        the kind of reply that was audited (order, after-sales)
  policy_id, _name       the one rule of the door
  observed_refunds_100d  drafts returned before this one, of max_refunds_100d drafts in all
  evaluation_result      PASS where the door opened, else FAIL with the door's failure_code
  decision_status        RELEASED (and locked), RETURNED (to the handler), HELD (for a person)

A release that was never locked has a PASS and no action: that is how a crash in between looks.
"""

from __future__ import annotations

from typing import Any

from lab_helpers.agents.gate.case import HELD, RELEASED, RETURNED, Audited, Case
from lab_helpers.agents.gate.gate import MOST_DRAFTS
from lab_helpers.agents.trace import stamp, utc_now
from lab_helpers.stores.lineage import Rows

POLICY_ID = "GATE-RELEASE-V1"
POLICY_NAME = "Released by the auditor's own true about this draft"
ACTIONS = {RELEASED: "LOCK_LEDGER", RETURNED: "RETURN_DRAFT", HELD: "HOLD_FOR_A_PERSON"}


def rows(case: Case) -> Rows:
    """Everything this message has left so far; steps that still run count up to now."""
    trace = case.trace
    for step in trace.steps:
        if not step.latency_ms:
            step.latency_ms = (utc_now() - step.started_at).total_seconds() * 1e3
    out = trace.rows(
        user_id=None, prompt=case.step.message, order_id=None, policy_eval=None, action=None
    )
    out["policy_evaluations"] = [_evaluation(case, a) for a in case.audited]
    out["agent_actions"] = [_action(case, a) for a in case.audited if a.decision]
    return {table: batch for table, batch in out.items() if batch}


def _evaluation(case: Case, audited: Audited) -> dict[str, Any]:
    verdict = audited.verdict
    return {
        "eval_id": audited.eval_id,
        "node_exec_id": audited.node_exec_id,
        "trace_id": case.trace.trace_id,
        "catalog_term_id": case.brief.kind if case.brief else "unknown",
        "policy_id": POLICY_ID,
        "policy_name": POLICY_NAME,
        "observed_refunds_100d": audited.draft.number - 1,
        "max_refunds_100d": MOST_DRAFTS,
        "observed_order_age_days": None,
        "return_window_days": 0,
        "evaluation_result": "PASS" if verdict.released else "FAIL",
        "evaluated_at": stamp(utc_now()),
        "failure_code": verdict.code,
    }


def _action(case: Case, audited: Audited) -> dict[str, Any]:
    assert audited.decision is not None
    failed = case.failure if audited is case.last else None
    return {
        "action_id": audited.action_id,
        "eval_id": audited.eval_id,
        "trace_id": case.trace.trace_id,
        "action_type": ACTIONS[audited.decision],
        "decision_status": audited.decision,
        "rejection_reason": None
        if audited.decision == RELEASED
        else failed or audited.verdict.reason,
        "created_at": stamp(utc_now()),
        "confirms_trace_id": None,
    }
