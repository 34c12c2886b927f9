"""A stand-in for Gemini on this machine: speaks generateContent to the real client, well or badly.

It plays a model that fails, or one that misbehaves. What it says is marked "stand-in".
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Answer = Callable[[Body], str]

# How a call can go, in the words of the switchboard.
FAULTS = {
    "ok": "answers as it is told to",
    "429": "the quota is used up",
    "503": "the model is overloaded",
    "hang": "the call is taken and never answered",
    "trickle": "the answer comes a few bytes at a time, longer than anyone waits",
    "drop": "the connection breaks",
    "html": "a web page comes instead of JSON",
    "safety": "the answer was blocked",
    "empty": "there is no answer in the answer",
    "no_minimal": "the model knows no MINIMAL thinking and says so",
}
_TRICKLE_BYTES, _TRICKLE_S, _HANG_S = 40, 0.4, 5.0


class Gemini:
    """`behave` is one of FAULTS and may be changed at any time; `answer` gives a good one's text.

    `requests` keeps what was asked, newest last.
    """

    def __init__(self, behave: str = "ok", answer: Answer | None = None) -> None:
        self.behave = behave
        self.answer: Answer = answer or (lambda request: "Hello.")
        self.requests: list[Body] = []
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving; calls that hang are let go."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gemini = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                gemini.requests.append(body)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    getattr(self, f"_{gemini.behave}")(body)

            def _send(self, status: int, data: bytes, kind: str = "application/json") -> None:
                self._head(status, len(data), kind)
                self.wfile.write(data)

            def _head(self, status: int, length: int, kind: str = "application/json") -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(length))
                self.end_headers()

            def _error(self, status: int, message: str) -> None:
                error = {"error": {"code": status, "message": message, "status": "X"}}
                self._send(status, json.dumps(error).encode())

            def _ok(self, body: Body) -> None:
                self._send(200, _reply(gemini.answer(body)))

            def _429(self, body: Body) -> None:
                self._error(429, "quota")

            def _503(self, body: Body) -> None:
                self._error(503, "overloaded")

            def _no_minimal(self, body: Body) -> None:
                level = body["generationConfig"]["thinkingConfig"]["thinking_level"]
                if level == "MINIMAL":
                    return self._error(400, "Thinking level MINIMAL is not supported")
                return self._ok(body)

            def _hang(self, body: Body) -> None:
                gemini._closing.wait(_HANG_S)

            def _trickle(self, body: Body) -> None:
                data = _reply(gemini.answer(body))
                self._head(200, len(data))
                for i in range(0, len(data), _TRICKLE_BYTES):
                    self.wfile.write(data[i : i + _TRICKLE_BYTES])
                    self.wfile.flush()
                    if gemini._closing.wait(_TRICKLE_S):
                        return

            def _drop(self, body: Body) -> None:
                self.connection.close()

            def _html(self, body: Body) -> None:
                self._send(200, b"<html>gateway</html>", "text/html")

            def _safety(self, body: Body) -> None:
                blocked = {"candidates": [{"finishReason": "SAFETY", "index": 0}]}
                self._send(200, json.dumps(blocked).encode())

            def _empty(self, body: Body) -> None:
                self._send(200, b'{"candidates": []}')

        return Handler


def _reply(text: str) -> bytes:
    content = {"role": "model", "parts": [{"text": text}]}
    return json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode()


@contextlib.contextmanager
def running(behave: str = "ok", answer: Answer | None = None) -> Iterator[Gemini]:
    """A stand-in for as long as the block lasts."""
    server = Gemini(behave, answer)
    try:
        yield server
    finally:
        server.close()
