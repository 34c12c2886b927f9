"""A local HTTP server that speaks Gemini's generateContent, well or badly. For tests."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[dict], str]


class Gemini:
    """`behave` names how the next calls go; `answer` gives the text of a good one."""

    def __init__(self) -> None:
        self.behave = "ok"
        self.answer: Answer = lambda request: "Hello."
        self.requests: list[dict] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
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
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _error(self, status: int, message: str) -> None:
                error = {"error": {"code": status, "message": message, "status": "X"}}
                self._send(status, json.dumps(error).encode())

            def _ok(self, body: dict) -> None:
                self._send(200, _reply(gemini.answer(body)))

            def _429(self, body: dict) -> None:
                self._error(429, "quota")

            def _503(self, body: dict) -> None:
                self._error(503, "overloaded")

            def _no_minimal(self, body: dict) -> None:
                level = body["generationConfig"]["thinkingConfig"]["thinking_level"]
                if level == "MINIMAL":
                    return self._error(400, "Thinking level MINIMAL is not supported")
                return self._ok(body)

            def _hang(self, body: dict) -> None:
                time.sleep(5)

            def _trickle(self, body: dict) -> None:
                data = _reply(gemini.answer(body))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                for i in range(0, len(data), 40):
                    self.wfile.write(data[i : i + 40])
                    self.wfile.flush()
                    time.sleep(0.4)

            def _drop(self, body: dict) -> None:
                self.connection.close()

            def _html(self, body: dict) -> None:
                self._send(200, b"<html>gateway</html>", "text/html")

            def _safety(self, body: dict) -> None:
                blocked = {"candidates": [{"finishReason": "SAFETY", "index": 0}]}
                self._send(200, json.dumps(blocked).encode())

            def _empty(self, body: dict) -> None:
                self._send(200, b'{"candidates": []}')

        return Handler


def _reply(text: str) -> bytes:
    content = {"role": "model", "parts": [{"text": text}]}
    return json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode()


@contextlib.contextmanager
def running() -> Iterator[Gemini]:
    server = Gemini()
    try:
        yield server
    finally:
        server.close()
