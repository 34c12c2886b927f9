"""The one place that calls Gemini: one attempt, a deadline for the whole call, no exception out.

A transport timeout is per read and its errors are not all `APIError`, so the call runs under a
deadline of its own and *any* failure becomes an empty reply that says why. Callers then use
their deterministic path.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from lab_helpers.config import LabConfig


@dataclass(frozen=True)
class ModelReply:
    """`text` is None whenever there is nothing to use; `failure` then says why."""

    text: str | None
    failure: str | None = None


class Model:
    """Gemini through google-genai, or nothing at all where the lab has no project."""

    def __init__(self, config: LabConfig) -> None:
        self._config, self._client, self._level = config, None, "MINIMAL"

    @property
    def available(self) -> bool:
        return self._config.uses_model

    async def text(
        self, system: str, prompt: str, *, max_tokens: int, json: bool = False
    ) -> ModelReply:
        """One call, bounded by the configured milliseconds in all. Never raises."""
        if not self.available:
            return ModelReply(None, "no model in this lab")
        try:
            async with asyncio.timeout(self._config.model_timeout_ms / 1000):
                return await self._call(system, prompt, max_tokens, json)
        except TimeoutError:
            return ModelReply(None, f"no answer within {self._config.model_timeout_ms} ms")
        except Exception as error:
            return ModelReply(None, f"{type(error).__name__}: {str(error)[:160]}")

    async def _call(self, system: str, prompt: str, max_tokens: int, json: bool) -> ModelReply:
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
                response_mime_type="application/json" if json else None,
            )

        async def once() -> Any:
            return await client.aio.models.generate_content(
                model=self._config.model, contents=prompt, config=settings()
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

    def _connect(self) -> Any:
        if self._client is None:
            from google import genai
            from google.genai import types

            options = types.HttpOptions(
                timeout=self._config.model_timeout_ms,
                retry_options=types.HttpRetryOptions(attempts=1),
                base_url=self._config.model_endpoint,
            )
            if self._config.model_endpoint:
                # An endpoint of one's own (a proxy, a test server) takes any key.
                self._client = genai.Client(api_key="local", http_options=options)
            else:
                self._client = genai.Client(
                    vertexai=True,
                    project=self._config.project,
                    location=self._config.model_location,
                    http_options=options,
                )
        return self._client
