"""The writer lock of a database: first come, first served, and no one sleeps on it.

A client may vanish between two statements while its transaction holds the lock. A holder that has
been idle too long, or whose last statement failed, is therefore set aside: it is ABORTED, which a
client that is still alive answers by running its transaction again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from lab_helpers.sandbox.spanner.errors import aborted

IDLE_S = 1.5  # longer than any pause between two statements of a program that is not stuck
FAILED_S = 0.02  # after an error a client rolls back or goes on at once
WAIT_S = 20.0  # below the 30 s deadline of the client's DML calls
_FIRST_LOOKS_S = 0.03
_OTHERS_LOOK_S = 0.25


class Holder(Protocol):
    """What the lock asks of a transaction."""

    def preempt_if_idle(self, idle_s: float, failed_s: float) -> bool:
        """Aborts the transaction if no call runs in it and it has been idle; True if it did."""
        ...


@dataclass(eq=False)
class _Ticket:
    holder: Holder
    granted: threading.Event = field(default_factory=threading.Event)


class WriterLock:
    def __init__(
        self, *, idle_s: float = IDLE_S, failed_s: float = FAILED_S, wait_s: float = WAIT_S
    ) -> None:
        self._idle_s, self._failed_s, self._wait_s = idle_s, failed_s, wait_s
        self._guard = threading.Lock()
        self._holder: Holder | None = None
        self._queue: deque[_Ticket] = deque()

    def held_by(self, holder: Holder) -> bool:
        return self._holder is holder

    def acquire(self, holder: Holder) -> None:
        """Waits for its turn. Raises ABORTED after `wait_s` seconds; does nothing if it has it."""
        with self._guard:
            if self._holder is holder:
                return
            if self._holder is None and not self._queue:
                self._holder = holder
                return
            ticket = _Ticket(holder)
            self._queue.append(ticket)
        if not self._await(ticket):
            raise aborted(
                "Transaction was aborted: it waited too long for another read-write transaction."
            )

    def release(self, holder: Holder) -> None:
        """Passes the lock on, if this is its holder."""
        with self._guard:
            if self._holder is holder:
                self._pass_on()

    def _pass_on(self) -> None:
        ticket = self._queue.popleft() if self._queue else None
        self._holder = ticket.holder if ticket else None
        if ticket:
            ticket.granted.set()

    def _await(self, ticket: _Ticket) -> bool:
        deadline = time.monotonic() + self._wait_s
        while time.monotonic() < deadline:
            # Only the first in line watches the holder; the others just wait for their turn.
            watched = self._holder_seen_by(ticket)
            if ticket.granted.wait(_FIRST_LOOKS_S if watched else _OTHERS_LOOK_S):
                return True
            if watched:
                watched.preempt_if_idle(self._idle_s, self._failed_s)
        return not self._withdraw(ticket)

    def _holder_seen_by(self, ticket: _Ticket) -> Holder | None:
        with self._guard:
            return self._holder if self._queue and self._queue[0] is ticket else None

    def _withdraw(self, ticket: _Ticket) -> bool:
        """False where the lock came at the very last moment."""
        with self._guard:
            if ticket.granted.is_set():
                return False
            self._queue.remove(ticket)
            return True
