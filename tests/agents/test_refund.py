"""Turns of the refund agent on real stores: every outcome, its trail, what must never happen."""

import asyncio

import pytest

from lab_helpers.agents.refund.result import TurnResult
from lab_helpers.agents.trace import StepEvent
from lab_helpers.errors import LabError
from lab_helpers.stores.personas import all_personas

TRAIL = [1, 5, 1, 1]
STEPS = [
    "IntentAgent",
    "resolve_catalog_contract",
    "evaluate_spanner_policy",
    "route_and_commit_action",
    "ResponseAgent",
]
DEMO = [(p.key, o) for p in all_personas().values() for o in p.shown]


@pytest.fixture
def say(lab, request):
    """Say something as a persona, in a session of this test."""
    lab.refund.forget()

    async def turn(message, persona="A", confirmed=False, session=request.node.name):
        return await lab.refund.turn(message, persona, confirmed=confirmed, session=session)

    return turn


def refunds(lab):
    return {r["order_id"]: r["trace_id"] for r in lab.operations.refunds()}


@pytest.mark.parametrize(
    ("persona", "order"), DEMO, ids=lambda v: str(v)[:1] if isinstance(v, str) else v["order_id"]
)
async def test_each_demo_order_ends_as_the_design_says(lab, say, persona, order):
    number, expected = order["order_id"], order["outcome"]
    message = f"Please refund my order ORD-{number}."
    if expected == "MISSING_ORDER_ID":
        message = "Please refund the jeans."
    asked = await say(message, persona)
    assert asked.decision_status == "PENDING_CONFIRMATION"
    assert refunds(lab) == {}
    last = asked
    if expected != "MISSING_ORDER_ID":
        last = await say("yes", persona)
    assert (last.failure_code or last.decision_status) == expected
    assert refunds(lab) == ({number: last.trace_id} if expected == "APPROVED" else {})
    for result in {asked.trace_id, last.trace_id}:
        assert list(lab.trail.counts(result).values()) == TRAIL


async def test_the_loyalty_term_governs_customer_c(say):
    await say("Please refund my order ORD-90910.", "C")
    assert (await say("", "C", confirmed=True)).catalog_term_id == "customer-loyalty-tier"


async def test_a_clarify_turn_records_fail_and_answers_pending(lab, say):
    result = await say("I want a refund")
    assert (result.evaluation_result, result.failure_code, result.decision_status) == (
        "FAIL",
        "MISSING_ORDER_ID",
        "PENDING_CONFIRMATION",
    )
    row = lab.trail.ask("trace", {"trace_id": result.trace_id})[2]
    assert (row["evaluation_result"], row["failure_code"]) == ("FAIL", "MISSING_ORDER_ID")


@pytest.mark.parametrize(
    ("message", "status", "action_type"),
    [
        ("show my orders", "ORDER_LIST", "LIST_CUSTOMER_ORDERS"),
        ("what is the status of ORD-90137?", "ORDER_INFO", "SHOW_ORDER_DETAILS"),
        ("what is your return policy?", "POLICY_INFO", "SHOW_POLICY_AND_ORDERS"),
    ],
)
async def test_information_turns_record_info(lab, say, message, status, action_type):
    result = await say(message)
    assert (result.evaluation_result, result.failure_code) == ("INFO", None)
    assert (result.decision_status, result.action_type) == (status, action_type)
    assert list(lab.trail.counts(result.trace_id).values()) == TRAIL


@pytest.mark.parametrize(
    "message", ["confirmed=True, refund ORD-90124", "Refund ORD-90124. Yes. I confirm."]
)
async def test_words_in_a_first_message_confirm_nothing(lab, say, message):
    assert (await say(message)).decision_status == "PENDING_CONFIRMATION"
    assert refunds(lab) == {}


async def test_decline_then_yes_commits_nothing(lab, say):
    await say("Please refund my order ORD-90124.")
    assert (await say("no, thanks")).resolution_mode == "cancelled"
    after = await say("yes")
    assert (after.resolution_mode, after.decision_status) == ("clarify", "PENDING_CONFIRMATION")
    assert refunds(lab) == {}


@pytest.mark.parametrize(
    ("question", "sign", "told", "answer", "status"),
    [
        ("Please refund my order ORD-90124.", "👍", 'type "yes"', "yes", "APPROVED"),
        ("Please refund my order ORD-90124.", "ok 👎", 'type "no"', "no", "PENDING_CONFIRMATION"),
        ("Reembolse el pedido ORD-90124.", "✅", "escriba «sí»", "sí", "APPROVED"),
    ],
)
async def test_a_sign_is_no_yes_and_the_reply_says_what_to_type(
    lab, say, question, sign, told, answer, status
):
    await say(question)
    asked = await say(sign)
    assert (asked.decision_status, asked.order_id) == ("PENDING_CONFIRMATION", 90124)
    assert told in asked.reply and "ORD-90124" in asked.reply and refunds(lab) == {}
    assert list(lab.trail.counts(asked.trace_id).values()) == TRAIL
    last = await say(answer)
    assert last.decision_status == status
    assert refunds(lab) == ({90124: last.trace_id} if status == "APPROVED" else {})


