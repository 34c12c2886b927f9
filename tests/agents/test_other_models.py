"""LAB_MODEL may name any model ADK's registry knows; failures carry no token."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from google.adk.models import BaseLlm, LLMRegistry, LlmResponse
from google.genai import types

from lab_helpers.agents.model import Model
from lab_helpers.config import LabConfig, is_gemini
from lab_helpers.errors import scrubbed


class HouseLlm(BaseLlm):
    """A model of one's own, as a student would register one."""

    asked: ClassVar[list] = []

    @classmethod
    def supported_models(cls):
        return [r"house-.*"]

    async def generate_content_async(self, llm_request, stream=False):
        HouseLlm.asked.append(llm_request)
        if self.model == "house-slow":
            await asyncio.sleep(5)
        if self.model == "house-broken":
            raise RuntimeError(
                "401 with Bearer ya29.a0AfH6SMC and key AIzaSyA1234567890123456789012345"
            )
        text = "" if self.model == "house-silent" else "From the house."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


@pytest.fixture(autouse=True)
def registered():
    LLMRegistry.register(HouseLlm)
    HouseLlm.asked.clear()


def ask(name, timeout_ms=2000):
    config = LabConfig(backend="cloud", model=name, model_timeout_ms=timeout_ms)
    return asyncio.run(Model(config).text("Be kind.", "Hello?", max_tokens=12))


def test_a_registered_model_answers_one_call():
    assert ask("house-1").text == "From the house."
    (request,) = HouseLlm.asked
    assert request.config.system_instruction == "Be kind."
    assert request.config.max_output_tokens == 12


@pytest.mark.parametrize(
    ("config", "who"),
    [
        ({"model": "gemini-3-flash-preview"}, "gemini"),
        ({"model": "publishers/google/models/gemini-3-flash-preview"}, "gemini"),
        ({"model": "house-1"}, "house-1"),
        ({"model": "anthropic/claude-x@1"}, "claude-x@1"),
        ({"model": "gemini-3-flash-preview", "model_speaks": "stand-in"}, "stand-in"),
    ],
)
def test_a_reply_is_labelled_by_the_model_that_wrote_it(config, who):
    assert Model(LabConfig(backend="cloud", **config)).speaks == who


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("house-slow", "no answer within 300 ms"),
        ("house-silent", "no text"),
        ("house-broken", "RuntimeError: 401"),
        ("nobody-knows-this", "not found"),
    ],
)
def test_a_failure_is_a_reason_and_no_exception(name, says):
    reply = ask(name, 300 if name == "house-slow" else 4000)
    assert reply.text is None and says in reply.failure
    assert "ya29" not in reply.failure and "AIza" not in reply.failure


def test_the_agents_of_adk_get_the_same_model():
    assert isinstance(Model(LabConfig(backend="cloud", model="house-1")).streaming(), HouseLlm)


@pytest.mark.parametrize(
    ("name", "gemini"),
    [
        ("gemini-3-flash-preview", True),
        ("projects/p/locations/global/publishers/google/models/gemini-2.5-pro", True),
        ("openai/gpt-4o", False),
        ("claude-sonnet-4", False),
        ("house-1", False),
    ],
)
def test_gemini_is_known_by_its_name(name, gemini):
    assert is_gemini(name) is gemini


def test_what_gemini_refuses_is_told_without_the_token():
    class Refuses(BaseHTTPRequestHandler):
        def do_POST(self):
            message = "the credential Bearer ya29.a0AfH6SMC is not valid"
            body = json.dumps({"error": {"code": 401, "message": message}}).encode()
            self.send_response(401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        config = LabConfig(model_endpoint=f"http://127.0.0.1:{server.server_port}")
        reply = asyncio.run(Model(config).text("s", "p", max_tokens=5))
    finally:
        server.shutdown()
        server.server_close()
    assert reply.text is None and "401" in reply.failure and "ya29" not in reply.failure


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abc.def", "Authorization: Bearer …"),
        ("https://host/v1?key=s3cr3t&alt=json", "https://host/v1?key=…&alt=json"),
        ("token ya29.A0-b_c expired", "token … expired"),
        ("eyJhbGciOi.eyJpc3MiOi.c2ln was refused", "… was refused"),
        ("Bearer ya29.a/b+c was refused", "Bearer … was refused"),
        ("Bearer abc/d+e==, expired", "Bearer … expired"),
        ("?api_key=s3cr3t&alt=json", "?api_key=…&alt=json"),
        ('{"access_token": "abc/def", "n": 1}', '{"access_token": "…", "n": 1}'),
        ("refresh_token: 1//0abc", "refresh_token: …"),
        ("Incorrect API key provided: sk-proj-AbCdEfGhIjKlMnOp", "Incorrect API key provided: …"),
        ("order ORD-90124 was refused", "order ORD-90124 was refused"),
        ("the key: order_id is missing", "the key: order_id is missing"),
    ],
)
def test_what_is_shown_holds_no_secret(text, kept):
    assert scrubbed(text) == kept
