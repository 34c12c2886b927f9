"""One attempt, a deadline for the whole call, and never an exception: through the real client."""

import asyncio
import time

import pytest

from lab_helpers.agents.model import Model
from lab_helpers.config import LabConfig


def model(gemini, timeout_ms=600):
    return Model(LabConfig(model_endpoint=gemini.url, model_timeout_ms=timeout_ms))


def ask(m):
    return asyncio.run(m.text("system", "prompt", max_tokens=10))


def test_a_good_answer_is_passed_on(gemini):
    assert ask(model(gemini, 4000)).text == "Hello."
    sent = gemini.requests[0]["generationConfig"]
    assert sent["maxOutputTokens"] == 10
    assert sent["thinkingConfig"]["thinking_level"] == "MINIMAL"


@pytest.mark.parametrize(
    "behave", ["429", "503", "hang", "trickle", "drop", "html", "safety", "empty"]
)
def test_every_failure_is_one_attempt_within_the_deadline(gemini, behave):
    m = model(gemini, 4000)
    ask(m)
    gemini.requests.clear()
    gemini.behave = behave
    m._config = LabConfig(model_endpoint=gemini.url, model_timeout_ms=600)
    since = time.perf_counter()
    reply = ask(m)
    assert reply.text is None and reply.failure
    assert time.perf_counter() - since < 3  # 0.6 s, and room for a busy machine
    assert len(gemini.requests) == 1


def test_a_refused_connection_is_no_exception():
    reply = ask(Model(LabConfig(model_endpoint="http://127.0.0.1:9", model_timeout_ms=2000)))
    assert reply.text is None and reply.failure


def test_a_model_without_minimal_thinking_is_asked_with_low(gemini):
    gemini.behave = "no_minimal"
    m = model(gemini, 4000)
    assert ask(m).text == "Hello."
    assert ask(m).text == "Hello."
    levels = [r["generationConfig"]["thinkingConfig"]["thinking_level"] for r in gemini.requests]
    assert levels == ["MINIMAL", "LOW", "LOW"]


def test_without_a_project_nothing_is_called():
    reply = ask(Model(LabConfig()))
    assert (reply.text, reply.failure) == (None, "no model in this lab")
