"""Choosing the port a service listens on."""

import socket
import sys
import zlib
from pathlib import Path

from lab_helpers.sandbox.health import LOOPBACK

_FIRST, _PAIRS = 20_000, 6_000


def ports_of(home: Path) -> tuple[int, int]:
    """The two ports a home asks for first: (Spanner, BigQuery).

    Each home has its own, so that a sandbox that comes back finds its ports free and no client of
    one home ever meets the services of another.
    """
    first = _FIRST + 2 * (zlib.crc32(str(home).encode()) % _PAIRS)
    return first, first + 1


def choose_port(preferred: int) -> int:
    """`preferred` when it can be bound on loopback, else a free port."""
    return preferred if 0 < preferred < 65536 and _is_free(preferred) else _free_port()


def _is_free(port: int) -> bool:
    with socket.socket() as candidate:
        if sys.platform != "win32":
            # As the servers do: a port whose old connections are still winding down is free.
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as candidate:
        candidate.bind((LOOPBACK, 0))
        return int(candidate.getsockname()[1])
