"""A proxy before BigQuery's REST API that lets everything through but the inserts it is told of.

Each fault is a rule: given one insertAll request, what to answer instead, or None to let it pass.
Attempts are counted per table, because a turn writes four.
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_INSERT = re.compile(r"/tables/(\w+)/insertAll")
_ALWAYS = sys.maxsize
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "date"}


@dataclass(frozen=True)
class Insert:
    """One insertAll request: which table, which attempt at it (from 1), and its rows."""

    table: str
    attempt: int
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class Instead:
    """What happens instead. `keep`: rows that do reach BigQuery first. No status: no answer."""

    status: int | None
    body: dict[str, Any]
    keep: list[dict[str, Any]] | None = None


Rule = Callable[[Insert], Instead | None]


def _refused(times: int, status: int, reason: str) -> Rule:
    body = {
        "error": {
            "code": status,
            "message": f"{reason} (a fault of lab.faults)",
            "errors": [{"reason": reason, "message": reason}],
        }
    }

    def rule(insert: Insert) -> Instead | None:
        return Instead(status, body) if insert.attempt <= times else None

    return rule


def _answer_lost(times: int) -> Rule:
    def rule(insert: Insert) -> Instead | None:
        return Instead(None, {}, insert.rows) if insert.attempt <= times else None

    return rule


def _one_row(times: int, others: str) -> Rule:
    """The middle row of the five steps is refused. `others` says what becomes of the rest:

    "stored", as where the service itself failed on one row, or "stopped", as BigQuery does when a
    row is invalid. (The local BigQuery answers a bad row with 400; the cloud's answers this.)
    """

    def rule(insert: Insert) -> Instead | None:
        if len(insert.rows) < 5 or insert.attempt > times:
            return None
        bad = len(insert.rows) // 2
        reasons = {bad: "backendError" if others == "stored" else "invalid"}
        if others == "stopped":
            reasons |= {n: "stopped" for n in range(len(insert.rows)) if n != bad}
        errors = [{"index": n, "errors": [{"reason": why}]} for n, why in sorted(reasons.items())]
        keep = [row for n, row in enumerate(insert.rows) if n != bad and others == "stored"]
        return Instead(200, {"kind": "x", "insertErrors": errors}, keep or None)

    return rule


# name: (what it does, rule)
FAULTS: dict[str, tuple[str, Rule]] = {
    "fails once": ("every table refuses its first insert", _refused(1, 503, "backendError")),
    "fails twice": ("every table refuses two inserts", _refused(2, 503, "backendError")),
    "fails always": ("no insert is taken", _refused(_ALWAYS, 503, "backendError")),
    "answer lost": ("the first insert is taken, its answer never comes", _answer_lost(1)),
    "answers lost": ("inserts are taken, no answer ever comes", _answer_lost(_ALWAYS)),
    "one row of five": ("one row of five is refused, once", _one_row(1, "stored")),
    "one bad row": ("one row of five stops all five, always", _one_row(_ALWAYS, "stopped")),
    "quota": ("403, the quota is used up", _refused(_ALWAYS, 403, "quotaExceeded")),
    "too fast": ("429, too many requests", _refused(_ALWAYS, 429, "rateLimitExceeded")),
    "down": ("no connection is held", lambda insert: Instead(None, {})),
}


class BigQueryProxy:
    """One fault before the BigQuery at `upstream`. `attempts` counts inserts per table."""

    def __init__(self, upstream: str, fault: str) -> None:
        self._upstream, self._rule = urlsplit(upstream), FAULTS[fault][1]
        self._down = fault == "down"
        self._guard = threading.Lock()
        self.attempts: collections.Counter[str] = collections.Counter()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _instead(self, path: str, body: bytes) -> Instead | None:
        if self._down:
            return Instead(None, {})
        found = _INSERT.search(path)
        if not found:
            return None
        table = found.group(1)
        with self._guard:
            self.attempts[table] += 1
            attempt = self.attempts[table]
        return self._rule(Insert(table, attempt, json.loads(body)["rows"]))

    def _forward(self, method: str, path: str, headers: Any, body: bytes) -> Any:
        kept = {k: v for k, v in headers.items() if k.lower() not in _HOP_BY_HOP}
        upstream = http.client.HTTPConnection(self._upstream.netloc, timeout=60)
        upstream.request(method, path, body=body or None, headers=kept)
        answer = upstream.getresponse()
        with contextlib.closing(upstream):
            return answer.status, answer.headers.items(), answer.read()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None: ...

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                try:
                    self._answer(*self._outcome(body))
                except OSError:
                    # The client gave up, or there is nobody behind: a broken connection either way.
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass

            def _outcome(self, body: bytes) -> Any:
                instead = proxy._instead(self.path, body)
                if instead is None:
                    return proxy._forward(self.command, self.path, self.headers, body)
                if instead.keep:
                    some = json.dumps({**json.loads(body), "rows": instead.keep}).encode()
                    proxy._forward(self.command, self.path, self.headers, some)
                if instead.status is None:
                    raise ConnectionAbortedError
                kind = [("content-type", "application/json")]
                return instead.status, kind, json.dumps(instead.body).encode()

            def _answer(self, status: int, headers: Any, body: bytes) -> None:
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in _HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


@contextlib.contextmanager
def running(upstream: str, fault: str) -> Iterator[BigQueryProxy]:
    """The proxy for as long as the block lasts."""
    proxy = BigQueryProxy(upstream, fault)
    try:
        yield proxy
    finally:
        proxy.close()
