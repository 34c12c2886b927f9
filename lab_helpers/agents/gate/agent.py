"""The gate's face: `run`, `stream` and `verify`. A run is the written shift, message by message."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

from google.adk import Runner
from google.adk.apps import App
from google.adk.sessions import InMemorySessionService
from google.genai import types

from lab_helpers.agents.gate import lineage, shift, workflow
from lab_helpers.agents.gate.case import CASE, HELD, Audited, Case
from lab_helpers.agents.gate.gardener import Item
from lab_helpers.agents.gate.gate import MOST_DRAFTS
from lab_helpers.agents.gate.result import DraftResult, GateRun, StepResult
from lab_helpers.agents.gate.shift import Step
from lab_helpers.agents.gate.standin import ScriptedAuditor, StandInAuditor, StandInHandler
from lab_helpers.agents.gate.voice import Auditor, GeminiAuditor, GeminiHandler, Handler
from lab_helpers.agents.model import Model
from lab_helpers.agents.streaming import Tell, told
from lab_helpers.agents.trace import TRACE, StepEvent, Trace, dump, new_id
from lab_helpers.config import LabConfig
from lab_helpers.stores.journal import journal
from lab_helpers.stores.ledger import Chain, Entry, LedgerStore
from lab_helpers.stores.lineage import DeliveryFailed, LineageStore, Rows
from lab_helpers.stores.operations import OperationsStore
from lab_helpers.stores.pool import PoolStore

APP, USER = "gate", "counter"


class GateAgent:
    """Runs the shift through triage, gardener, gate and ledger."""

    def __init__(
        self,
        config: LabConfig,
        operations: OperationsStore,
        trail: LineageStore,
        model: Model | None = None,
    ) -> None:
        self._operations, self._lineage = operations, trail
        self._model = model or Model(config)
        self.ledger, self.pool = LedgerStore(operations.database), PoolStore(operations.database)
        self.workflow = workflow.build(self.ledger, self.pool, config.model)
        self._service = InMemorySessionService()
        self._runner = Runner(
            app=App(name=APP, root_agent=self.workflow), session_service=self._service
        )
        # Rows that neither store took; the next run sends them with its own.
        self._held: Rows = {}
        self._running: set[asyncio.Task[Any]] = set()
        self._journal = journal(config.home)

    async def run(
        self,
        seed: int = 1,
        *,
        recall: bool = True,
        adversarial: bool = False,
        auditor: str | Sequence[str | None] | None = None,
        stand_in: bool = False,
    ) -> GateRun:
        """The shift once: three messages, each with at most two drafts.

        `seed` picks what the stand-in handler forgets. `recall=False` forbids the pool to give
        anything back. `auditor` is a reply of your own to every draft, where `$draft` stands for
        the draft's id; a list of replies brings the first message again and again until each was
        said. `adversarial=True` is the list of every wrong reply in data/shift. With a Gemini
        project the model plays both parts unless `stand_in=True`; an auditor of your own is a
        stand-in always.
        """
        result = None
        async for item in self.stream(
            seed, recall=recall, adversarial=adversarial, auditor=auditor, stand_in=stand_in
        ):
            result = item
        assert isinstance(result, GateRun)
        return result

    async def stream(
        self,
        seed: int = 1,
        *,
        recall: bool = True,
        adversarial: bool = False,
        auditor: str | Sequence[str | None] | None = None,
        stand_in: bool = False,
    ) -> AsyncIterator[StepEvent | GateRun]:
        """The run's step events as they happen, and at the end its GateRun.

        A run once begun is finished, also when nobody listens any more.
        """
        if adversarial:
            auditor = [row["says"] for row in shift.wrong_replies()]
        steps = shift.load().steps
        handler, reviewer = self._voices(seed, stand_in)
        if isinstance(auditor, str):
            reviewer = ScriptedAuditor(auditor)
        elif auditor is not None:
            reviewer, steps = ScriptedAuditor(*auditor), _again(steps[0], len(auditor))

        async def work(tell: Tell) -> GateRun:
            return await self._run(steps, handler, reviewer, recall is True, tell)

        async for item in told(work, self._running):
            yield item

    def verify(self) -> Chain:
        """Check the ledger's chain as Spanner holds it; a broken entry is named."""
        return self.ledger.verify()

    def entries(self, trace_id: str | None = None) -> list[Entry]:
        """The ledger's entries, or those of one message."""
        return self.ledger.entries(trace_id)

    def pooled(self, run_id: str) -> dict[str, Item]:
        """What one run's pool holds in Spanner: item id to item. A restart loses none of it."""
        return {name: shift.unpacked(body) for name, body in self.pool.held(run_id).items()}

    # -- one run --------------------------------------------------------------------------------

    def _voices(self, seed: int, stand_in: bool) -> tuple[Handler, Auditor]:
        if self._model.available and not stand_in:
            return GeminiHandler(self._model), GeminiAuditor(self._model)
        return StandInHandler(seed), StandInAuditor()

    async def _run(
        self,
        steps: Sequence[Step],
        handler: Handler,
        auditor: Auditor,
        recall: bool,
        observe: Tell,
    ) -> GateRun:
        run_id, page = new_id("RUN", 12), ()
        self.ledger.forget()
        conversation = await self._service.create_session(app_name=APP, user_id=USER)
        cases: list[Case] = []
        results: list[StepResult] = []
        try:
            for step in steps:
                seen: list[StepEvent] = []
                case = self._case(run_id, step, page, handler, auditor, recall, seen, observe)
                await self._through_adk(case, conversation.id)
                if case.tended is not None:
                    page = case.tended.page
                cases.append(case)
                results.append(_result(case, seen))
        finally:
            await self._service.delete_session(
                app_name=APP, user_id=USER, session_id=conversation.id
            )
        trail = await asyncio.to_thread(self._flush, cases)
        if trail != "held":
            for case in cases:
                self._journal.done(case.trace.trace_id)
        return GateRun(run_id, tuple(results), trail)

    def _case(
        self,
        run_id: str,
        step: Step,
        page: tuple[Item, ...],
        handler: Handler,
        auditor: Auditor,
        recall: bool,
        seen: list[StepEvent],
        observe: Callable[[StepEvent], None],
    ) -> Case:
        def watch(event: StepEvent) -> None:
            if event.kind == "end":
                seen.append(event)
                with contextlib.suppress(Exception):  # a message comes before its note
                    self._journal.keep(trace.trace_id, case.trail())
            observe(event)

        trace = Trace(new_id("TRC", 12), observe=watch)
        case = Case(run_id, step, trace, handler, auditor, page, recall)
        case.trail = lambda: dump(lineage.rows(case))
        return case

    async def _through_adk(self, case: Case, session_id: str) -> None:
        CASE.set(case)
        TRACE.set(case.trace)
        run = self._runner.run_async(
            user_id=USER,
            session_id=session_id,
            new_message=types.UserContent(case.step.message),
        )
        try:
            async with contextlib.aclosing(run):
                async for _ in run:
                    pass
        except Exception as error:
            # The failing step recorded itself; nothing behind it ran, so nothing was released.
            case.failure = f"a step failed ({type(error).__name__}); nothing was released"

    def _flush(self, cases: Sequence[Case]) -> str:
        """All messages of a run in one delivery; what fails stays in the outbox."""
        rows = _merged([self._held, *(lineage.rows(case) for case in cases)])
        self._held = {}
        try:
            self._lineage.write(rows)
        except DeliveryFailed as failed:
            return self._keep(cases, failed.left)
        released = [c.trace.trace_id for c in cases if c.last and c.last.verdict.released]
        with contextlib.suppress(Exception):
            # Left pending, reconcile finds every row there and only ticks the entry off.
            self._operations.mark_delivered(released)
        return "delivered"

    def _keep(self, cases: Sequence[Case], left: Rows) -> str:
        try:
            for case in cases:
                self._operations.put_outbox(case.trace.trace_id, dump(lineage.rows(case)))
        except Exception:
            self._held = left
            return "held"
        return "outbox"


