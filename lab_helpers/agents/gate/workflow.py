"""The gate's workflow: triage → gardener → gate → ledger. Models only ask; the ledger acts.

Inside the gate, HandlerAgent writes and AuditorAgent reads; neither can release.
"""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk import Context, Workflow
from google.adk.workflow import START
from google.genai import types

from lab_helpers.agents.gate import gardener, shift, triage
from lab_helpers.agents.gate.case import CASE, HELD, RELEASED, Case
from lab_helpers.agents.gate.gate import RELEASE, Gate, said
from lab_helpers.agents.gate.voice import Briefing
from lab_helpers.agents.trace import TRACE, TracedAgent, TracedFunction
from lab_helpers.stores.ledger import LOCK, LedgerStore
from lab_helpers.stores.pool import PoolStore

NAME = "FailClosedGateWorkflow"
TRIAGE, GARDENER, GATE, LEDGER = "triage", "gardener", "gate", "ledger"
HANDLER, AUDITOR = "HandlerAgent", "AuditorAgent"


def build(ledger: LedgerStore, pool: PoolStore, name: str) -> Workflow:
    """The workflow over these stores. `name` is the model's name, for ADK's agents."""
    steps = _Steps(ledger, pool)
    gate = Gate(
        name=GATE,
        ledger=ledger,
        handler=TracedAgent(name=HANDLER, model=name, before_agent_callback=steps.handle),
        auditor=TracedAgent(name=AUDITOR, model=name, before_agent_callback=steps.audit),
    )
    nodes = (
        TracedFunction(func=steps.triage, name=TRIAGE),
        TracedFunction(func=steps.tend, name=GARDENER),
        gate,
        TracedFunction(func=steps.lock, name=LEDGER),
    )
    return Workflow(name=NAME, edges=[(START, *nodes)])


class _Steps:
    """The node functions. Stores come by construction, the case by ContextVar."""

    def __init__(self, ledger: LedgerStore, pool: PoolStore) -> None:
        self._ledger, self._pool = ledger, pool

    async def triage(self, ctx: Context) -> dict[str, Any]:
        """What the message is about."""
        case = CASE.get()
        case.brief = triage.read(case.step.message, shift.load())
        return {"kind": case.brief.kind, "need": sorted(case.brief.need)}

    async def tend(self, ctx: Context) -> dict[str, Any]:
        """Which items stand on the page; what leaves it waits in Spanner."""
        case = CASE.get()
        assert case.brief is not None
        case.tended = await asyncio.to_thread(self._tended, case)
        # A node's output is an event of the conversation: no text and no name of an item goes in.
        return {"items": len(case.tended.page), "words": case.tended.used}

    def _tended(self, case: Case) -> gardener.Tended:
        assert case.brief is not None
        pool = [shift.unpacked(body) for body in self._pool.held(case.run_id).values()]
        tended = gardener.tend(
            case.page,
            pool,
            case.step.brings,
            case.brief.need,
            shift.load().page_words,
            recall=case.recall,
        )
        why = {d.item_id: d.why for d in tended.decisions}
        pooled = {item.item_id for item in pool}
        into = {
            item.item_id: (shift.packed(item), why[item.item_id])
            for item in tended.pool
            if item.item_id not in pooled
        }
        self._pool.move(case.run_id, into, tended.ids(gardener.RECALLED))
        return tended

    async def handle(self, callback_context: Context) -> types.Content:
        """HandlerAgent's text, from whoever plays it."""
        case = CASE.get()
        return await self._spoken(HANDLER, case.handler.who, case.handler.draft(_briefing(case)))

    async def audit(self, callback_context: Context) -> types.Content:
        """AuditorAgent's text, from whoever plays it."""
        case = CASE.get()
        assert case.draft is not None
        review = case.auditor.review(_briefing(case), case.draft)
        return await self._spoken(AUDITOR, case.auditor.who, review)

    async def _spoken(self, agent: str, who: str, speaking: Any) -> types.Content:
        trace = TRACE.get()
        step = trace.steps[-1] if trace else None
        if step and step.node_name == agent:
            step.spoke = who
        reply = await speaking
        if reply.text is None and step:
            step.error = reply.failure
        return said(reply.text)

    async def lock(self, ctx: Context) -> dict[str, Any]:
        """The only step that acts: it locks on one boolean and on nothing else."""
        case = CASE.get()
        if ctx.state.get(RELEASE) is True and case.last is not None:
            await asyncio.to_thread(self._lock, case)
        return {"locked": case.locked is not None}

    def _lock(self, case: Case) -> None:
        last = case.last
        assert last is not None
        last.decision = RELEASED
        draft_id = last.draft.draft_id
        try:
            entry = self._ledger.append(
                LOCK,
                trace_id=case.trace.trace_id,
                draft_id=draft_id,
                released=True,
                body={"step": case.step.name, "reply": last.draft.text},
                trail=case.trail(),
            )
        except Exception as error:
            # An error after a commit was accepted is no failure: the ledger says what it holds.
            entry = self._found(draft_id)
            if entry is None:
                last.decision = HELD
                case.failure = f"the ledger could not lock ({type(error).__name__})"
                return
        case.locked = entry.seq

    def _found(self, draft_id: str) -> Any:
        try:
            return self._ledger.find(LOCK, draft_id)
        except Exception:
            return None


def _briefing(case: Case) -> Briefing:
    assert case.brief is not None and case.tended is not None
    kind = shift.load().kinds[case.brief.kind]
    return Briefing(case.step.message, case.brief, kind, case.tended.page, case.returned)
