"""What one session remembers between turns. It belongs to one identity and is lost with it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

HISTORY = 6
_POLL_S = 0.005


@dataclass(frozen=True)
class Pending:
    """What was shown for confirmation. An approval counts for exactly this and nothing else."""

    user_id: int
    order_id: int
    evaluation_result: str
    failure_code: str | None
    price: float
    trace_id: str


@dataclass
class Conversation:
    """The memory of one session, for one customer."""

    user_id: int
    pending: Pending | None = None
    focused_order: int | None = None
    last_shown: list[int] = field(default_factory=list)
    awaiting_order: bool = False
    last_confirmed: int | None = None
    language: str = "en"
    history: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=HISTORY))


class TurnQueue:
    """Turns of one session run one after the other, in the order they came.

    Tickets instead of an asyncio.Lock, because a widget's callback may run on another event loop
    than a cell, and a lock belongs to one loop.
    """

    def __init__(self) -> None:
        self._guard, self._tickets = threading.Lock(), deque[object]()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        ticket = object()
        with self._guard:
            self._tickets.append(ticket)
        try:
            while self._tickets[0] is not ticket:
                await asyncio.sleep(_POLL_S)
            yield
        finally:
            with self._guard:
                self._tickets.remove(ticket)


class Sessions:
    """Session name to conversation. A new identity starts anew: nothing pending survives it."""

    LIMIT = 500

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}
        self._queues: dict[str, TurnQueue] = {}
        self._guard = threading.Lock()

    def queue(self, session: str) -> TurnQueue:
        with self._guard:
            return self._queues.setdefault(session, TurnQueue())

    def conversation(self, session: str, user_id: int) -> Conversation:
        """The session's conversation with this customer. Call it inside the session's queue."""
        with self._guard:
            held = self._conversations.get(session)
            if held is None or held.user_id != user_id:
                held = Conversation(user_id)
                self._conversations.pop(session, None)
                self._conversations[session] = held
                while len(self._conversations) > self.LIMIT:
                    oldest = next(iter(self._conversations))
                    del self._conversations[oldest]
            return held

    def forget(self) -> None:
        """Drop every conversation: after a reset nothing shown before can be approved."""
        with self._guard:
            self._conversations.clear()
