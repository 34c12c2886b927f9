"""What stands before the local BigQuery: who may ask, how much, and how it is."""

import asyncio
import json
import logging
import traceback
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lab_helpers.sandbox.bigquery.inserts import Inserts

log = logging.getLogger("sandbox")

HEALTH_PATH = "/lab/health"
BODY_LIMIT_BYTES = 32 * 1024 * 1024
_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


class Guard:
    """ASGI application around bqemulator's.

    - A request whose Host or Origin is not this machine is refused (403): a web page open in a
      browser could otherwise reach the sandbox by DNS rebinding or a cross-site form.
    - A body over BODY_LIMIT_BYTES is refused (413) as soon as that is known.
    - Requests take turns: bqemulator's handlers, some of them on threads, share one DuckDB
      connection, and on it the rows of one statement can be taken by another.
    - A failure inside bqemulator is told as a 400 with its reason: Google's client repeats a 500
      for ten minutes, and here a second try fails as the first did.
    - `inserts` is asked first, and bqemulator only where it has no answer.
    - GET /lab/health answers the sandbox's own report, whatever else is going on.
    """

    def __init__(
        self, app: ASGIApp, health: Callable[[], dict[str, object]], inserts: Inserts
    ) -> None:
        self._app = app
        self._health = health
        self._inserts = inserts
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not _is_local(headers.get(b"host", ""), headers.get(b"origin")):
            await _refuse(send, 403, "The sandbox answers requests from this machine only.")
        elif _declared_length(headers) > BODY_LIMIT_BYTES:
            await _refuse(send, 413, _TOO_LARGE)
        elif scope["path"] == HEALTH_PATH:
            await _answer(send, 200, self._health())
        else:
            body = await _read(receive)
            if body is None:
                await _refuse(send, 413, _TOO_LARGE)
            else:
                async with self._turn:
                    done = await self._inserts.answer(scope["method"], scope["path"], body)
                    if done is None:
                        await self._forward(scope, _replay(body, receive), send)
                if done is not None:
                    await _answer(send, 200, done)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        failure: list[Message] = []

        async def unless_failed(message: Message) -> None:
            if failure or message.get("status") == 500:
                failure.append(message)
            else:
                await send(message)

        try:
            await self._app(scope, receive, unless_failed)
        except Exception as error:
            if not failure:
                raise
            # Its own last frames only: the framework around it repeats the rest many times over.
            trace = "".join(traceback.format_exception(error, limit=-3, chain=False))
            log.warning("%s %s failed\n%s", scope["method"], scope["path"], trace)
            reason = str(error)
        else:
            reason = b"".join(part.get("body", b"") for part in failure).decode()
        if failure:
            await _refuse(send, 400, f"The local BigQuery failed on this request: {reason}")


async def _read(receive: Receive) -> bytes | None:
    """The whole body; None when it is over the limit."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > BODY_LIMIT_BYTES:
            return None
    return bytes(body)


_TOO_LARGE = (
    f"A request to the sandbox may carry {BODY_LIMIT_BYTES // 2**20} MB. Send the rows in parts."
)
_REASONS = {400: "invalid", 403: "forbidden", 413: "requestTooLarge"}


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the whole body once, then whatever the connection says next."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed


def _is_local(host: str, origin: str | None) -> bool:
    named = [f"//{host}"] if origin is None else [f"//{host}", origin]
    return all(_hostname(url) in _LOOPBACK_NAMES for url in named)


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _declared_length(headers: dict[bytes, str]) -> int:
    length = headers.get(b"content-length", "0")
    return int(length) if length.isdigit() else 0


async def _refuse(send: Send, status: int, message: str) -> None:
    error = {
        "code": status,
        "message": message,
        "errors": [{"reason": _REASONS[status], "message": message, "domain": "global"}],
    }
    await _answer(send, status, {"error": error})


async def _answer(send: Send, status: int, content: dict[str, object]) -> None:
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
