"""Step 4: the only step that can act, and only when code has checked (seed 000, tier 3)."""

from __future__ import annotations

from typing import Any

from lab_helpers.agents.refund import intent as reading
from lab_helpers.agents.refund import policy
from lab_helpers.agents.refund.conversation import Pending
from lab_helpers.agents.refund.turn import Turn
from lab_helpers.agents.trace import dump, new_id, utc_now
from lab_helpers.stores.operations import OperationsStore, PolicyFacts

PENDING = ("AWAIT_CUSTOMER_CONFIRMATION", "PENDING_CONFIRMATION")
APPROVED = ("COMMIT_SPANNER_REFUND", "APPROVED")
DENIED = ("BLOCK_SPANNER_MUTATION", "DENIED")
INFORMATION = {
    reading.LIST: ("LIST_CUSTOMER_ORDERS", "ORDER_LIST"),
    reading.ORDER_INFO: ("SHOW_ORDER_DETAILS", "ORDER_INFO"),
    reading.POLICY: ("SHOW_POLICY_AND_ORDERS", "POLICY_INFO"),
}


def outcome(kind: tuple[str, str], eval_id: str, reason: str | None = None) -> dict[str, Any]:
    """The action_outcome record of seed 000."""
    action_type, decision_status = kind
    return {
        "action_id": new_id("ACT"),
        "eval_id": eval_id,
        "action_type": action_type,
        "decision_status": decision_status,
        "rejection_reason": reason,
    }


def missing_order_reason(candidates: list[dict[str, Any]]) -> str:
    """Why a turn without an order pauses, worded as in seed 000 (priority 1)."""
    if not candidates:
        return "Please provide a valid 5-digit order number; there is no active order."
    shown = "; ".join(f"ORD-{c['order_id']} ({c['product_names']})" for c in candidates)
    return f"Which order would you like to refund? Select one of your active orders below: {shown}"


def decide(
    *,
    mode: str,
    order_id: int | None,
    confirmed: object,
    policy_eval: dict[str, Any],
    pending: Pending | None,
    user_id: int,
    candidates: list[dict[str, Any]],
) -> tuple[tuple[str, str] | None, str | None, bool]:
    """What step 4 does: (kind of outcome, reason, approval was stale); kind None means commit.

    A pure function: commit is reached only with an order, `confirmed is True`, a PASS, and a
    pending record that shows this very customer, order, verdict and price.
    """
    code = policy_eval["failure_code"]
    if mode in INFORMATION:
        return INFORMATION[mode], None, False
    if order_id is None:
        asks = mode != reading.CANCELLED
        return PENDING, missing_order_reason(candidates) if asks else None, False
    reason = policy.reason(code, policy_eval, order_id, user_id) if code else None
    if not policy_eval["order_found"]:
        return DENIED, reason, False
    if confirmed is not True:
        return PENDING, reason, False
    if policy_eval["evaluation_result"] != "PASS" or code is not None:
        return DENIED, reason, False
    shown = pending is not None and (
        pending.user_id == user_id
        and pending.order_id == order_id
        and pending.evaluation_result == "PASS"
        and pending.price == policy_eval["target_order_price"]
    )
    return (None, None, False) if shown else (PENDING, None, True)


def commit(
    store: OperationsStore,
    turn: Turn,
    order_id: int,
    standard_limit: int,
) -> dict[str, Any]:
    """Run the refund transaction and record what it saw; policy_eval is updated in place.

    The recorded failure is the one the transaction saw, never the earlier PASS.
    """
    contract, held = turn.contract, turn.policy_eval
    assert contract is not None and held is not None
    approved = outcome(APPROVED, held["eval_id"])

    def seen(facts: PolicyFacts | None, code: str | None) -> dict[str, Any]:
        return policy.evaluation(
            eval_id=held["eval_id"],
            node_exec_id=held["node_exec_id"],
            result="PASS" if code is None else "FAIL",
            failure_code=code,
            facts=facts,
            contract=contract,
            standard_limit=standard_limit,
        )

    def trail(facts: PolicyFacts) -> str:
        # The step that is committing is known to have run; its time is known up to here.
        running = turn.trace.steps[-1]
        running.latency_ms = (utc_now() - running.started_at).total_seconds() * 1e3
        rows = turn.trace.rows(
            user_id=turn.user_id,
            prompt=turn.prompt,
            order_id=order_id,
            policy_eval=seen(facts, None),
            action=approved,
            confirms=turn.pending.trace_id if turn.pending else None,
        )
        return dump(rows)

    try:
        result = store.commit_refund(
            turn.user_id,
            order_id,
            turn.trace.trace_id,
            contract,
            failure=lambda facts: policy.failure(facts, contract),
            trail=trail,
        )
    except Exception as error:
        written = _was_written(store, order_id, turn.trace.trace_id)
        if written:
            return approved
        running = turn.trace.steps[-1]
        running.error = type(error).__name__
        if written is None:
            turn.unknown = True
            held.update(evaluation_result="FAIL", failure_code=policy.UNAVAILABLE)
            reason = f"Order {order_id}: the store fell silent during the commit; it may be paid."
            return outcome(DENIED, held["eval_id"], reason)
        return outcome(
            DENIED,
            held["eval_id"],
            f"Order {order_id} could not be written ({type(error).__name__}); nothing was paid.",
        )
    held.update(seen(result.facts, result.failure_code))
    if result.committed:
        return approved
    code = result.failure_code or policy.NOT_FOUND
    return outcome(DENIED, held["eval_id"], policy.reason(code, held, order_id, turn.user_id))


def _was_written(store: OperationsStore, order_id: int, trace_id: str) -> bool | None:
    """An error after a commit was accepted is no failure: ask the store who refunded the order.

    None where the store cannot be asked: the outbox row of the same commit will tell.
    """
    try:
        return store.refund_trace(order_id) == {trace_id}
    except Exception:
        return None
