"""What a turn gives back: the seed's eight keys, the deltas before them, and how they show."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

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
    milliseconds. `spoke` is "gemini" or "template"; `products` are the rows the answer speaks of.
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
            *((f"{found} rows found",) if found is not None else ()),
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
        return (
            "<div style='border-left:4px solid #6b7280;padding:4px 12px;max-width:52em'>"
            f"<p style='margin:2px 0 8px'><b>{html.escape(self.spoke)}:</b> {said}</p>"
            f"{badges}</div>"
        )
