"""The refund panel on a real lab, driven without a browser: what its buttons do and never do."""

import asyncio
import re
import threading

import pytest

from lab_helpers.errors import LabError
from lab_helpers.ui.panel import RefundPanel
from tests.ui import seen

ASK = "Please refund my order ORD-90124."


@pytest.fixture
def panel(lab):
    return lab.panel()


def refunded(lab) -> list[int]:
    return [row["order_id"] for row in lab.operations.refunds()]


def offers_confirm(panel) -> bool:
    return "Confirm" in seen.controls(panel)


def row(panel, order_id: int) -> str:
    return next(x for x in seen.html(panel).splitlines() if f"<b>ORD-{order_id}</b>" in x)


def first_order(panel) -> str:
    return next(name for name in seen.controls(panel) if name.startswith("Refund "))


async def test_a_refund_is_asked_for_and_confirmed_with_two_buttons(lab, panel):
    assert not offers_confirm(panel)
    seen.button(panel, "Refund ORD-90124").click()
    await panel.task
    assert offers_confirm(panel)
    assert "Refund ORD-90124 for $84.50?" in seen.html(panel)
    assert refunded(lab) == []
    panel.confirm_button.click()
    await panel.task
    assert not offers_confirm(panel)
    assert refunded(lab) == [90124]
    assert panel.last.decision_status == "APPROVED"
    assert panel.last.trace_id in seen.html(panel)
    assert row(panel, 90124).count("Returned") == 1
    assert panel.status == "Ready."


async def test_the_code_twins_do_what_the_buttons_do(lab, panel):
    asked = await panel.say(ASK)
    done = await panel.confirm()
    assert (asked.decision_status, done.decision_status) == ("PENDING_CONFIRMATION", "APPROVED")
    assert panel.transcript().splitlines() == [
        f"Customer A: {ASK}",
        f"Refund agent (template): {asked.reply}",
        "  PASS → PENDING_CONFIRMATION",
        "Customer A: Yes, refund ORD-90124.",
        f"Refund agent (template): {done.reply.replace(done.trace_id, 'TRC-…')}",
        "  PASS → APPROVED",
    ]


async def test_declining_changes_nothing(lab, panel):
    await panel.say(ASK)
    panel.decline_button.click()
    result = await panel.task
    assert result.resolution_mode == "cancelled"
    assert refunded(lab) == []
    assert not offers_confirm(panel)
    assert "Declined by the customer" in seen.html(panel)


async def test_a_refusal_can_be_put_on_record(lab, panel):
    await panel.say("Please refund my order ORD-90131.")
    assert "ORD-90131 cannot be refunded: the return window is over" in seen.html(panel)
    result = await panel.confirm()
    assert (result.decision_status, result.failure_code) == ("DENIED", "RETURN_WINDOW_EXPIRED")
    assert "the return window is over" in seen.html(panel)
    assert refunded(lab) == []


async def test_a_double_click_pays_once(lab, panel):
    await panel.say(ASK)
    panel.confirm_button.click()
    first = panel.task
    panel.confirm_button.click()
    assert panel.task is first
    assert "nothing was sent twice" in panel.status
    await first
    panel.confirm_button.click()
    assert await panel.task is None
    assert panel.transcript().count("Customer A: Yes") == 1
    assert lab.operations.refund_trace(90124) == {panel.last.trace_id}


async def test_a_second_message_waits_until_the_first_is_answered(panel):
    turn = panel.say(ASK)
    assert panel.send.disabled
    panel.box.value = "And ORD-90131?"
    panel.send.click()
    assert panel.task is turn
    await turn
    assert panel.box.value == "And ORD-90131?"
    assert panel.transcript().count("Customer A:") == 1
    assert not panel.send.disabled


async def test_enter_sends_and_leaving_the_box_does_not(panel):
    panel.box.value = ASK
    assert panel.task is None
    panel.box._handle_custom_msg({"event": "submit"}, [])
    assert (await panel.task).order_id == 90124
    assert panel.box.value == ""


