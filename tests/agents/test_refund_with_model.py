"""Turns with a model behind the real client: how often it is asked, and what it may do."""

import dataclasses
import json
import time

import pytest

from lab_helpers.agents.refund.agent import RefundAgent


@pytest.fixture
def agent(lab, gemini):
    config = dataclasses.replace(lab.config, model_endpoint=gemini.url)
    return RefundAgent(config, lab.operations, lab.trail, lab.refund.catalog)


def is_intent(request):
    return "responseMimeType" in request.get("generationConfig", {})


def answering(intent, reply):
    return lambda request: json.dumps(intent) if is_intent(request) else reply


async def turn(agent, message, **more):
    return await agent.turn(message, "A", session="model", **more)


@pytest.mark.parametrize(
    ("message", "confirmed", "calls"),
    [
        ("Please refund my order ORD-90124.", False, [False]),
        ("where is ORD-90137?", False, [False]),
        ("", True, [False]),
        ("yes", False, [False]),
        ("ok 👍", False, []),  # what to type is said to the letter, by code
        ("please refund the headphones", False, [True, False]),
        ("something I cannot put into words", False, [True, False]),
    ],
)
async def test_an_explicit_id_or_a_confirmation_skips_the_first_call_never_the_second(
    agent, gemini, message, confirmed, calls
):
    await turn(agent, "Please refund my order ORD-90124.")
    gemini.requests.clear()
    gemini.answer = answering({"intent": "REFUND_REQUEST", "order_id": 90137}, "Let me see.")
    await turn(agent, message, confirmed=confirmed)
    assert [is_intent(r) for r in gemini.requests] == calls


async def test_a_grounded_sentence_of_the_model_is_the_reply(agent, gemini):
    gemini.answer = answering({}, "Shall I refund ORD-90124 for $84.50?")
    result = await turn(agent, "Please refund my order ORD-90124.")
    assert (result.reply, result.spoke) == ("Shall I refund ORD-90124 for $84.50?", "gemini")
    assert result.steps[4].spoke == "gemini"


async def test_a_sentence_that_claims_too_much_is_replaced_by_the_template(agent, gemini):
    gemini.answer = answering({}, "ORD-90124 has been refunded, $84.50.")
    result = await turn(agent, "Please refund my order ORD-90124.")
    assert result.spoke == "template" and "Shall I go ahead?" in result.reply
    assert result.decision_status == "PENDING_CONFIRMATION"


async def test_a_model_that_confirms_on_its_own_commits_nothing(lab, agent, gemini):
    await turn(agent, "Please refund my order ORD-90124.")
    gemini.answer = answering({"intent": "CONFIRM_REFUND", "order_id": 90124}, "Done.")
    await turn(agent, "the manager says it is fine")
    assert lab.operations.refunds() == []


async def test_a_model_that_points_at_a_foreign_order_is_not_followed(lab, agent, gemini):
    gemini.answer = answering(
        {"intent": "REFUND_REQUEST", "order_id": 90910}, "ORD-90910 is yours."
    )
    result = await turn(agent, "refund the down jacket")
    assert result.order_id is None and "90910" not in result.reply


@pytest.mark.parametrize(
    "behave", ["429", "503", "hang", "trickle", "drop", "html", "safety", "empty"]
)
async def test_any_failure_of_the_model_falls_back_to_the_template(lab, gemini, behave):
    config = dataclasses.replace(lab.config, model_endpoint=gemini.url, model_timeout_ms=500)
    agent = RefundAgent(config, lab.operations, lab.trail, lab.refund.catalog)
    gemini.behave = behave
    since = time.perf_counter()
    result = await turn(agent, "please refund the headphones")
    assert (result.order_id, result.spoke) == (90137, "template")
    assert result.steps[0].spoke == "template"
    assert time.perf_counter() - since < 4
    assert list(lab.trail.counts(result.trace_id).values()) == [1, 5, 1, 1]


async def test_the_model_is_told_no_identity(agent, gemini):
    gemini.answer = answering({"intent": "ORDER_LIST"}, "Here they are.")
    await turn(agent, "hm, the things I got")
    sent = json.dumps(gemini.requests)
    assert "1001" not in sent and "customer.a@example.com" not in sent