def _again(step: Step, drafts: int) -> tuple[Step, ...]:
    """One message as often as `drafts` drafts need; its items arrive the first time only."""
    times = -(-drafts // MOST_DRAFTS)
    return (step, *[replace(step, brings=())] * (times - 1))


def _merged(batches: Sequence[Rows]) -> Rows:
    merged: Rows = {}
    for rows in batches:
        for table, batch in rows.items():
            merged.setdefault(table, []).extend(batch)
    return merged


def _result(case: Case, seen: list[StepEvent]) -> StepResult:
    tended = case.tended
    return StepResult(
        name=case.step.name,
        message=case.step.message,
        trace_id=case.trace.trace_id,
        page=tuple(item.item_id for item in tended.page) if tended else (),
        decisions=tended.decisions if tended else (),
        drafts=tuple(_draft(audited) for audited in case.audited),
        locked=case.locked,
        failure=case.failure,
        steps=tuple(seen),
    )


def _draft(audited: Audited) -> DraftResult:
    return DraftResult(
        number=audited.draft.number,
        draft_id=audited.draft.draft_id,
        text=audited.draft.text,
        reply=audited.reply,
        # Released and not locked is held: only the lock makes a release count.
        decision=audited.decision or HELD,
        code=audited.verdict.code,
        reason=audited.verdict.reason,
        missing=audited.verdict.missing,
        handler_spoke=audited.handler_spoke,
        auditor_spoke=audited.auditor_spoke,
    )
