"""The refund workflow: five steps in a row. Only the fourth can act.

IntentAgent → resolve_catalog_contract → evaluate_spanner_policy
    → route_and_commit_action → ResponseAgent
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

from google.adk import Context, Workflow
from google.adk.workflow import START
from google.genai import types

from lab_helpers.agents.model import Model
from lab_helpers.agents.refund import action, extraction, policy, response
from lab_helpers.agents.refund import intent as reading
from lab_helpers.agents.refund.turn import TURN, Turn, cards
from lab_helpers.agents.trace import TracedAgent, TracedFunction, new_id
from lab_helpers.stores.catalog import KnowledgeCatalog
from lab_helpers.stores.operations import OperationsStore, Order

NAME = "RefundSystemOfActionWorkflow"
STEPS = (
    "IntentAgent",
    "resolve_catalog_contract",
    "evaluate_spanner_policy",
    "route_and_commit_action",
    "ResponseAgent",
)


def build(
    store: OperationsStore, catalog: KnowledgeCatalog, model: Model, standard_limit: int, name: str
) -> Workflow:
    """The workflow over these stores. `name` is the model's name, for ADK's agents."""
    steps = _Steps(store, catalog, model, standard_limit)
    nodes = (
        TracedAgent(name=STEPS[0], model=name, before_agent_callback=steps.intent),
        TracedFunction(func=steps.contract, name=STEPS[1]),
        TracedFunction(func=steps.evaluate, name=STEPS[2]),
        TracedFunction(func=steps.act, name=STEPS[3]),
        TracedAgent(name=STEPS[4], model=name, before_agent_callback=steps.respond),
    )
    return Workflow(name=NAME, edges=[(START, *nodes)])


# Confirmed turns between reading the facts and acting on them. Those that wait then read what the
# first have written, and a confirmation that comes too late is refused by the check alone.
AT_ONCE = 3


class Turnstile:
    """At most AT_ONCE turns at a time, in the order they came; each event loop has its own.

    Waiting counts as time of the step that waits.
    """

    def __init__(self) -> None:
        self._of: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}

    async def enter(self, turn: Turn) -> None:
        """Wait for a place, which `turn.at_work` gives back when it is closed."""
        here = asyncio.get_running_loop()
        if here not in self._of:
            alive = {loop: places for loop, places in self._of.items() if not loop.is_closed()}
            self._of = {**alive, here: asyncio.Semaphore(AT_ONCE)}
        places = self._of[here]
        await places.acquire()
        turn.at_work.callback(places.release)


class _Steps:
    """The five node functions. Clients come by construction, the turn by ContextVar."""

    def __init__(
        self, store: OperationsStore, catalog: KnowledgeCatalog, model: Model, standard_limit: int
    ) -> None:
        self.store, self.catalog, self.model = store, catalog, model
        self._turnstile = Turnstile()
        self.standard_limit = standard_limit

    async def intent(self, callback_context: Context) -> types.Content:
        """Step 1. An explicit order number or a confirmation never costs a model call."""
        turn, state = TURN.get(), callback_context.state
        step = turn.trace.step(STEPS[0])
        orders: list[Order] = []
        loaded = False

        def own() -> list[Order]:
            nonlocal orders, loaded
            if not loaded:
                loaded = True
                try:
                    orders = self.store.orders(turn.user_id)
                except Exception as error:
                    turn.store_down = True
                    if step:
                        step.error = type(error).__name__
            return orders

        found = await asyncio.to_thread(
            reading.resolve, turn.prompt, turn.memory, own, button=state.get("confirmed") is True
        )
        # Words are read by a model; a number, a confirmation and what cannot be read are settled.
        open_words = found.note not in reading.SETTLED_NOTES and (
            found.resolution_mode == reading.INFERRED or found.order_id is None
        )
        if self.model.available and open_words:
            pool = await asyncio.to_thread(own)
            read = await extraction.extract(self.model, turn.prompt, turn.memory, pool)
            if read is not None and not turn.store_down:
                found = read
            if step:
                step.spoke = self.model.speaks if read is not None else "template"
        if found.resolution_mode == reading.POLICY and not found.candidates:
            found = replace(found, candidates=reading.active(await asyncio.to_thread(own)))
        turn.intent, turn.candidates = found, cards(found.candidates)
        state["order_id"] = found.order_id
        state["resolution_mode"] = found.resolution_mode
        state["confirmed"] = found.confirmed is True
        state["unmatched_product"] = found.unmatched_product
        state["candidate_orders"] = turn.candidates
        state["inferred_order"] = cards([found.inferred])[0] if found.inferred else None
        state["refund_reason"] = found.refund_reason
        return _said(
            json.dumps({"resolution_mode": found.resolution_mode, "order_id": found.order_id})
        )

    async def contract(self, ctx: Context) -> dict[str, Any]:
        """Step 2. The governed terms; a cached contract or the glossary file never blocks."""
        turn = TURN.get()
        turn.contract = await asyncio.to_thread(self.catalog.contract)
        ctx.state["catalog_contract"] = turn.contract
        return turn.contract

    async def evaluate(self, ctx: Context) -> dict[str, Any]:
        """Step 3. Facts from the graph, verdict from the rules; unknown means refuse."""
        turn = TURN.get()
        if ctx.state.get("confirmed") is True:
            await self._turnstile.enter(turn)
        mode, order_id = ctx.state["resolution_mode"], ctx.state["order_id"]
        step = turn.trace.step(STEPS[2])
        result, code, facts = await self._verdict(turn, mode, order_id, ctx.state.get("user_id"))
        turn.policy_eval = policy.evaluation(
            eval_id=new_id("EVAL"),
            node_exec_id=step.node_exec_id if step else new_id("NODE"),
            result=result,
            failure_code=code,
            facts=facts,
            contract=turn.contract or {},
            standard_limit=self.standard_limit,
        )
        if mode == reading.POLICY and facts is not None:
            # A policy answer shows the rule of the customer's own tier, not an order's facts.
            turn.policy_eval["target_order_age_days"] = None
        ctx.state["eval_id"] = turn.policy_eval["eval_id"]
        ctx.state["policy_eval"] = turn.policy_eval
        return turn.policy_eval

    async def _verdict(
        self, turn: Turn, mode: str, order_id: int | None, user_id: object
    ) -> tuple[str, str | None, Any]:
        contract = turn.contract or {}
        lookup = order_id
        if mode in reading.INFORMATION:
            # The policy answer needs the customer's tier; any of their orders leads to it.
            lookup = (
                turn.candidates[0]["order_id"]
                if mode == reading.POLICY and turn.candidates
                else None
            )
            if lookup is None:
                return "INFO", None, None
        elif order_id is None:
            return "FAIL", policy.MISSING_ORDER_ID, None
        # Identity from structured state only, and only as what it is: an integer.
        if type(user_id) is not int or user_id != turn.user_id:
            return "FAIL", policy.NOT_FOUND, None
        try:
            facts = await asyncio.to_thread(self.store.policy_facts, user_id, lookup, contract)
        except Exception as error:
            step = turn.trace.step(STEPS[2])
            if step:
                step.error = type(error).__name__
            turn.store_down = True
            informing = mode in reading.INFORMATION or mode == reading.ORDER_INFO
            return ("INFO", None, None) if informing else ("FAIL", policy.UNAVAILABLE, None)
        if mode in reading.INFORMATION or mode == reading.ORDER_INFO:
            return "INFO", None, facts
        code = policy.failure(facts, contract)
        return "PASS" if code is None else "FAIL", code, facts

    async def act(self, ctx: Context) -> dict[str, Any]:
        """Step 4. Decide, and where every check holds, commit."""
        turn = TURN.get()
        assert turn.policy_eval is not None
        order_id = ctx.state["order_id"]
        kind, reason, turn.stale_approval = action.decide(
            mode=ctx.state["resolution_mode"],
            order_id=order_id,
            confirmed=ctx.state.get("confirmed"),
            policy_eval=turn.policy_eval,
            pending=turn.pending,
            user_id=turn.user_id,
            candidates=turn.candidates,
        )
        if kind is None:
            turn.action = await asyncio.to_thread(
                action.commit, self.store, turn, order_id, self.standard_limit
            )
        else:
            turn.action = action.outcome(kind, turn.policy_eval["eval_id"], reason)
        turn.at_work.close()
        ctx.state["policy_eval"] = dict(turn.policy_eval)
        ctx.state["action_outcome"] = turn.action
        return turn.action

    async def respond(self, callback_context: Context) -> types.Content:
        """Step 5. The reply, and the cards it cites."""
        turn = TURN.get()
        turn.reply, turn.spoke = await response.speak(self.model, turn)
        if turn.action and turn.action["decision_status"] in ("ORDER_LIST", "POLICY_INFO"):
            turn.candidates = response.sync_cards(turn.reply, turn.candidates)
        step = turn.trace.step(STEPS[4])
        if step:
            step.spoke = turn.spoke
        callback_context.state["final_response"] = turn.reply
        callback_context.state["candidate_orders"] = turn.candidates
        return _said(turn.reply)


def _said(text: str) -> types.Content:
    # Without the role the node's output would be None.
    return types.Content(role="model", parts=[types.Part(text=text)])
