"""Conversations that outlive the kernel: ADK's SQLite sessions in LAB_HOME.

Several kernels may speak in one session. Every write goes through one lock file and is made on
what is stored: a session held from before is found stale, read again and written again, so
nothing that another kernel said is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import EventActions
from google.adk.events.event import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

APP, AGENT = "concierge", "concierge"
DISPLAYED = 200
_ATTEMPTS = 5
_POLL_S = 0.002

Message = dict[str, str]


@dataclass(frozen=True)
class Identity:
    """What ADK calls a conversation: a user and a session. Orders are this user's, if any's."""

    user_id: str
    session_id: str


def identity(customer: int | None, session: str) -> Identity:
    """The bridge from the panel's identity to ADK's: the same customer and session name meet the
    same conversation, also after a restart."""
    user = "guest" if customer is None else str(customer)
    return Identity(user, f"{session}-{user}")


class Sessions:
    """The durable conversations of one LAB_HOME."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        path = home / "concierge_sessions.db"
        with contextlib.closing(sqlite3.connect(path)) as db:
            # Stays with the file. One flush to disk a write instead of three.
            db.execute("PRAGMA journal_mode=WAL")
        self._service = SqliteSessionService(str(path))
        self._lock_path = str(home / "concierge_sessions.lock")
        self._held: dict[Identity, Session] = {}

    async def keep(
        self, who: Identity, turn: str, question: str, answer: str, state: dict[str, Any]
    ) -> None:
        """Keep a turn as one event: its answer with its question, the state it leaves, and both
        lines in `display_history`. One write, so no turn is ever half there."""

        def event(session: Session) -> Event:
            before = session.state.get("display_history", [])
            shown = [*before, *_lines(question, answer)][-DISPLAYED:]
            return Event(
                author=AGENT,
                invocation_id=turn,
                content=types.Content(role="model", parts=[types.Part(text=answer or " ")]),
                custom_metadata={"question": question},
                actions=EventActions(state_delta={**state, "display_history": shown}),
            )

        await self._append(who, event)

    async def state(self, who: Identity) -> dict[str, Any]:
        """The session's state as it is stored; {} for a conversation not begun."""
        session = await self._read(who, events=0)
        return dict(session.state) if session else {}

    async def history(self, who: Identity) -> list[Message]:
        """What was said, oldest first: from `display_history`, else from the events."""
        shown = (await self.state(who)).get("display_history")
        if shown is not None:
            return list(shown)
        session = await self._read(who, events=None)
        return _from_events(session.events) if session else []

    async def clear(self, who: Identity) -> None:
        """Delete the conversation with its events; nothing else."""
        async with self._locked():
            self._held.pop(who, None)
            await self._service.delete_session(
                app_name=APP, user_id=who.user_id, session_id=who.session_id
            )

    # -- storing --------------------------------------------------------------------------------

    async def _append(self, who: Identity, event: Callable[[Session], Event]) -> None:
        async with self._locked():
            for _ in range(_ATTEMPTS):
                session = self._held.get(who) or await self._open(who)
                made = event(session)
                # Never before what is stored: a stale session is told by its time alone.
                made.timestamp = max(time.time(), session.last_update_time + 1e-6)
                try:
                    await self._service.append_event(session, made)
                except (StaleSessionError, SessionNotFoundError):
                    self._held.pop(who, None)
                    continue
                session.events.clear()  # the file has them; a held session needs its state only
                self._held[who] = session
                return
            raise StaleSessionError(f"session {who.session_id} was written to without its lock")

    async def _open(self, who: Identity) -> Session:
        found = await self._read(who, events=0)
        if found is not None:
            return found
        with contextlib.suppress(AlreadyExistsError):
            return await self._service.create_session(
                app_name=APP, user_id=who.user_id, session_id=who.session_id
            )
        return await self._open(who)

    async def _read(self, who: Identity, events: int | None) -> Session | None:
        return await self._service.get_session(
            app_name=APP,
            user_id=who.user_id,
            session_id=who.session_id,
            config=GetSessionConfig(num_recent_events=events),
        )

    @contextlib.asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        # A lock of its own each time: one object would let the same process in twice.
        lock = FileLock(self._lock_path, thread_local=False)
        while True:
            try:
                lock.acquire(blocking=False)
                break
            except Timeout:
                await asyncio.sleep(_POLL_S)
        try:
            yield
        finally:
            lock.release()


def _lines(question: str, answer: str) -> list[Message]:
    return [{"role": "user", "text": question}, {"role": AGENT, "text": answer}]


def _from_events(events: list[Event]) -> list[Message]:
    lines: list[Message] = []
    for event in events:
        parts = event.content.parts if event.content and event.content.parts else []
        text = "".join(part.text or "" for part in parts).strip()
        lines += _lines((event.custom_metadata or {}).get("question", ""), text)
    return lines