async def test_letters_that_arrive_after_enter_are_sent_too(panel):
    panel.box.value = "Please refund my or"
    panel.box._handle_custom_msg({"event": "submit"}, [])
    for text in ("Please refund my order ORD-9", ASK):
        await asyncio.sleep(0.05)
        panel.box.value = text
    assert (await panel.task).order_id == 90124
    assert panel.transcript().splitlines()[0] == f"Customer A: {ASK}"


@pytest.mark.parametrize("text", ["", "   ", "\n"])
async def test_nothing_said_is_not_sent(panel, text):
    assert await panel.say(text) is None
    assert panel.status == "Type a message first, or press the button of an order."
    assert panel.last is None


async def test_nothing_pending_cannot_be_confirmed_or_declined(panel):
    for press in (panel.confirm, panel.decline):
        assert await press() is None
        assert panel.status == "Nothing waits for confirmation. Ask for a refund first."


async def test_switching_the_persona_drops_what_was_pending(lab, panel):
    await panel.say(ASK)
    panel.persona.value = "B"
    assert not offers_confirm(panel)
    assert panel.last is None
    assert first_order(panel) == "Refund ORD-90477"
    assert panel.transcript() == "Customer B has not said anything yet."
    assert await panel.confirm() is None
    panel.persona.value = "A"
    typed = await panel.say("yes")
    assert typed.decision_status == "PENDING_CONFIRMATION"
    assert typed.order_id is None
    assert refunded(lab) == []


async def test_switching_shows_what_the_store_holds_by_then(lab, panel):
    other = lab.panel("C")
    await other.say("Please refund my order ORD-90910.")
    await other.confirm()
    panel.persona.value = "C"
    await panel.refresh()
    assert row(panel, 90910).count("Returned") == 1


async def test_a_click_right_after_a_switch_is_heard(panel):
    panel.persona.value = "C"
    seen.button(panel, "Refund ORD-90910").click()
    assert (await panel.task).user_id == 3072


async def test_a_turn_that_ends_after_the_switch_is_not_shown_to_the_next_customer(lab, panel):
    turn = panel.say(ASK)
    await asyncio.sleep(0)
    panel.persona.value = "C"
    result = await turn
    assert result.user_id == 1001
    assert panel.last is None
    assert not offers_confirm(panel)
    assert "90124" not in panel.snapshot()
    assert first_order(panel) == "Refund ORD-90910"


async def test_two_panels_keep_their_questions_apart(lab, panel):
    other = lab.panel()
    await panel.say(ASK)
    typed = await other.say("yes")
    assert typed.order_id is None
    assert (await panel.confirm()).decision_status == "APPROVED"


async def test_reset_puts_the_orders_back_and_starts_the_chat_anew(lab, panel):
    await panel.say(ASK)
    await panel.confirm()
    panel.reset.click()
    await panel.task
    assert panel.status == "1 order put back; the trail stays."
    assert refunded(lab) == []
    assert panel.last is None
    assert row(panel, 90124).count("Complete") == 1
    # What was shown before the reset can no longer be approved.
    assert (await panel.say("yes")).order_id is None


async def test_reset_puts_every_customers_orders_back(panel):
    await panel.say(ASK)
    await panel.confirm()
    panel.persona.value = "B"
    assert "4 open" in panel.persona.options[0][0]
    await panel.reset_orders()
    assert "5 open" in panel.persona.options[0][0]


async def test_the_switcher_counts_open_orders(panel):
    labels = [label for label, _ in panel.persona.options]
    assert labels == [
        "Customer A, STANDARD, 5 open orders",
        "Customer B, STANDARD, 1 open order",
        "Customer C, VIP, 2 open orders",
    ]
    await panel.say(ASK)
    await panel.confirm()
    assert panel.persona.options[0][0] == "Customer A, STANDARD, 4 open orders"
    assert panel.persona.value == "A"


async def test_buttons_speak_the_conversations_language(panel):
    await panel.say("Quiero devolver mi pedido ORD-90124, por favor.")
    result = await panel.confirm()
    assert (result.language, result.decision_status) == ("es", "APPROVED")
    assert "Customer A: Sí, reembolse ORD-90124." in panel.transcript()


