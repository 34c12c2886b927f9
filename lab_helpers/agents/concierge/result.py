"""What a turn gives back: the seed's eight keys, the deltas before them, and how they show."""

from __future__ import annotations

import html
import time
from dataclasses import dataclass, field
from typing import Any

from lab_helpers.agents.concierge.turn import Turn
from lab_helpers.agents.shown import counted, root
from lab_helpers.agents.trace import StepEvent
from lab_helpers.stores.coffee import Product

KEYS = (
    "answer",
    "session_id",
    "response_time_ms",
    "intent_detected",
    "search_metrics",
    "from_cache",
    "embedding_cache_hit",
    "sql_phases",
)


@dataclass(frozen=True)
class Delta:
    """A piece of an answer that needs no grounding, while it is being said."""

    text: str


@dataclass(frozen=True)
class ChatResult:
    """The final event of a turn: eight keys of seed 003, then what the lab adds.

    `search_metrics` is {} where nothing was searched. `sql_phases` maps a phase to its
    milliseconds. `spoke` is "template" or the model; `products` are the rows the answer speaks of.
    """

    answer: str
    session_id: str
    response_time_ms: float
    intent_detected: str | None
    search_metrics: dict[str, Any]
    from_cache: bool
    embedding_cache_hit: bool
    sql_phases: dict[str, float]
    trace_id: str
    language: str
    tone: str
    spoke: str
    products: tuple[Product, ...] = ()
    steps: tuple[StepEvent, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The eight keys and nothing else."""
        return {key: getattr(self, key) for key in KEYS}

    @property
    def badges(self) -> tuple[str, ...]:
        """What happened, in short words that do not change from run to run."""
        found = self.search_metrics.get("results_count")
        return (
            self.intent_detected or "no intent",
            "from the cache" if self.from_cache else "answered now",
            *((f"{counted(found, 'row')} found",) if found is not None else ()),
            *(("embedding from the cache",) if self.embedding_cache_hit else ()),
        )

    def timings(self) -> dict[str, float]:
        """Milliseconds of the turn, its steps and its SQL; kept apart, for they always differ."""
        steps = {step.node_name: step.latency_ms or 0.0 for step in self.steps}
        sql = {f"sql: {name}": ms for name, ms in self.sql_phases.items()}
        return {"turn": self.response_time_ms, **steps, **sql}

    def __repr__(self) -> str:
        return f"{self.spoke}: {self.answer}\n[{' · '.join(self.badges)}]"

    def _repr_html_(self) -> str:
        badge = "border:1px solid #6b7280;border-radius:10px;padding:1px 8px;margin-right:6px"
        said = html.escape(self.answer).replace("\n", "<br>")
        badges = "".join(f"<span style='{badge}'>{html.escape(b)}</span>" for b in self.badges)
        words = f"<p style='margin:2px 0 8px'><b>{html.escape(self.spoke)}:</b> {said}</p>"
        return root(words + badges, "border-left:4px solid #6b7280;padding:4px 12px;max-width:52em")


def metrics(turn: Turn) -> dict[str, Any]:
    """The seed's phases of the last search; {} where nothing was searched."""
    if turn.tools is None or not turn.tools.searches:
        return {}
    search = turn.tools.searches[-1]
    return {
        "vector_query": search.wish,
        "embedding_ms": round(search.embedding_ms, 3),
        "spanner_ms": round(search.spanner_ms, 3),
        "tool_ms": round(search.tool_ms, 3),
        "results_count": len(search.products),
        "products_found": [product.name for product in search.products],
        "embedding_cache_hit": search.cache_hit,
        "grounded_answer_mode": turn.mode,
        "grounded_answer_ms": round(turn.phases.get("grounded_answer", 0.0), 3),
    }


def _sql_phases(turn: Turn) -> dict[str, float]:
    """Milliseconds that the turn waited for each of Spanner's answers."""
    phases = {}
    if "response_cache" in turn.phases:
        phases["response_cache"] = turn.phases["response_cache"]
    if turn.tools is not None and turn.tools.searches:
        search = turn.tools.searches[-1]
        phases |= {"embedding_cache": search.lookup_ms, "vector_search": search.spanner_ms}
    return {name: round(ms, 3) for name, ms in phases.items()}


def finished(turn: Turn, since: float) -> ChatResult:
    """The result of an answered turn; `since` is the counter when it began."""
    found = metrics(turn)
    return ChatResult(
        answer=turn.answer,
        session_id=turn.who.session_id,
        response_time_ms=round(1e3 * (time.perf_counter() - since), 3),
        intent_detected=turn.intent.label if turn.intent else None,
        search_metrics=found,
        from_cache=turn.from_cache,
        embedding_cache_hit=bool(found.get("embedding_cache_hit")),
        sql_phases=_sql_phases(turn),
        trace_id=turn.trace.trace_id,
        language=turn.language,
        tone=turn.tone,
        spoke=turn.spoke,
        products=tuple(turn.products),
        steps=tuple(
            StepEvent("end", s.node_name, s.step_order, s.latency_ms, s.spoke, s.error)
            for s in turn.trace.steps
        ),
    )
