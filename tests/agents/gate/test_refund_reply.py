"""The refund agent's reply passes the gate's door: what the stores do not hold is not said."""

import itertools

import pytest

from lab_helpers.agents.model import Model
from lab_helpers.agents.refund import claims, templates
from lab_helpers.agents.refund.agent import RefundAgent
from lab_helpers.config import LabConfig

CARDS = [
    {
        "order_id": 90124,
        "status": "Complete",
        "product_names": "Harbor Straight Jeans",
        "price": 84.5,
        "age_days": 12,
    },
    {
        "order_id": 90142,
        "status": "Returned",
        "product_names": "Friday 501 Backpack",
        "price": 59.0,
        "age_days": None,
    },
]
KNOWN = {
    "decision_status": "PENDING_CONFIRMATION",
    "order_id": 90124,
    "product_names": "Harbor Straight Jeans",
    "target_order_price": 84.5,
    "target_order_status": "Complete",
    "target_order_age_days": 12,
    "return_window_days": 30,
    "rolling_window_days": 100,
    "prior_refund_count_100d": 1,
    "max_refunds_100d": 10,
    "customer_tier": "STANDARD",
    "policy_id": "POL-REFUND-STD-V1",
    "policy_name": "Tiered Standard and VIP Refund Policy",
    "candidate_orders": CARDS,
    "trace_id": "TRC-000000000001",
}

BACKED = [
    "Shall I refund ORD-90124 for $84.50?",
    "Order ORD-90124 was delivered 12 days ago and the window is 30 days. Shall I go ahead?",
    "If you confirm, I will refund $84.50 for ORD-90124.",
    "ORD-90124 can be refunded. Please confirm.",
    "Nothing has been refunded yet.",
    "The refund has not been made.",
    "ORD-90142 (Friday 501 Backpack) has already been refunded.",
    "You have 1 returned item in the last 100 days; the limit is 10.",
    "The Tiered Standard and VIP Refund Policy gives thirty days.",
    "¿Confirma el reembolso de ORD-90124 por $84.50?",
    "Todavía no se ha reembolsado nada.",
    "1. ORD-90124\n2. ORD-90142",
]

UNBACKED = [
    "Your order ORD-90124 has been refunded.",
    "Nothing changed, your refund has been processed.",
    "I have already issued your refund.",
    "Good news: refunded!",
    "The money is on its way.",
    "Your account was credited.",
    "I will refund you.",
    "You will receive a full refund.",
    "We're going to reimburse you.",
    "Su pedido fue reembolsado.",
    "Se le devolverá el dinero.",
    "El reembolso ha sido procesado.",
    "Shall I refund ORD-90910?",
    "Shall I refund $900 for ORD-90124?",
    "Shall I refund 900 dollars for ORD-90124?",
    "Shall I refund ORD-90124 for USD 85?",
    "It was delivered 13 days ago.",
    "The return window is 60 days.",
    "You have sixty days to return it.",
    "Expect the money within 5-7 business days, if you confirm.",
    "If you confirm, it takes two weeks.",
    "It was delivered on 3 March.",
    "It was delivered on 2026-03-03.",
    "Bring it back by Friday.",
    "It arrived yesterday.",
    "There is a 10% restocking fee.",
    "I can give you store credit instead.",
    "I can make an exception. Shall I?",
    "As a VIP you may return it.",
    "Policy POL-REFUND-VIP-V9 applies.",
    "You may have 25 returned items.",
    "Le puedo ofrecer un descuento.",
    "The policy_eval says yes.",
    "",
    "   ",
]


@pytest.mark.parametrize("text", BACKED)
def test_what_the_facts_hold_may_be_said(text):
    assert claims.unbacked(text, KNOWN) == []
    assert claims.audit(text, KNOWN).released is True


@pytest.mark.parametrize("text", UNBACKED)
def test_what_the_facts_do_not_hold_is_stopped(text):
    verdict = claims.audit(text, KNOWN)
    assert verdict.released is False and verdict.reason


@pytest.mark.parametrize("status", ["APPROVED", "DENIED", "PENDING_CONFIRMATION", "ORDER_INFO"])
def test_only_an_approved_refund_is_called_one(status):
    known = {**KNOWN, "decision_status": status}
    said = "Done: ORD-90124 is refunded, $84.50."
    assert claims.audit(said, known).released is (status == "APPROVED")
    assert claims.audit("ORD-90910 is refunded.", known).released is False


MORE = {
    "resolution_mode": "explicit_id",
    "failure_code": None,
    "rejection_reason": None,
    "order_found": True,
    "unmatched_product": None,
    "status_filter": None,
    "note": None,
    "detail": None,
    "stale_approval": False,
    "store_down": False,
}
FAILURES = [
    "ORDER_NOT_FOUND_OR_UNAUTHORIZED",
    "ORDER_NOT_DELIVERED",
    "RETURN_WINDOW_EXPIRED",
    "MAX_REFUNDS_EXCEEDED",
    "STORE_UNAVAILABLE",
]
TURNS = [
    *({"decision_status": "PENDING_CONFIRMATION", "failure_code": code} for code in FAILURES),
    *({"decision_status": "DENIED", "failure_code": code} for code in (None, *FAILURES)),
    {"decision_status": "APPROVED"},
    {"decision_status": "PENDING_CONFIRMATION"},
    {"decision_status": "PENDING_CONFIRMATION", "stale_approval": True},
    {"decision_status": "PENDING_CONFIRMATION", "resolution_mode": "cancelled"},
    {"decision_status": "PENDING_CONFIRMATION", "order_id": None},
    {"decision_status": "PENDING_CONFIRMATION", "order_id": None, "unmatched_product": "Snowboard"},
    *({"decision_status": status} for status in ("ORDER_INFO", "ORDER_LIST", "POLICY_INFO")),
]


@pytest.mark.parametrize(("turn", "tongue"), list(itertools.product(TURNS, ("en", "es"))))
def test_every_template_would_pass_the_door(turn, tongue):
    """The door is not so narrow that the truth does not fit through."""
    known = {**KNOWN, **MORE, **turn, "language": tongue}
    assert claims.unbacked(templates.reply(known), known) == []


@pytest.fixture
def refund(lab, gemini):
    config = LabConfig(model_endpoint=gemini.url, model_timeout_ms=4000)
    return RefundAgent(config, lab.operations, lab.trail, lab.refund.catalog, Model(config))


@pytest.mark.parametrize(
    ("sentence", "spoke", "note"),
    [
        ("Shall I refund ORD-90124 for $84.50?", "gemini", None),
        ("I have refunded ORD-90124.", "template", "a refund made"),
        ("Shall I refund $900 for ORD-90124?", "template", "the amount 900"),
        ("Shall I? It takes 5 business days.", "template", "the period"),
    ],
)
async def test_a_returned_draft_is_answered_by_the_template_and_the_trail_says_so(
    lab, refund, gemini, sentence, spoke, note
):
    gemini.answer = lambda request: sentence
    result = await refund.turn("Please refund my order ORD-90124.", "A", session=sentence)
    assert result.spoke == spoke
    assert (result.reply == sentence) is (spoke == "gemini")
    last = lab.trail.ask("trace", {"trace_id": result.trace_id})[-1]
    assert (last["node_name"], last["spoke"]) == ("ResponseAgent", spoke)
    if note is None:
        assert last["error"] is None
    else:
        assert last["error"].startswith("draft returned") and note in last["error"]
    assert lab.operations.refunds() == []
