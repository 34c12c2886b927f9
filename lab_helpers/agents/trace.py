"""The one place that times a workflow node and builds lineage rows.

ADK's Workflow has no callback per node (an unknown keyword is ignored without a word), so nodes
are timed by overriding `_run_impl`. The clock stands still while an event is being consumed:
a slow screen must not look like a slow step.
"""

from __future__ import annotations

import contextlib
import contextvars
import datetime as dt
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from google.adk import Agent, Context
from google.adk.agents import BaseAgent
from google.adk.workflow import FunctionNode

from lab_helpers.stores.lineage import Rows


@dataclass(frozen=True)
class StepEvent:
    """A node started or ended. `latency_ms` and `spoke` are known at the end only.

    `spoke` says who wrote the text of a step: "gemini" or another model's name, "template",
    "stand-in", or None where the step is code that writes none.
    """

    kind: str
    node_name: str
    step_order: int
    latency_ms: float | None = None
    spoke: str | None = None
    error: str | None = None


@dataclass
class Step:
    """One executed node, as workflow_nodes will hold it."""

    node_name: str
    step_order: int
    started_at: dt.datetime
    node_exec_id: str = field(default_factory=lambda: new_id("NODE", 12))
    latency_ms: float = 0.0
    spoke: str | None = None
    error: str | None = None


@dataclass
class Trace:
    """Everything one turn leaves behind. Bound to the turn by a ContextVar, never to ADK state."""

    trace_id: str
    steps: list[Step] = field(default_factory=list)
    observe: Callable[[StepEvent], None] | None = None

    def open(self, node_name: str) -> Step:
        step = Step(node_name, len(self.steps) + 1, utc_now())
        self.steps.append(step)
        self._tell(StepEvent("start", step.node_name, step.step_order))
        return step

    def close(self, step: Step) -> None:
        self._tell(
            StepEvent(
                "end", step.node_name, step.step_order, step.latency_ms, step.spoke, step.error
            )
        )

    @contextlib.contextmanager
    def timed(self, node_name: str) -> Iterator[Step]:
        """A step around what runs inside a node: an agent that another agent calls."""
        step, since = self.open(node_name), time.perf_counter()
        try:
            yield step
        except BaseException as error:
            step.error = type(error).__name__
            raise
        finally:
            step.latency_ms = 1e3 * (time.perf_counter() - since)
            self.close(step)

    def _tell(self, event: StepEvent) -> None:
        if self.observe:
            self.observe(event)

    def step(self, node_name: str) -> Step | None:
        return next((s for s in self.steps if s.node_name == node_name), None)

    def rows(
        self,
        *,
        user_id: int | None,
        prompt: str,
        order_id: int | None,
        policy_eval: dict[str, Any] | None,
        action: dict[str, Any] | None,
        confirms: str | None = None,
    ) -> Rows:
        """The turn as rows of the four tables. A step that never ran has no row."""
        first = self.steps[0].started_at if self.steps else utc_now()
        rows: Rows = {
            "agent_sessions": [
                {
                    "trace_id": self.trace_id,
                    "customer_id": user_id,
                    "target_order_id": order_id,
                    "user_prompt": prompt,
                    "started_at": stamp(first),
                }
            ],
            "workflow_nodes": [
                {
                    "node_exec_id": s.node_exec_id,
                    "trace_id": self.trace_id,
                    "node_name": s.node_name,
                    "step_order": s.step_order,
                    "latency_ms": round(s.latency_ms, 3),
                    "executed_at": stamp(s.started_at),
                    "spoke": s.spoke,
                    "error": s.error,
                }
                for s in self.steps
            ],
        }
        if policy_eval:
            rows["policy_evaluations"] = [_evaluation_row(self.trace_id, policy_eval)]
        if policy_eval and action:
            rows["agent_actions"] = [
                {
                    "action_id": action["action_id"],
                    "eval_id": policy_eval["eval_id"],
                    "trace_id": self.trace_id,
                    "action_type": action["action_type"],
                    "decision_status": action["decision_status"],
                    "rejection_reason": action["rejection_reason"],
                    "created_at": stamp(utc_now()),
                    "confirms_trace_id": confirms,
                }
            ]
        return rows


_SAME = (
    "eval_id",
    "node_exec_id",
    "catalog_term_id",
    "policy_id",
    "policy_name",
    "max_refunds_100d",
    "return_window_days",
    "evaluation_result",
    "failure_code",
)


def _evaluation_row(trace_id: str, policy_eval: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: policy_eval[name] for name in _SAME},
        "trace_id": trace_id,
        "observed_refunds_100d": policy_eval["prior_refund_count_100d"],
        "observed_order_age_days": policy_eval["target_order_age_days"],
        "evaluated_at": stamp(utc_now()),
    }


TRACE: contextvars.ContextVar[Trace | None] = contextvars.ContextVar("lab_trace", default=None)


class _Traced:
    """Mixin for ADK nodes: times the node and tells the observer, whatever the node does."""

    async def _run_impl(self, *, ctx: Context, node_input: Any) -> AsyncIterator[Any]:
        trace = TRACE.get()
        if trace is None:
            async for event in super()._run_impl(ctx=ctx, node_input=node_input):  # type: ignore[misc]
                yield event
            return
        step = trace.open(self.name)  # type: ignore[attr-defined]
        busy, since = 0.0, time.perf_counter()
        try:
            async for event in super()._run_impl(ctx=ctx, node_input=node_input):  # type: ignore[misc]
                busy += time.perf_counter() - since
                yield event
                since = time.perf_counter()
        except BaseException as error:
            step.error = type(error).__name__
            raise
        finally:
            step.latency_ms = 1e3 * (busy + time.perf_counter() - since)
            trace.close(step)


class TracedFunction(_Traced, FunctionNode):
    """A FunctionNode whose run leaves a Step."""


class TracedAgent(_Traced, Agent):
    """An Agent whose run leaves a Step."""


class TracedBaseAgent(_Traced, BaseAgent):
    """A BaseAgent (control flow in code, no model of its own) whose run leaves a Step."""


def new_id(prefix: str, digits: int = 8) -> str:
    """A fresh id as the trail uses them: PREFIX-xxxxxxxx (seed 000)."""
    return f"{prefix}-{uuid.uuid4().hex[:digits]}"


def utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def stamp(moment: dt.datetime) -> str:
    return moment.isoformat()


def dump(rows: Rows) -> str:
    """Rows as the text that lineage_outbox keeps."""
    return json.dumps(rows, ensure_ascii=False, sort_keys=True)


def load(payload: str) -> Rows:
    return json.loads(payload)
