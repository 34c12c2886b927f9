"""The one place that calls Gemini: one attempt, a deadline for the whole call, no exception out.

A transport timeout is per read and its errors are not all `APIError`, so the call runs under a
deadline of its own and *any* failure becomes an empty reply that says why. Callers then use
their deterministic path.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lab_helpers.config import LabConfig, is_gemini
from lab_helpers.errors import scrubbed


@dataclass(frozen=True)
class ModelReply:
    """`text` is None whenever there is nothing to use; `failure` then says why."""

    text: str | None
    failure: str | None = None


@dataclass(frozen=True)
class Embedded:
    """`vectors` is None whenever there is nothing to use; `failure` then says why."""

    vectors: list[list[float]] | None
    failure: str | None = None


MINUTE_S = 60.0
JSON, CHOICE = "application/json", "text/x.enum"


class Model:
    """Gemini through google-genai, or nothing at all where the lab has no project."""

    def __init__(self, config: LabConfig) -> None:
        self._config, self._client, self._level = config, None, "MINIMAL"
        self._calls: deque[float] = deque(maxlen=1_000)

    def use(self, config: LabConfig) -> LabConfig:
        """Call what `config` names from now on; returns what was in use before."""
        before, self._config, self._client = self._config, config, None
        return before

    @property
    def name(self) -> str:
        """The lab's model, as LAB_MODEL names it."""
        return self._config.model

    @property
    def speaks(self) -> str:
        """Who a text of this model is by: "gemini", another model's own name, or "stand-in" where
        something plays it."""
        own = "gemini" if is_gemini(self.name) else self.name.split("/")[-1]
        return self._config.model_speaks or own

    @property
    def available(self) -> bool:
        return self._config.uses_model

    @property
    def calls_last_minute(self) -> int:
        """How much of a quota per minute this kernel has just used: calls, answered or not."""
        while self._calls and time.monotonic() - self._calls[0] > MINUTE_S:
            self._calls.popleft()
        return len(self._calls)

    async def text(
        self,
        system: str,
        prompt: str,
        *,
        max_tokens: int,
        json: bool = False,
        choices: Sequence[str] = (),
        model: str | None = None,
    ) -> ModelReply:
        """One call, bounded by the configured milliseconds in all. Never raises.

        With `choices` the answer is one of them; `model` names another model than the lab's.
        """
        kind = CHOICE if choices else JSON if json else None
        schema = {"type": "STRING", "enum": list(choices)} if choices else None

        async def call() -> ModelReply:
            return await self._call(
                model or self._config.model, system, prompt, max_tokens, kind, schema
            )

        return await self._bounded(call)

    async def embed(self, texts: Sequence[str], *, model: str, dimension: int) -> Embedded:
        """One vector a text, of this model and dimension; as bounded as `text`. Never raises."""

        async def call() -> Embedded:
            from google.genai import types

            client = await asyncio.to_thread(self._connect)
            settings = types.EmbedContentConfig(output_dimensionality=dimension)
            answer = await client.aio.models.embed_content(
                model=model, contents=list(texts), config=settings
            )
            vectors = [list(e.values or ()) for e in answer.embeddings or ()]
            if len(vectors) != len(texts) or any(len(v) != dimension for v in vectors):
                return Embedded(None, "the model gave other vectors than were asked for")
            return Embedded(vectors)

        reply = await self._bounded(call)
        return reply if isinstance(reply, Embedded) else Embedded(None, reply.failure)

    async def _bounded(self, call: Callable[[], Awaitable[Any]]) -> Any:
        if not self.available:
            return ModelReply(None, "no model in this lab")
        self._calls.append(time.monotonic())
        try:
            async with asyncio.timeout(self._config.model_timeout_ms / 1000):
                return await call()
        except TimeoutError:
            return ModelReply(None, f"no answer within {self._config.model_timeout_ms} ms")
        except Exception as error:
            return ModelReply(None, f"{type(error).__name__}: {scrubbed(str(error))[:160]}")

    async def _call(
        self, model: str, system: str, prompt: str, max_tokens: int, kind: str | None, schema: Any
    ) -> ModelReply:
        if not self._gemini(model):
            return await self._through_adk(model, system, prompt, max_tokens, kind, schema)
        from google.genai import errors, types

        client = await asyncio.to_thread(self._connect)

        def settings() -> Any:
            return types.GenerateContentConfig(
                system_instruction=system,
                max_output_tokens=max_tokens,
                temperature=0.0,
                thinking_config=types.ThinkingConfig(
                    thinking_level=types.ThinkingLevel[self._level]
                ),
                response_mime_type=kind,
                response_schema=schema,
            )

        async def once() -> Any:
            return await client.aio.models.generate_content(
                model=model, contents=prompt, config=settings()
            )

        try:
            answer = await once()
        except errors.ClientError as error:
            # A model that knows no MINIMAL says so with a 400; LOW is then asked, from now on.
            if (
                error.code != 400
                or self._level != "MINIMAL"
                or "thinking" not in str(error).lower()
            ):
                raise
            self._level = "LOW"
            answer = await once()
        if not answer.text:
            return ModelReply(None, "the model gave no text (blocked or empty)")
        return ModelReply(answer.text)

    def _gemini(self, model: str) -> bool:
        # An endpoint of one's own speaks Gemini's wire, whatever the model is called.
        return self._config.model_endpoint is not None or is_gemini(model)

    async def _through_adk(
        self, model: str, system: str, prompt: str, max_tokens: int, kind: str | None, schema: Any
    ) -> ModelReply:
        """A model that is not Gemini, by the class ADK's registry has for its name."""
        from google.adk.models import LLMRegistry, LlmRequest
        from google.genai import types

        request = LlmRequest(
            model=model,
            contents=[types.Content(role="user", parts=[types.Part(text=prompt)])],
            config=types.GenerateContentConfig(
                system_instruction=system,
                max_output_tokens=max_tokens,
                temperature=0.0,
                response_mime_type=kind,
                response_schema=schema,
            ),
        )
        llm = await asyncio.to_thread(LLMRegistry.new_llm, model)
        said = [
            part.text or ""
            async for answer in llm.generate_content_async(request)
            if not answer.partial
            for part in (answer.content.parts if answer.content else None) or ()
        ]
        if not any(said):
            return ModelReply(None, "the model gave no text (blocked or empty)")
        return ModelReply("".join(said))

    def _connect(self) -> Any:
        if self._client is None:
            from google import genai
            from google.genai import types

            options = types.HttpOptions(
                timeout=self._config.model_timeout_ms,
                retry_options=types.HttpRetryOptions(attempts=1),
                base_url=self._config.model_endpoint,
            )
            self._client = genai.Client(**self._account(), http_options=options)
        return self._client

    def _account(self) -> dict[str, Any]:
        if self._config.model_endpoint:
            # An endpoint of one's own (a proxy, a test server) takes any key.
            return {"api_key": "local"}
        return {
            "vertexai": True,
            "project": self._config.project,
            "location": self._config.model_location,
        }

    def streaming(self) -> Any:
        """The lab's model as ADK's agents take one, under the same deadline.

        Gemini gets one attempt; another model is ADK's own class for it, as the registry makes it.
        """
        from google.adk.models import Gemini, LLMRegistry
        from google.genai import types

        seconds = self._config.model_timeout_ms / 1000
        if not self._gemini(self._config.model):
            made = LLMRegistry.new_llm(self._config.model)
            return _bounded_class(type(made), seconds)(model=made.model)
        return _bounded_class(Gemini, seconds)(
            model=self._config.model,
            client_kwargs=self._account(),
            base_url=self._config.model_endpoint,
            retry_options=types.HttpRetryOptions(attempts=1),
        )


def _bounded_class(kind: Any, seconds: float) -> Any:
    """`kind`, one of ADK's classes of models, with an end to every call."""

    class Bounded(kind):
        async def generate_content_async(
            self, llm_request: Any, stream: bool = False
        ) -> AsyncIterator[Any]:
            async with asyncio.timeout(seconds):
                async for part in super().generate_content_async(llm_request, stream):
                    yield part

    return Bounded