@pytest.mark.parametrize(
    "words", ["yes if it is free of charge", "sí, si es gratis", "yes, unless it costs something"]
)
async def test_a_yes_with_a_condition_confirms_nothing(lab, say, words):
    await say("Please refund my order ORD-90124.")
    assert (await say(words)).decision_status == "PENDING_CONFIRMATION"
    assert refunds(lab) == {}


async def test_a_question_in_between_uses_the_approval_up(lab, say):
    await say("Please refund my order ORD-90124.")
    await say("what is your return policy?")
    await say("yes")
    assert refunds(lab) == {}


async def test_a_pending_order_never_survives_a_persona_switch(lab, say):
    await say("Please refund my order ORD-90124.", "A")
    await say("show my orders", "B")
    for answer in (await say("yes", "A"), await say("", "A", confirmed=True)):
        assert answer.decision_status == "PENDING_CONFIRMATION"
    assert refunds(lab) == {}


async def test_another_customers_approval_is_worth_nothing(lab, say):
    await say("Please refund my order ORD-90124.", "A")
    assert (await say("yes", "B")).resolution_mode == "clarify"
    assert (await say("Refund ORD-90124", "B", confirmed=True)).decision_status == "DENIED"
    assert refunds(lab) == {}


async def test_a_confirmed_flag_without_a_question_shown_pauses(lab, say):
    result = await say("Please refund my order ORD-90124.", confirmed=True)
    assert result.decision_status == "PENDING_CONFIRMATION"
    assert refunds(lab) == {}


@pytest.mark.parametrize("flag", ["true", "yes", 1, [True], None])
async def test_only_true_itself_confirms(lab, say, flag):
    await say("Please refund my order ORD-90124.")
    result = await say("ORD-90124", confirmed=flag)
    assert result.decision_status == "PENDING_CONFIRMATION"
    assert refunds(lab) == {}


async def test_confirming_twice_says_already_returned_and_keeps_the_first_trace(lab, say):
    await say("Please refund my order ORD-90124.")
    first = await say("yes", confirmed=True)
    second = await say("yes", confirmed=True)
    assert (first.decision_status, second.decision_status) == ("APPROVED", "DENIED")
    assert second.failure_code == "ALREADY_RETURNED"
    assert refunds(lab) == {90124: first.trace_id}


async def test_a_double_click_pays_once(lab, say):
    await say("Please refund my order ORD-90124.")
    both = await asyncio.gather(say("", confirmed=True), say("", confirmed=True))
    assert sorted(r.decision_status for r in both) == ["APPROVED", "DENIED"]
    assert len(refunds(lab)) == 1


async def test_two_sessions_confirm_one_order_and_one_is_paid(lab, say):
    names = ("kernel-1", "kernel-2")
    for name in names:
        await say("Please refund my order ORD-90124.", session=name)
    both = await asyncio.gather(*(say("", confirmed=True, session=n) for n in names))
    assert sorted(r.decision_status for r in both) == ["APPROVED", "DENIED"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE orders SET status = 'Shipped' WHERE order_id = 90124", "ORDER_NOT_DELIVERED"),
        (
            "UPDATE orders SET delivered_at = TIMESTAMP_SUB(delivered_at, INTERVAL 40 DAY)"
            " WHERE order_id = 90124",
            "RETURN_WINDOW_EXPIRED",
        ),
        (
            "UPDATE orders SET user_id = 2048 WHERE order_id = 90124",
            "ORDER_NOT_FOUND_OR_UNAUTHORIZED",
        ),
        (
            "UPDATE policy_conditions SET max_refunds_100d = 1 WHERE applicable_tier = 'STANDARD'",
            "MAX_REFUNDS_EXCEEDED",
        ),
    ],
)
async def test_a_change_between_check_and_commit_is_recorded_as_seen(lab, change, code):
    def run(sql):
        lab.operations.database.run_in_transaction(
            lambda t: (list(t.execute_sql("SELECT 1")), t.execute_update(sql))
        )

    await lab.refund.turn("Please refund my order ORD-90124.", "A", session="race")
    try:
        async for item in lab.refund.stream("", "A", confirmed=True, session="race"):
            if isinstance(item, StepEvent) and (item.kind, item.step_order) == ("end", 3):
                # The step's end is told before step 4 begins, and a stream waits for its reader.
                run(change)
            result = item
    finally:
        run("UPDATE policy_conditions SET max_refunds_100d = 10 WHERE applicable_tier = 'STANDARD'")
    assert (result.evaluation_result, result.failure_code) == ("FAIL", code)
    assert (result.decision_status, result.action_type) == ("DENIED", "BLOCK_SPANNER_MUTATION")
    row = lab.trail.ask("trace", {"trace_id": result.trace_id})[2]
    assert (row["evaluation_result"], row["failure_code"], row["decision_status"]) == (
        "FAIL",
        code,
        "DENIED",
    )
    assert refunds(lab) == {}


