"""What of a model's reading counts: it may classify and point, never confirm, never reach out."""

import pytest

from lab_helpers.agents.refund import extraction, response
from tests.unit.shop import ORDERS, memory, pending


def checked(answer, prompt="please help", **remembered):
    return extraction.checked(answer, prompt, memory(**remembered), ORDERS)


@pytest.mark.parametrize(
    ("answer", "prompt", "mode", "order_id"),
    [
        ({"intent": "REFUND_REQUEST", "order_id": 90124}, "the blue ones", "inferred", 90124),
        ({"intent": "ORDER_INFO", "order_id": 90137}, "headset?", "order_info", 90137),
        ({"intent": "ORDER_LIST", "status_filter": "Shipped"}, "x", "list_orders", None),
        ({"intent": "POLICY_INFO"}, "x", "policy_info", None),
        ({"intent": "CANCEL_REFUND"}, "x", "cancelled", None),
        (
            {"intent": "REFUND_REQUEST", "order_id": 90124},
            "refund the telescope",
            "clarify",
            None,
        ),
        ({"intent": "REFUND_REQUEST", "unmatched_product": "canoe"}, "my canoe", "clarify", None),
    ],
)
def test_a_reading_within_bounds_counts(answer, prompt, mode, order_id):
    found = checked(answer, prompt)
    assert (found.resolution_mode, found.order_id, found.confirmed) == (mode, order_id, False)


@pytest.mark.parametrize(
    "answer",
    [
        {"intent": "REFUND_REQUEST", "order_id": 90910},
        {"intent": "REFUND_REQUEST", "order_id": "90124"},
        {"intent": "REFUND_REQUEST", "order_id": True},
        {"intent": "REFUND_REQUEST"},
        {"intent": "CONFIRM_REFUND"},
        {"intent": "CONFIRM_REFUND", "order_id": 90124},
        {"intent": "GRANT_VIP"},
        {},
    ],
)
def test_anything_out_of_bounds_is_void(answer):
    assert checked(answer) is None


@pytest.mark.parametrize(
    ("prompt", "confirmed"), [("yes", True), ("the manager confirms", False), ("maybe", False)]
)
def test_a_model_cannot_confirm_for_the_customer(prompt, confirmed):
    found = checked({"intent": "CONFIRM_REFUND"}, prompt, pending=pending())
    assert bool(found and found.confirmed) is confirmed


FACTS = {
    "decision_status": "PENDING_CONFIRMATION",
    "order_id": 90124,
    "target_order_price": 84.5,
    "candidate_orders": [{"order_id": 90163, "price": 79.0}],
}


@pytest.mark.parametrize(
    ("text", "status", "ok"),
    [
        ("Shall I refund ORD-90124 for $84.50?", "PENDING_CONFIRMATION", True),
        ("Your order ORD-90124 has been refunded.", "PENDING_CONFIRMATION", False),
        ("Your order ORD-90124 has been refunded.", "APPROVED", True),
        ("El pedido ORD-90124 está reembolsado.", "DENIED", False),
        ("ORD-90124 cannot be refunded.", "DENIED", True),
        ("Shall I refund ORD-90910?", "PENDING_CONFIRMATION", False),
        ("Shall I refund ORD-90124 for $900?", "PENDING_CONFIRMATION", False),
        ("The policy_eval says yes for ORD-90124.", "PENDING_CONFIRMATION", False),
        ("ORD-90163 costs $79.00.", "PENDING_CONFIRMATION", True),
    ],
)
def test_a_models_sentence_must_be_backed_by_the_facts(text, status, ok):
    assert response.grounded(text, {**FACTS, "decision_status": status}) is ok


@pytest.mark.parametrize(
    ("name", "prompt", "said"),
    [
        ("canoe", "refund my canoe", "canoe"),
        ("canoe", "refund it", None),
        ("decision_status", "what is my decision_status?", None),
        ("ORD-90910 of c@example.com", "ORD-90910 of c@example.com", None),
        ("x" * 70, "refund it", None),
        ({"name": "canoe"}, "where is my canoe?", None),
    ],
)
def test_a_product_is_only_called_what_the_customer_called_it(name, prompt, said):
    found = checked({"intent": "REFUND_REQUEST", "unmatched_product": name}, prompt)
    assert (found and found.unmatched_product) == said


@pytest.mark.parametrize(
    "text",
    [
        "C'est fait : votre commande ORD-90124 a été remboursée.",
        "Erledigt: Ihre Bestellung ORD-90124 wurde erstattet.",
        "Pronto: o pedido ORD-90124 foi reembolsado.",
        "Hecho: su reembolso del pedido ORD-90124 ha sido procesado.",
    ],
)
def test_a_refund_claimed_in_any_language_is_not_said(text):
    assert response.grounded(text, {**FACTS, "decision_status": "DENIED"}) is False
