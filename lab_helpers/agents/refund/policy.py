"""The refund policy as pure functions from facts to a decision (seed 000, failure priorities)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from lab_helpers.stores.operations import PolicyFacts

MISSING_ORDER_ID = "MISSING_ORDER_ID"
NOT_FOUND = "ORDER_NOT_FOUND_OR_UNAUTHORIZED"
ALREADY_RETURNED = "ALREADY_RETURNED"
NOT_DELIVERED = "ORDER_NOT_DELIVERED"
WINDOW_EXPIRED = "RETURN_WINDOW_EXPIRED"
LIMIT_EXCEEDED = "MAX_REFUNDS_EXCEEDED"
# Not one of the six: the store could not be asked. Unknown means refuse.
UNAVAILABLE = "STORE_UNAVAILABLE"


def failure(facts: PolicyFacts | None, contract: Mapping[str, Any]) -> str | None:
    """The first failing rule in priority order 2 to 6, or None: only None is a PASS."""
    if facts is None or facts.customer_tier not in (
        contract["standard_tier"],
        contract["vip_tier"],
    ):
        return NOT_FOUND
    if facts.target_order_status == contract["returned_status"]:
        return ALREADY_RETURNED
    age = facts.target_order_age_days
    if facts.target_order_status != contract["eligible_order_status"] or age is None:
        return NOT_DELIVERED
    if age > facts.return_window_days:
        return WINDOW_EXPIRED
    if facts.prior_refund_count_100d >= facts.max_refunds_100d:
        return LIMIT_EXCEEDED
    return None


def catalog_term(
    result: str,
    failure_code: str | None,
    facts: PolicyFacts | None,
    contract: Mapping[str, Any],
    standard_limit: int,
) -> str:
    """The glossary term that governed the outcome (seed 000, policy_eval.catalog_term_id)."""
    if failure_code in (WINDOW_EXPIRED, NOT_DELIVERED):
        return contract["secondary_term_id"]
    if (
        result == "PASS"
        and facts is not None
        and facts.customer_tier == contract["vip_tier"]
        and facts.prior_refund_count_100d >= standard_limit
    ):
        return contract["tier_term_id"]
    return contract["catalog_term_id"]


_REASONS = {
    NOT_FOUND: "Order {order_id} was not found for user {user_id}.",
    ALREADY_RETURNED: ("Order {order_id} has already been returned (reset demo data to re-test)."),
    NOT_DELIVERED: (
        "Order {order_id} has status '{target_order_status}' and has not been delivered yet."
    ),
    WINDOW_EXPIRED: (
        "Order was delivered {target_order_age_days} days ago, exceeding the"
        " {return_window_days}-day return window."
    ),
    LIMIT_EXCEEDED: (
        "Customer ({customer_tier} tier) already has {prior_refund_count_100d} returned items in"
        " the last 100 days (limit: {max_refunds_100d})."
    ),
    UNAVAILABLE: (
        "Order {order_id} could not be checked: the store did not answer. Nothing changed."
    ),
}


def reason(code: str, policy_eval: Mapping[str, Any], order_id: int, user_id: int) -> str:
    """The rejection reason for a failure code, worded as in seed 000."""
    return _REASONS[code].format(**{**policy_eval, "order_id": order_id, "user_id": user_id})


BASELINE: dict[str, Any] = {
    "policy_id": "POL-REFUND-STD-V1",
    "policy_name": "Tiered Standard and VIP Refund Policy",
    "condition_id": "COND-REFUND-STD-100D-30D",
    "customer_tier": "STANDARD",
    "prior_refund_count_100d": 0,
    "return_window_days": 30,
    "target_order_age_days": None,
    "target_order_status": None,
    "product_names": "",
    "target_order_price": 0.0,
}


def evaluation(
    *,
    eval_id: str,
    node_exec_id: str,
    result: str,
    failure_code: str | None,
    facts: PolicyFacts | None,
    contract: Mapping[str, Any],
    standard_limit: int,
) -> dict[str, Any]:
    """The policy_eval record of seed 000; baseline values stand in where there are no facts."""
    known = (
        {k: getattr(facts, k) for k in (*BASELINE, "max_refunds_100d")}
        if facts
        else {**BASELINE, "max_refunds_100d": standard_limit}
    )
    return {
        **known,
        "eval_id": eval_id,
        "node_exec_id": node_exec_id,
        "order_found": facts is not None,
        "evaluation_result": result,
        "failure_code": failure_code,
        "catalog_term_id": catalog_term(result, failure_code, facts, contract, standard_limit),
    }


def truth_table(
    condition: Mapping[str, Any],
    contract: Mapping[str, Any],
    ages: Sequence[int],
    returns: Sequence[int],
) -> list[dict[str, Any]]:
    """The rule itself over a grid: one row per number of earlier returns, one column per age."""
    base = {f.name: "" for f in fields(PolicyFacts)} | {
        "customer_tier": contract["standard_tier"],
        "target_order_status": contract["eligible_order_status"],
        "max_refunds_100d": condition["max_refunds_100d"],
        "return_window_days": condition["return_window_days"],
    }

    def verdict(age: int, earlier: int) -> str:
        facts = PolicyFacts(
            **{**base, "target_order_age_days": age, "prior_refund_count_100d": earlier}
        )
        return failure(facts, contract) or "PASS"

    return [
        {"earlier returns": n, **{f"day {age}": verdict(age, n) for age in ages}} for n in returns
    ]
