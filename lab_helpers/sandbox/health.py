"""Asking a running sandbox how it is: one GET over a plain socket.

`http.client` alone takes longer to import than the whole question takes to answer, and a notebook
asks it before every lab; the answer is small JSON from our own server.
"""

import json
import socket
from dataclasses import dataclass
from enum import Enum

from lab_helpers.sandbox.home import SandboxState

LOOPBACK = "127.0.0.1"
HEALTH_PATH = "/lab/health"


class Verdict(Enum):
    """How a probe went."""

    OURS = "answers and is this home's sandbox"
    BUSY = "the port accepts a connection but does not answer in time"
    ABSENT = "nothing answers, or something else does"


@dataclass(frozen=True)
class Probe:
    """A verdict, and the sandbox's own report when it is ours."""

    verdict: Verdict
    report: dict[str, object]


def probe(state: SandboxState, timeout_s: float = 2.0) -> Probe:
    """Ask both ports of `state`; OURS only when the token matches and Spanner's port accepts."""
    try:
        report = _get_health(state.bigquery_port, timeout_s)
        socket.create_connection((LOOPBACK, state.spanner_port), timeout_s).close()
    except TimeoutError:
        return Probe(Verdict.BUSY, {})
    except (OSError, ValueError, OverflowError):
        return Probe(Verdict.ABSENT, {})
    ours = bool(state.token) and report.get("token") == state.token
    return Probe(Verdict.OURS, report) if ours else Probe(Verdict.ABSENT, {})


def _get_health(port: int, timeout_s: float) -> dict[str, object]:
    request = f"GET {HEALTH_PATH} HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((LOOPBACK, port), timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(request.encode("ascii"))
        answer = connection.makefile("rb").read(64 * 1024)
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise ValueError("not a healthy sandbox")
    report = json.loads(body)
    if not isinstance(report, dict):
        raise ValueError("not a health report")
    return report
