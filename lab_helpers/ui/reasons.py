""" "Why was this decided so?" in one sentence, from the graph's rows alone. No model is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab_helpers.agents.shown import counted
from lab_helpers.ui.words import DECISIONS, failure, order_name

_WHY = {
    "MISSING_ORDER_ID": "the message named no order",
    "ORDER_NOT_FOUND_OR_UNAUTHORIZED": "customer {customer} has no order {order}",
    "ALREADY_RETURNED": "{order} had already been returned",
    "ORDER_NOT_DELIVERED": "{order} had not been delivered",
    "RETURN_WINDOW_EXPIRED": (
        "{order} was delivered {age} ago and the return window is {window} (term {term})"
    ),
    "MAX_REFUNDS_EXCEEDED": (
        "customer {customer} already had {returned} in 100 days and the limit is {limit}"
        " (term {term})"
    ),
    "STORE_UNAVAILABLE": "{order} could not be checked, and unknown means refuse",
}

# (decision, verdict) to the sentence; the first pattern that fits, "*" fits all.
_SENTENCES = (
    (
        ("APPROVED", "PASS"),
        "Approved, because {order} was delivered {age} ago (window {window}) and customer"
        " {customer} had {returned} in 100 days (limit {limit}, term {term}).",
    ),
    (("APPROVED", "*"), "Approved with no PASS behind it. This must never happen."),
    (("DENIED", "*"), "Denied, because {why}."),
    (
        ("PENDING_CONFIRMATION", "PASS"),
        "Not decided yet: {order} passes every rule, and nothing is refunded before the customer"
        " confirms.",
    ),
    (
        ("PENDING_CONFIRMATION", "INFO"),
        "Nothing to decide: the customer said no, and nothing was refunded.",
    ),
    (("PENDING_CONFIRMATION", "FAIL"), "Not decided, and as it stands a refusal: {why}."),
    (("RELEASED", "PASS"), "Released and locked: the auditor said true about draft {draft}."),
    (("RELEASED", "*"), "Released with no PASS behind it. This must never happen."),
    (("RETURNED", "*"), "Not released: draft {draft} went back to the handler ({why})."),
    (("HELD", "*"), "Not released: draft {draft} is held for a person ({why})."),
    (("ANSWERED", "PASS"), "Answered from rows of the store."),
    (("ANSWERED", "INFO"), "Nothing to decide: it was conversation."),
    (("NOT_ANSWERED", "*"), "Not answered, because {why}."),
    (("ORDER_LIST", "*"), "Nothing to decide: the customer asked for their orders."),
    (("ORDER_INFO", "*"), "Nothing to decide: the customer asked about {order}."),
    (("POLICY_INFO", "*"), "Nothing to decide: the customer asked what the policy is."),
)


def sentence(session: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> str:
    """One sentence for one turn. `session` is any of its rows, `verdict` the row that has the
    evaluation and the action, or None where there is none."""
    if verdict is None:
        return "Not decided: no policy evaluation is on record for this turn."
    if verdict["decision_status"] is None:
        return f"Evaluated as {verdict['evaluation_result']}, but no action is on record."
    key = (verdict["decision_status"], verdict["evaluation_result"])
    if key == ("PENDING_CONFIRMATION", "FAIL") and verdict["failure_code"] == "MISSING_ORDER_ID":
        return "Not decided: the message named no order, so the agent asked which one."
    for pattern, text in _SENTENCES:
        if all(want in ("*", have) for want, have in zip(pattern, key, strict=True)):
            return text.format(**_facts(session, verdict))
    reason = verdict["rejection_reason"]
    return f"{DECISIONS.get(key[0], key[0])}, verdict {key[1]}{f': {reason}' if reason else '.'}"


def _facts(session: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "order": order_name(session["order_id"]),
        "customer": session["customer_id"],
        "age": counted(verdict["observed_order_age_days"], "day"),
        "window": counted(verdict["return_window_days"], "day"),
        "returned": counted(verdict["observed_refunds_100d"], "returned item"),
        "limit": verdict["max_refunds_100d"],
        "term": verdict["catalog_term_id"],
        "draft": _draft(verdict),
    }
    code, reason = verdict["failure_code"], verdict["rejection_reason"]
    if code in _WHY:
        facts["why"] = _WHY[code].format(**facts)
    else:
        facts["why"] = (reason or failure(code) or "no reason is on record").rstrip(".")
    return facts


def _draft(verdict: Mapping[str, Any]) -> int:
    """The number of the draft the gate audited: its column counts the drafts before it."""
    return (verdict["observed_refunds_100d"] or 0) + 1


# Policies that weigh no refund, so their counts are not returned items.
GATE_POLICY, CONCIERGE_POLICY = "GATE-RELEASE-V1", "POL-GROUNDED-ANSWERS"

# Where no order was read, the counts beside the verdict are the policy's baseline, not facts.
_NO_FACTS = {"MISSING_ORDER_ID", "ORDER_NOT_FOUND_OR_UNAUTHORIZED", "STORE_UNAVAILABLE"}


def observed(verdict: Mapping[str, Any]) -> str:
    """What the evaluation saw, beside its limits: "45 days (window 30), 1 returned (limit 10)",
    of the gate "draft 1 of 2", and "" where it saw no facts."""
    if verdict["policy_id"] == GATE_POLICY:
        return f"draft {_draft(verdict)} of {verdict['max_refunds_100d']}"
    if verdict["policy_id"] == CONCIERGE_POLICY:
        return ""
    if verdict["failure_code"] in _NO_FACTS or verdict["evaluation_result"] == "INFO":
        return ""
    parts = []
    if verdict["observed_order_age_days"] is not None:
        age = counted(verdict["observed_order_age_days"], "day")
        parts.append(f"{age} (window {verdict['return_window_days']})")
    limit = verdict["max_refunds_100d"]
    parts.append(f"{verdict['observed_refunds_100d']} returned (limit {limit})")
    return ", ".join(parts)
