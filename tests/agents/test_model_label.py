"""A reply is labelled by the model that wrote it, through a real server and the real client."""

import dataclasses

import pytest

from lab_helpers.agents.refund.agent import RefundAgent
from lab_helpers.faults import gemini


@pytest.mark.parametrize(
    ("model", "behave", "label"),
    [
        ("gemini-3-flash-preview", "ok", "gemini"),
        ("house-1", "ok", "house-1"),
        ("house-1", "429", "template"),
    ],
)
async def test_a_reply_names_its_model_and_a_named_order_costs_one_call(lab, model, behave, label):
    with gemini.running(behave) as server:
        server.answer = lambda request: "Shall I refund ORD-90124 for $84.50?"
        config = dataclasses.replace(lab.config, model=model, model_endpoint=server.url)
        agent = RefundAgent(config, lab.operations, lab.trail, lab.refund.catalog)
        result = await agent.turn("Please refund my order ORD-90124.", "A", session="label")
    assert (result.spoke, result.steps[4].spoke, len(server.requests)) == (label, label, 1)