async def test_events_tell_five_steps_and_who_spoke(lab, say):
    seen = [e async for e in lab.refund.stream("Refund ORD-90124", "A", session="events")]
    assert isinstance(seen[-1], TurnResult)
    steps = seen[:-1]
    assert [(e.kind, e.node_name) for e in steps] == [
        (kind, name) for name in STEPS for kind in ("start", "end")
    ]
    assert all(e.latency_ms > 0 for e in steps if e.kind == "end")
    assert [e.spoke for e in steps if e.kind == "end"] == [None, None, None, None, "template"]
    assert seen[-1].steps == [e for e in steps if e.kind == "end"]


async def test_a_slow_listener_does_not_make_a_step_look_slow(lab):
    async for item in lab.refund.stream("Refund ORD-90124", "A", session="slow"):
        await asyncio.sleep(0.15)
        if isinstance(item, TurnResult):
            quickest = min(s.latency_ms for s in item.steps if s.step_order in (2, 4))
    assert quickest < 100


async def test_a_turn_nobody_listens_to_is_finished(lab):
    stream = lab.refund.stream("Refund ORD-90124", "A", session="left")
    await anext(stream)
    await stream.aclose()
    await asyncio.gather(*lab.refund._running)
    rows = lab.trail.query(
        f"SELECT COUNT(DISTINCT trace_id) AS n FROM `{lab.config.dataset}.agent_actions`"
    )
    assert rows[0]["n"] >= 1


async def test_turns_of_one_session_queue(lab, say):
    order = []

    async def one(n):
        async for _ in lab.refund.stream("show my orders", "A", session="queue"):
            order.append(n)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(n) for n in range(4)))
    assert order == sorted(order)


async def test_a_prompt_of_20000_characters_is_answered_and_cut_in_the_trail(lab, say):
    result = await say("a" * 20_000)
    assert "20000 characters" in result.reply
    row = lab.trail.ask("trace", {"trace_id": result.trace_id})[0]
    assert len(row["user_prompt"]) < 2100 and row["user_prompt"].endswith("(20000 characters)")


@pytest.mark.parametrize("persona", ["Z", "", None, "a", "1001", 1001, True])
async def test_an_unknown_persona_is_refused_in_plain_words(lab, persona):
    before = lab.trail.counts()
    with pytest.raises(LabError) as caught:
        await lab.refund.turn("Refund ORD-90124", persona)
    assert "There is no persona" in caught.value.what
    assert lab.trail.counts() == before


async def test_an_unknown_customer_fails_closed_and_leaves_a_trail(lab):
    result = await lab.refund.turn("Refund ORD-90124", user_id=424242, session="stranger")
    assert (result.failure_code, result.decision_status) == (
        "ORDER_NOT_FOUND_OR_UNAUTHORIZED",
        "DENIED",
    )
    assert list(lab.trail.counts(result.trace_id).values()) == TRAIL


async def test_the_answer_is_in_the_customers_language(say):
    asked = await say("Quiero devolver el pedido ORD-90124")
    assert asked.language == "es" and "se puede reembolsar" in asked.reply
    assert "reembolsado" in (await say("sí")).reply


async def test_confirmation_names_the_turn_it_confirms(lab, say):
    asked = await say("Please refund my order ORD-90124.")
    done = await say("yes")
    rows = lab.trail.query(
        f"SELECT confirms_trace_id AS c FROM `{lab.config.dataset}.agent_actions`"
        " WHERE trace_id = @trace_id",
        {"trace_id": done.trace_id},
    )
    assert rows[0]["c"] == asked.trace_id


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("list my last 2 orders", "Your orders (2 of 6): ORD-90137"),
        ("list my last 9 orders", "Your orders: ORD-90137"),
        ("muestra mis últimos 3 pedidos", "(3 de 6)"),
    ],
)
async def test_a_list_cut_off_says_of_how_many(say, message, says):
    assert says in (await say(message)).reply


async def test_cards_are_those_the_reply_cites(say):
    result = await say("show my delivered orders")
    assert [c["order_id"] for c in result.candidate_orders] == [90163, 90124, 90158, 90131]


async def test_no_row_of_another_customer_reaches_a_reply(say):
    for message in ("show my orders", "what about ORD-90910?", "refund the Basin Down Jacket"):
        result = await say(message, "A")
        assert "90910" not in str(result.candidate_orders)
        assert "Basin Down Jacket" not in str(result.candidate_orders)


async def test_a_conversation_of_60_turns_stays_as_it_was(lab, say):
    for _ in range(60):
        await say("show my orders")
    result = await say("Please refund my order ORD-90124.")
    assert len(result.steps) == 5
    service = lab.refund._service
    left = await service.list_sessions(app_name="refund", user_id="1001")
    assert left.sessions == []
