"""The gate: handler → auditor → parse → ledger row, at most two drafts. Shut unless opened.

A BaseAgent, not a prompt: the handler cannot approve its own work, because the road to release is
a branch of code. The auditor's text is taken from its own event of this draft and never from
session state, where the reply to an earlier draft might still stand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from google.adk import Agent, Event
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event_actions import EventActions
from google.genai import types
from pydantic import PrivateAttr

from lab_helpers.agents import verdict as door
from lab_helpers.agents.gate.case import CASE, HELD, RETURNED, Audited, Case
from lab_helpers.agents.trace import TRACE, TracedBaseAgent
from lab_helpers.agents.verdict import Verdict
from lab_helpers.stores.ledger import VERDICT, LedgerStore

MOST_DRAFTS = 2
# `temp:` keys end with the invocation, so no later message can find an old release.
RELEASE = "temp:released"


class Gate(TracedBaseAgent):
    """Runs both agents over one message. Writes a ledger entry for every draft it judged."""

    handler: Agent
    auditor: Agent
    _ledger: LedgerStore = PrivateAttr()

    def __init__(self, *, handler: Agent, auditor: Agent, ledger: LedgerStore, name: str) -> None:
        super().__init__(name=name, handler=handler, auditor=auditor, sub_agents=[handler, auditor])
        self._ledger = ledger

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncIterator[Event]:
        case = CASE.get()
        released = False
        yield self._state(ctx, released)
        while not released and len(case.audited) < MOST_DRAFTS:
            events, audited = await self._one_draft(ctx, case)
            for event in events:
                yield event
            released = await self._recorded(case, audited) is True
            case.returned = audited.verdict
            if audited.verdict.code == door.NO_DRAFT:
                break
        yield self._state(ctx, released)

    async def _one_draft(self, ctx: InvocationContext, case: Case) -> tuple[list[Event], Audited]:
        """Both agents once, and what the door makes of it. Whatever fails, a verdict comes out."""
        written, text, step_id, failed = await self._say(self.handler, ctx)
        case.draft = case.new_draft(text)
        if failed or not text.strip():
            verdict = door.shut(door.NO_DRAFT, failed or "the handler wrote nothing")
            return written, self._audited(case, None, verdict, step_id)
        heard, reply, step_id, failed = await self._say(self.auditor, ctx)
        if failed:
            verdict = door.shut(door.AUDITOR_FAILED, f"the auditor failed ({failed})")
        else:
            verdict = door.parse(reply, case.draft.draft_id)
        return [*written, *heard], self._audited(case, reply, verdict, step_id)

    async def _say(
        self, agent: Agent, ctx: InvocationContext
    ) -> tuple[list[Event], str, str, str | None]:
        """(events, the agent's own text, its step's id, the failure's name or None)."""
        trace = TRACE.get()
        events: list[Event] = []
        assert trace is not None
        step_id, failed = "", None
        try:
            with trace.timed(agent.name) as step:
                step_id = step.node_exec_id
                async for event in agent.run_async(ctx):
                    events.append(event)
        except Exception as error:
            failed = type(error).__name__
        own = "".join(_text(event) for event in events if event.author == agent.name)
        return events, own, step_id, failed

    def _audited(self, case: Case, reply: str | None, verdict: Verdict, step_id: str) -> Audited:
        assert case.draft is not None
        return Audited(case.draft, reply, verdict, case.handler.who, case.auditor.who, step_id)

    async def _recorded(self, case: Case, audited: Audited) -> bool:
        """The draft's row in the ledger. A release that cannot be recorded is none."""
        verdict, draft = audited.verdict, audited.draft
        final = draft.number == MOST_DRAFTS or verdict.code == door.NO_DRAFT
        stopped = HELD if final else RETURNED
        audited.decision = None if verdict.released else stopped
        case.audited.append(audited)
        body = {
            "step": case.step.name,
            "number": draft.number,
            "draft": draft.text,
            "reply": audited.reply,
            "code": verdict.code,
            "reason": verdict.reason,
            "spoke": audited.auditor_spoke,
        }
        try:
            await asyncio.to_thread(
                self._ledger.append,
                VERDICT,
                trace_id=case.trace.trace_id,
                draft_id=draft.draft_id,
                released=verdict.released,
                body=body,
                # A release is on its way to an act, so a crash must not lose its trail.
                trail=case.trail() if verdict.released else None,
            )
        except Exception as error:
            if verdict.released:
                reason = f"the ledger took no entry ({type(error).__name__})"
                audited.verdict = door.shut(door.LEDGER_FAILED, reason)
                audited.decision = stopped
        return audited.verdict.released

    def _state(self, ctx: InvocationContext, released: bool) -> Event:
        # Only an event's state_delta is the session's; an assignment to session.state is lost.
        return Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            branch=ctx.branch,
            actions=EventActions(state_delta={RELEASE: released}),
        )


def _text(event: Event) -> str:
    parts = event.content.parts if event.content else None
    return "".join(part.text for part in parts or [] if part.text)


def said(text: str | None) -> types.Content:
    """What an agent's callback returns so that no other model is asked, also for silence."""
    return types.Content(role="model", parts=[types.Part(text=text or "")])