FAILURES = [
    (
        LabError("The store is away.", "It was stopped.", "Run lab.provision()."),
        "The store is away. It was stopped. Run lab.provision().",
    ),
    (
        ValueError("<b>odd</b>"),
        "The panel could not finish: ValueError: <b>odd</b>. The orders below are what the store"
        " holds; try again, or press Reset orders.",
    ),
]


@pytest.mark.parametrize(("error", "status"), FAILURES)
async def test_a_failure_ends_in_the_status_line(lab, panel, monkeypatch, error, status):
    await panel.say(ASK)

    async def stream(*args, **kwargs):
        raise error
        yield

    with monkeypatch.context() as patch:
        patch.setattr(lab.refund, "stream", stream)
        assert await panel.say("Please refund my order ORD-90158.") is None
    assert panel.status == status
    assert "<b>odd" not in seen.html(panel)
    # The agent's side is unknown now, so nothing old may be approved, and the panel goes on.
    assert not offers_confirm(panel)
    assert not panel.send.disabled
    assert (await panel.say(ASK)).order_id == 90124
    assert panel.status == "Ready."


async def test_a_store_that_fails_after_the_turn_is_told(lab, panel, monkeypatch):
    def fail(user_id):
        raise ConnectionError("gone")

    task = panel.say(ASK)
    monkeypatch.setattr(lab.operations, "orders", fail)
    await task
    assert "ConnectionError: gone" in panel.status


async def test_a_trail_that_bigquery_did_not_take_is_told_and_delivered_later(
    lab, panel, monkeypatch
):
    def refuse(*args, **kwargs):
        raise ConnectionError("no route")

    await panel.say(ASK)
    with monkeypatch.context() as patch:
        patch.setattr(lab.trail.client, "insert_rows_json", refuse)
        result = await panel.confirm()
    assert (result.decision_status, result.trail) == ("APPROVED", "outbox")
    assert "lab.reconcile() delivers it" in panel.status
    assert "lab.reconcile()" in repr(lab.lineage(result.trace_id))
    assert lab.reconcile()["pending"] == 0
    assert lab.lineage(result.trace_id).sentence().startswith("Approved, because ORD-90124")


async def test_what_a_customer_types_never_becomes_markup(panel):
    await panel.say("<img src=x onerror=alert(1)> refund")
    for html in (seen.html(panel), panel.snapshot()):
        assert "<img" not in html
        assert "&lt;img src=x" in html


async def test_the_snapshot_is_the_same_at_each_run(lab):
    shown = []
    for _ in range(2):
        lab.reset_orders()
        panel = lab.panel()
        await panel.say(ASK)
        await panel.confirm()
        shown.append(panel._repr_mimebundle_())
    for kind in ("text/plain", "text/html"):
        assert shown[0][kind] == shown[1][kind]
    assert shown[0]["text/plain"] == "RefundPanel: run this cell to talk to the agent"
    html = shown[0]["text/html"]
    assert not re.search(r"TRC-[0-9a-f]|\d ms", html)
    assert "TRC-…" in html
    view = shown[0]["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] != shown[1]["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_without_an_event_loop_a_turn_is_finished_before_it_returns(lab, panel):
    assert panel.say(ASK) is None
    panel.confirm_button.click()
    assert panel.last.decision_status == "APPROVED"
    assert refunded(lab) == [90124]


def test_a_callback_may_come_from_a_thread_with_its_own_loop(lab, panel):
    async def click():
        panel.send.click()
        await panel.task

    panel.box.value = ASK
    thread = threading.Thread(target=lambda: asyncio.run(click()))
    thread.start()
    thread.join(30)
    assert panel.last.order_id == 90124
    assert panel.confirm() is None
    assert refunded(lab) == [90124]


async def test_every_control_has_a_name_of_its_own(panel):
    await panel.say(ASK)
    names = seen.controls(panel)
    assert names[:6] == ["Speak as", "Reset orders", "Confirm", "Decline", "Message", "Send"]
    assert [name.split("-")[0] for name in names[6:]] == ["Refund ORD"] * 6
    assert len(set(names)) == 12


@pytest.mark.parametrize("key", ["D", "", None, 1001])
def test_an_unknown_persona_is_refused(lab, key):
    with pytest.raises(LabError, match="There is no persona"):
        RefundPanel(lab, key)
