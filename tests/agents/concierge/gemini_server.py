"""A local HTTP server that speaks Gemini's generate, stream and embed calls. For tests."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Gemini:
    """`answer(body)` gives the text of a reply; `vector(text)` an embedding; None fails the call.

    `calls` keeps (method, body) of every request, `models` whom it asked for.
    """

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], str | None] = lambda body: "Hello."
        self.vector: Callable[[str], list[float] | None] = lambda text: None
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.models: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, method: str, body: dict[str, Any]) -> tuple[str, bytes] | None:
        if "mbed" in method:
            texts = [r["content"]["parts"][0]["text"] for r in body["requests"]]
            vectors = [self.vector(text) for text in texts]
            if None in vectors:
                return None
            return "application/json", _json({"embeddings": [{"values": v} for v in vectors]})
        text = self.answer(body)
        if text is None:
            return None
        if method == "streamGenerateContent":
            pieces = [text[i : i + 9] for i in range(0, len(text), 9)]
            return "text/event-stream", b"".join(
                b"data: " + _reply(p) + b"\r\n\r\n" for p in pieces
            )
        return "application/json", _reply(text)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gemini = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model, method = self.path.split("?")[0].rsplit("/", 1)[-1].rsplit(":", 1)
                gemini.models.append(model)
                gemini.calls.append((method, body))
                made = gemini.reply(method, body)
                kind, data = made or ("application/json", _json({"error": {"code": 503}}))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.send_response(200 if made else 503)
                    self.send_header("content-type", kind)
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

        return Handler


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _reply(text: str) -> bytes:
    content = {"role": "model", "parts": [{"text": text}]}
    return _json({"candidates": [{"content": content, "finishReason": "STOP"}]})


@contextlib.contextmanager
def running() -> Iterator[Gemini]:
    server = Gemini()
    try:
        yield server
    finally:
        server.close()


def asks_for(body: dict[str, Any]) -> str:
    """What a generate call is for: "label", "selection" or "reply"."""
    kind = body.get("generationConfig", {}).get("responseMimeType")
    return {"text/x.enum": "label", "application/json": "selection"}.get(kind, "reply")
