"""Rows of one turn as data/gql/lineage/trace.gql returns them, for tests that need no store."""

from typing import Any

from lab_helpers.ui.words import STEPS

_EMPTY = dict.fromkeys(
    (
        "evaluation_result",
        "failure_code",
        "catalog_term_id",
        "policy_id",
        "policy_name",
        "observed_refunds_100d",
        "max_refunds_100d",
        "observed_order_age_days",
        "return_window_days",
        "action_type",
        "decision_status",
        "rejection_reason",
    )
)
_APPROVED = {
    "evaluation_result": "PASS",
    "failure_code": None,
    "catalog_term_id": "rolling-100d-refund-count",
    "policy_id": "POL-REFUND-STD-V1",
    "policy_name": "Tiered Standard and VIP Refund Policy",
    "observed_refunds_100d": 1,
    "max_refunds_100d": 10,
    "observed_order_age_days": 12,
    "return_window_days": 30,
    "action_type": "COMMIT_SPANNER_REFUND",
    "decision_status": "APPROVED",
    "rejection_reason": None,
}


def step(order: int, name: str, **changes: Any) -> dict[str, Any]:
    """One row without an evaluation."""
    row = {
        "trace_id": "TRC-0123456789ab",
        "customer_id": 1001,
        "order_id": 90124,
        "user_prompt": "Please refund my order ORD-90124.",
        "step_order": order,
        "node_name": name,
        "latency_ms": 7.125 * order,
        "spoke": "template" if name == "ResponseAgent" else None,
        "error": None,
        **_EMPTY,
    }
    return {**row, **changes}


def turn(
    *, without: tuple[int, ...] = (), order_id: int | None = 90124, **verdict: Any
) -> list[dict[str, Any]]:
    """The five rows of an approved turn; `verdict` changes what step 3 holds."""
    rows = [step(n, name, order_id=order_id) for n, name in enumerate(STEPS, 1)]
    rows[2].update(_APPROVED, **verdict)
    return [row for row in rows if row["step_order"] not in without]


DENIED = {
    "evaluation_result": "FAIL",
    "failure_code": "RETURN_WINDOW_EXPIRED",
    "catalog_term_id": "order-age-days",
    "observed_order_age_days": 45,
    "action_type": "BLOCK_SPANNER_MUTATION",
    "decision_status": "DENIED",
    "rejection_reason": "Order was delivered 45 days ago, exceeding the 30-day return window.",
}
