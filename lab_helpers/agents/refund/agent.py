"""The refund agent's face: `turn` and `stream`.

One session's turns queue, and every turn leaves a trail.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from google.adk import Runner
from google.adk.apps import App
from google.adk.sessions import InMemorySessionService
from google.genai import types

from lab_helpers.agents.model import Model
from lab_helpers.agents.refund import action, language, policy, response, templates, workflow
from lab_helpers.agents.refund import intent as reading
from lab_helpers.agents.refund.conversation import Conversation, Pending, Sessions
from lab_helpers.agents.refund.result import TurnResult, result_of
from lab_helpers.agents.refund.turn import TURN, Turn
from lab_helpers.agents.streaming import Tell, told
from lab_helpers.agents.trace import TRACE, StepEvent, Trace, dump, load, new_id
from lab_helpers.config import LabConfig
from lab_helpers.stores.catalog import KnowledgeCatalog, from_document
from lab_helpers.stores.journal import journal
from lab_helpers.stores.lineage import DeliveryFailed, LineageStore, Rows
from lab_helpers.stores.operations import OperationsStore
from lab_helpers.stores.personas import persona as find_persona

APP = "refund"
# What the trail keeps of a message; longer ones are cut and say so.
PROMPT_KEPT = reading.MAX_PROMPT


class RefundAgent:
    """Runs turns of the refund workflow for the personas of the demo (or any user id)."""

    def __init__(
        self,
        config: LabConfig,
        operations: OperationsStore,
        lineage: LineageStore,
        catalog: KnowledgeCatalog,
        model: Model | None = None,
    ) -> None:
        self._operations, self._lineage, self.catalog = operations, lineage, catalog
        self._model = model or Model(config)
        self._standard_limit = config.refund_limit
        self.workflow = workflow.build(
            operations, catalog, self._model, self._standard_limit, config.model
        )
        self._service = InMemorySessionService()
        self._runner = Runner(
            app=App(name=APP, root_agent=self.workflow), session_service=self._service
        )
        self._sessions = Sessions()
        self._journal = journal(config.home)
        self._running: set[asyncio.Task[Any]] = set()
        self._held: dict[str, Rows] = {}
        # Of those held: turns whose commit nobody could be asked about, with their order.
        self._unknown: dict[str, int] = {}

    async def turn(
        self,
        message: str,
        persona: str | None = None,
        *,
        confirmed: bool = False,
        session: str = "default",
        user_id: int | None = None,
    ) -> TurnResult:
        """One message of one customer, run through the five steps.

        `persona` is the switcher's key; `user_id` takes its place for callers that hold a customer
        id as structured data. `confirmed` is True from the confirm button only. Raises LabError
        for an unknown persona.
        """
        result = None
        async for item in self.stream(
            message, persona, confirmed=confirmed, session=session, user_id=user_id
        ):
            result = item
        assert isinstance(result, TurnResult)
        return result

    async def stream(
        self,
        message: str,
        persona: str | None = None,
        *,
        confirmed: bool = False,
        session: str = "default",
        user_id: int | None = None,
    ) -> AsyncIterator[StepEvent | TurnResult]:
        """The turn's step events as they happen, and at the end its TurnResult.

        A turn once begun is finished, also when nobody listens any more.
        """
        who = _identity(persona, user_id)

        async def work(tell: Tell) -> TurnResult:
            async with self._sessions.queue(session).turn():
                return await self._run(str(message), persona, who, confirmed is True, session, tell)

        async for item in told(work, self._running):
            yield item

    def forget(self) -> None:
        """Forget every conversation: nothing shown before can be approved any more."""
        self._sessions.forget()

    def held(self) -> dict[str, str]:
        """Trails that neither BigQuery nor Spanner took, as outbox payloads by trace id."""
        return {trace_id: dump(rows) for trace_id, rows in self._held.items()}

    def release(self, trace_id: str) -> None:
        self._held.pop(trace_id, None)
        self._unknown.pop(trace_id, None)
        self._journal.done(trace_id)

    # -- one turn -----------------------------------------------------------------------------

    async def _run(
        self,
        message: str,
        persona: str | None,
        user_id: int,
        confirmed: bool,
        session: str,
        observe: Tell,
    ) -> TurnResult:
        memory = self._sessions.conversation(session, user_id)
        seen: list[StepEvent] = []

        def watch(event: StepEvent) -> None:
            if event.kind == "end":
                seen.append(event)
            if event.kind == "end" or event.step_order == 1:
                self._note(turn)
            observe(event)

        turn = Turn(
            prompt=message,
            user_id=user_id,
            memory=memory,
            trace=Trace(new_id("TRC", 12), observe=watch),
            language=language.language(message[:PROMPT_KEPT], memory.language),
            pending=memory.pending,
        )
        TURN.set(turn)
        TRACE.set(turn.trace)
        with turn.at_work:
            await self._through_adk(turn, confirmed)
        _complete(turn, self._standard_limit, "A step failed; nothing was changed.")
        if not turn.reply:
            turn.reply, turn.spoke = templates.reply(response.facts(turn)), "template"
        _remember(memory, turn)
        trail = await asyncio.to_thread(self._flush, turn)
        return result_of(turn, persona, seen, trail)

    async def _through_adk(self, turn: Turn, confirmed: bool) -> None:
        state = {
            "user_prompt": turn.prompt,
            "user_id": turn.user_id,
            "trace_id": turn.trace.trace_id,
            "confirmed": confirmed,
            "require_confirmation": True,
            "pending_order_id": turn.pending.order_id if turn.pending else None,
        }
        # A session a turn: ADK's cost grows with a session's events, the lab's memory is its own.
        adk_user = str(turn.user_id)
        opened = await self._service.create_session(app_name=APP, user_id=adk_user, state=state)
        try:
            run = self._runner.run_async(
                user_id=adk_user,
                session_id=opened.id,
                new_message=types.UserContent(turn.prompt[:PROMPT_KEPT] or " "),
            )
            async with contextlib.aclosing(run):
                async for _ in run:
                    pass
        except Exception:
            # The failing step recorded itself; `_complete` answers for what did not run.
            pass
        finally:
            await self._service.delete_session(app_name=APP, user_id=adk_user, session_id=opened.id)

    def _note(self, turn: Turn) -> None:
        """Keep the trail that this turn leaves should the kernel die at this very moment.

        Whether a refund was taken all the same is not asked of these rows but of the outbox.
        """
        with contextlib.suppress(Exception):  # a turn comes before its note
            now = replace(turn, policy_eval=turn.policy_eval and dict(turn.policy_eval))
            _complete(now, self._standard_limit, "The kernel ended here; nothing was changed.")
            self._journal.keep(turn.trace.trace_id, dump(_rows(now)))

    def _flush(self, turn: Turn) -> str:
        trail = self._deliver(turn, _rows(turn))
        if trail != "held":
            self._journal.done(turn.trace.trace_id)
        return trail

    def _deliver(self, turn: Turn, rows: Rows) -> str:
        trace_id = turn.trace.trace_id
        self._journal.keep(trace_id, dump(rows))
        if turn.unknown:
            # Neither outcome is told before one of them is known to be true.
            self._held[trace_id], self._unknown[trace_id] = rows, turn.intent.order_id
            return "held"
        committed = turn.action is not None and turn.action["decision_status"] == "APPROVED"
        try:
            self._lineage.write(rows)
        except DeliveryFailed as failed:
            return self._keep(trace_id, rows if committed else failed.left)
        if committed:
            with contextlib.suppress(Exception):
                # Left pending, reconcile finds every row there and only ticks the entry off.
                self._operations.mark_delivered([trace_id])
        return "delivered"

    def _keep(self, trace_id: str, rows: Rows) -> str:
        try:
            self._operations.put_outbox(trace_id, dump(rows))
        except Exception:
            self._held[trace_id] = rows
            return "held"
        return "outbox"

    def reconcile(self) -> dict[str, int]:
        """Deliver every trail that is still owed. Returns {"delivered": n, "pending": m}."""
        for trace_id in list(self._held):
            self._operations.put_outbox(trace_id, dump(self._settled(trace_id)))
            self.release(trace_id)
        with self._journal.inherited() as owed:
            for trace_id, payload in owed.items():
                self._operations.add_outbox(trace_id, payload)
        done, left = [], 0
        for trace_id, payload in self._operations.pending_outbox().items():
            try:
                self._lineage.write(self._lineage.missing(load(payload)))
                done.append(trace_id)
            except Exception:
                left += 1
        self._operations.mark_delivered(done)
        return {"delivered": len(done), "pending": left}

    def _settled(self, trace_id: str) -> Rows:
        """The rows of a held turn. Where its commit was unknown, the store says how it ended."""
        rows, order_id = self._held[trace_id], self._unknown.get(trace_id)
        if order_id is None or self._operations.refund_trace(order_id) != {trace_id}:
            return rows
        # It was taken: the verdict and the action are those that the commit itself wrote down.
        written = self._operations.pending_outbox().get(trace_id)
        return {**(load(written) if written else {}), "workflow_nodes": rows["workflow_nodes"]}


def _identity(persona: str | None, user_id: int | None) -> int:
    if persona is None and type(user_id) is int:
        return user_id
    return find_persona(persona).user_id


def _kept(prompt: str) -> str:
    if len(prompt) <= PROMPT_KEPT:
        return prompt
    return f"{prompt[:PROMPT_KEPT]}… ({len(prompt)} characters)"


def _rows(turn: Turn) -> Rows:
    return turn.trace.rows(
        user_id=turn.user_id,
        prompt=_kept(turn.prompt),
        order_id=turn.intent.order_id,
        policy_eval=turn.policy_eval,
        action=turn.action,
        confirms=_confirms(turn),
    )


def _confirms(turn: Turn) -> str | None:
    confirming = turn.intent.resolution_mode in (reading.CONFIRMED, reading.CANCELLED)
    return turn.pending.trace_id if confirming and turn.pending else None


def _complete(turn: Turn, standard_limit: int, why: str) -> None:
    """Fill in what a failed step left open, always on the side of refusal."""
    if turn.intent is None:
        turn.intent = reading.Intent(reading.CLARIFY)
        turn.store_down = True
    named = turn.intent.order_id is not None
    if turn.policy_eval is None:
        # Nothing after the missing verdict counts either.
        turn.store_down, turn.action, turn.reply = True, None, ""
        # A verdict is reached from a step: from its own, or from the last that ran.
        step = turn.trace.step(workflow.STEPS[2]) or next(reversed(turn.trace.steps), None)
        turn.policy_eval = policy.evaluation(
            eval_id=new_id("EVAL"),
            node_exec_id=step.node_exec_id if step else new_id("NODE"),
            result="FAIL",
            failure_code=policy.UNAVAILABLE if named else policy.MISSING_ORDER_ID,
            facts=None,
            contract=turn.contract or from_document(),
            standard_limit=standard_limit,
        )
        kind = action.DENIED if named else action.PENDING
    elif turn.action is None:
        turn.policy_eval.update(evaluation_result="FAIL", failure_code=policy.UNAVAILABLE)
        kind = action.DENIED
    if turn.action is None:
        turn.action = action.outcome(kind, turn.policy_eval["eval_id"], why)


def _remember(memory: Conversation, turn: Turn) -> None:
    """What the next turn may refer to. Only this turn's own question stays pending."""
    intent, evaluation, outcome = turn.intent, turn.policy_eval or {}, turn.action or {}
    # Shown once, approved once: whatever this turn did, the old approval is used up.
    memory.pending = None
    waiting = outcome["decision_status"] == "PENDING_CONFIRMATION"
    if waiting and intent.order_id is not None:
        memory.pending = Pending(
            turn.user_id,
            intent.order_id,
            evaluation["evaluation_result"],
            evaluation["failure_code"],
            evaluation["target_order_price"],
            turn.trace.trace_id,
        )
    memory.awaiting_order = intent.resolution_mode == reading.CLARIFY
    if intent.order_id is not None:
        memory.focused_order = intent.order_id
    if intent.resolution_mode == reading.CONFIRMED:
        memory.last_confirmed = intent.order_id
    elif intent.resolution_mode != reading.CLARIFY:
        memory.last_confirmed = None
    if len(turn.candidates) > 1:
        memory.last_shown = [c["order_id"] for c in turn.candidates]
    memory.language = turn.language
    memory.history.append((_kept(turn.prompt), turn.reply))
