"""What the panel shows of a conversation: when something waits, how a step reads, what it hides."""

from html import escape

import pytest

from lab_helpers.agents.refund.result import TurnResult
from lab_helpers.agents.trace import StepEvent
from lab_helpers.stores.operations import Order
from lab_helpers.stores.personas import persona
from lab_helpers.ui import chat as view
from lab_helpers.ui.chat import Conversation
from lab_helpers.ui.words import FAILURES, decision

ORDERS = [Order(90124, "Complete", 12, "Harbor Straight Jeans", "Jeans", 1, 84.5)]


def result(**changes) -> TurnResult:
    row = {
        "trace_id": "TRC-0123456789ab",
        "persona": "A",
        "user_id": 1001,
        "order_id": 90124,
        "resolution_mode": "explicit_id",
        "evaluation_result": "PASS",
        "failure_code": None,
        "decision_status": "PENDING_CONFIRMATION",
        "action_type": "AWAIT_CUSTOMER_CONFIRMATION",
        "rejection_reason": None,
        "candidate_orders": [],
        "reply": "Shall I go ahead? Trace TRC-0123456789ab.",
        "language": "en",
        "spoke": "template",
        "catalog_term_id": "rolling-100d-refund-count",
    }
    return TurnResult(**{**row, **changes})


def talk(*results: TurnResult | None) -> Conversation:
    chat = Conversation(persona("A"))
    for answer in results:
        chat.begin("Please refund my order ORD-90124.")
        chat.running = False
        if answer is not None:
            chat.answer(answer)
    return chat


@pytest.mark.parametrize(
    ("chat", "waits"),
    [
        (talk(), False),
        (talk(result()), True),
        (talk(result(evaluation_result="FAIL", failure_code="RETURN_WINDOW_EXPIRED")), True),
        (talk(result(order_id=None, evaluation_result="INFO")), False),
        (talk(result(order_id=None, failure_code="MISSING_ORDER_ID")), False),
        (talk(result(decision_status="APPROVED")), False),
        (talk(result(decision_status="DENIED")), False),
        (talk(result(decision_status="ORDER_INFO")), False),
        (talk(result(), result(decision_status="DENIED")), False),
        (talk(result(), None), False),
    ],
    ids=lambda v: "" if isinstance(v, bool) else view.transcript(v)[-40:],
)
def test_confirm_is_offered_only_for_the_last_turns_own_question(chat, waits):
    assert (chat.pending is not None) is waits
    assert bool(view.question_html(chat, ORDERS)) is waits


def test_nothing_can_be_confirmed_while_a_turn_runs():
    chat = talk(result())
    chat.begin("And the other one?")
    assert chat.pending is None


@pytest.mark.parametrize(
    ("changes", "orders", "question"),
    [
        ({}, ORDERS, "Refund ORD-90124 for $84.50?"),
        ({}, [], "Refund ORD-90124?"),
        (
            {"evaluation_result": "FAIL", "failure_code": "ALREADY_RETURNED"},
            ORDERS,
            "ORD-90124 cannot be refunded: the order was already returned. Put it on record?",
        ),
    ],
)
def test_the_question_says_what_confirm_confirms(changes, orders, question):
    assert question in view.question_html(talk(result(**changes)), orders)


def event(kind: str, **more) -> dict[int, StepEvent]:
    return {1: StepEvent(kind, "IntentAgent", 1, **more)}


@pytest.mark.parametrize(
    ("steps", "running", "shown"),
    [
        ({}, True, ['aria-label="waiting"']),
        ({}, False, ['aria-label="did not run"', ">did not run<"]),
        (event("start"), True, ['aria-label="running"', ">running<"]),
        (event("end", latency_ms=12.4), True, ['aria-label="done"', ">12 ms<"]),
        (event("end", latency_ms=0.3, spoke="gemini"), False, [">Gemini · &lt;1 ms<"]),
        (event("end", latency_ms=1.0, error="Aborted"), False, ['aria-label="failed: Aborted"']),
    ],
)
def test_a_step_shows_its_state(steps, running, shown):
    chat = talk(result())
    chat.steps, chat.running = steps, running
    first = view.steps_html(chat).split("</li>")[0]
    for part in shown:
        assert part in first


def test_before_the_first_message_the_steps_wait():
    assert view.steps_html(talk()).count('aria-label="waiting"') == 5


@pytest.mark.parametrize(
    ("status", "verdict", "words"),
    [
        ("APPROVED", "PASS", ("Approved", "good")),
        ("DENIED", "FAIL", ("Denied", "bad")),
        ("PENDING_CONFIRMATION", "PASS", ("Waiting for the customer", "wait")),
        ("PENDING_CONFIRMATION", "FAIL", ("Waiting for the customer", "wait")),
        ("PENDING_CONFIRMATION", "INFO", ("Declined by the customer", "info")),
        ("ORDER_LIST", "INFO", ("Information: orders", "info")),
        ("SOMETHING_NEW", "PASS", ("SOMETHING_NEW", "")),
    ],
)
def test_a_decision_has_plain_words(status, verdict, words):
    assert decision(status, verdict) == words


@pytest.mark.parametrize("code", FAILURES)
def test_the_badge_gives_the_failure_code_and_its_meaning(code):
    html = view.decision_html(
        talk(result(decision_status="DENIED", evaluation_result="FAIL", failure_code=code))
    )
    assert code in html
    assert escape(FAILURES[code]) in html


def test_ids_and_times_are_live_only():
    chat = talk(result())
    chat.steps = event("end", latency_ms=12.4)
    for draw in (view.log_html, view.decision_html, view.steps_html):
        assert draw(chat, live=True) != draw(chat, live=False)
        assert "0123456789ab" not in draw(chat, live=False)
        assert "12 ms" not in draw(chat, live=False)
    assert view.transcript(chat).splitlines() == [
        "Customer A: Please refund my order ORD-90124.",
        "Refund agent (template): Shall I go ahead? Trace TRC-….",
        "  PASS → PENDING_CONFIRMATION",
    ]


EVIL = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    "html",
    [
        view.log_html(talk(result(reply=EVIL))),
        view.decision_html(talk(result(failure_code=EVIL, action_type=EVIL, trace_id=EVIL))),
        view.question_html(talk(result(failure_code=EVIL)), ORDERS),
        view.order_html(Order(1, EVIL, None, EVIL, "", 1, 1.0)),
    ],
)
def test_what_was_said_or_stored_stays_text(html):
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_two_conversations_never_share_a_session():
    assert talk().session != talk().session
