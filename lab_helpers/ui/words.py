"""Plain words for the names the stores use: statuses, failure codes, steps."""

from __future__ import annotations

# How each verdict and decision is toned: what may go on, what may not, what waits, what informs.
TONES = {
    "PASS": "good",
    "APPROVED": "good",
    "FAIL": "bad",
    "DENIED": "bad",
    "PENDING_CONFIRMATION": "wait",
    "RELEASED": "good",
    "RETURNED": "wait",
    "HELD": "bad",
    "ANSWERED": "info",
    "NOT_ANSWERED": "wait",
    "INFO": "info",
    "ORDER_LIST": "info",
    "ORDER_INFO": "info",
    "POLICY_INFO": "info",
}

DECISIONS = {
    "APPROVED": "Approved",
    "DENIED": "Denied",
    "PENDING_CONFIRMATION": "Waiting for the customer",
    "ORDER_LIST": "Information: orders",
    "ORDER_INFO": "Information: one order",
    "POLICY_INFO": "Information: the policy",
    "RELEASED": "Released and locked",
    "RETURNED": "Returned to the handler",
    "HELD": "Held for a person",
    "ANSWERED": "Answered",
    "NOT_ANSWERED": "Not answered",
}

FAILURES = {
    "MISSING_ORDER_ID": "the message names no order",
    "ORDER_NOT_FOUND_OR_UNAUTHORIZED": "this customer has no such order",
    "ALREADY_RETURNED": "the order was already returned",
    "ORDER_NOT_DELIVERED": "the order has not been delivered",
    "RETURN_WINDOW_EXPIRED": "the return window is over",
    "MAX_REFUNDS_EXCEEDED": "too many returned items in 100 days",
    "NOTHING_FITS": "no row fits the question",
    "STORE_UNAVAILABLE": "the store did not answer, and unknown means refuse",
    "NO_DRAFT": "the handler wrote nothing",
    "NO_REPLY": "the auditor said nothing",
    "NOT_JSON": "the auditor's reply is no JSON",
    "NOT_AN_OBJECT": "the auditor's reply is no JSON object",
    "RELEASED_MISSING": "the auditor's reply does not say whether it is released",
    "RELEASED_NOT_A_BOOLEAN": "the auditor said something else than true or false",
    "OTHER_DRAFT": "the auditor spoke of another draft",
    "RELEASED_BUT_INCOMPLETE": "the auditor released it and named what is missing",
    "RETURNED_BY_AUDITOR": "the auditor sent it back",
    "AUDITOR_FAILED": "the auditor failed",
    "LEDGER_FAILED": "the ledger could not be written",
}

STEPS = {
    "IntentAgent": "reads the message",
    "resolve_catalog_contract": "fetches the governed terms",
    "evaluate_spanner_policy": "asks the policy graph",
    "route_and_commit_action": "decides; only this step can act",
    "ResponseAgent": "writes the reply",
}

# A "no" ends a question: the trail keeps the status of the question, with INFO as its verdict.
_DECLINED = ("PENDING_CONFIRMATION", "INFO")

_GOVERNED = {
    "knowledge-catalog": "terms from Knowledge Catalog",
    "glossary-file": "terms from the glossary file",
}
_SPOKE = {"gemini": "Gemini", "template": "template", "stand-in": "stand-in for a model"}


def spoke(who: str | None) -> str:
    """Who wrote a text, for people: "Gemini", "template", "stand-in for a model", "code"."""
    return _SPOKE.get(who, who) if who else "code"


def decision(status: str, verdict: str) -> tuple[str, str]:
    """A decision in plain words, and its tone."""
    if (status, verdict) == _DECLINED:
        return "Declined by the customer", "info"
    return DECISIONS.get(status, status), TONES.get(status, "")


def failure(code: str | None) -> str:
    """A failure code in plain words; an unknown code stays as it is, None is ""."""
    return FAILURES.get(code, code) if code else ""


def order_name(order_id: object) -> str:
    """ORD-90124, or "no order"."""
    return "no order" if order_id is None else f"ORD-{order_id}"


def governed(source: str) -> str:
    """Where the governed terms of a turn came from."""
    return _GOVERNED.get(source, "no governed terms")
