"""What one turn gives back, and how a notebook shows it."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass, field
from typing import Any

from lab_helpers.agents.refund.turn import Turn
from lab_helpers.agents.shown import root
from lab_helpers.agents.trace import StepEvent

_EDGE = {"APPROVED": "#1a7f37", "DENIED": "#b3261e", "PENDING_CONFIRMATION": "#9a6700"}


@dataclass(frozen=True)
class TurnResult:
    """One turn, with the names of seed 000. `spoke` says who wrote the reply; `trail` is
    "delivered", "outbox" (kept in Spanner until `lab.reconcile()`) or "held" (in this process)."""

    trace_id: str
    persona: str | None
    user_id: int
    order_id: int | None
    resolution_mode: str
    evaluation_result: str
    failure_code: str | None
    decision_status: str
    action_type: str
    rejection_reason: str | None
    candidate_orders: list[dict[str, Any]]
    reply: str
    language: str
    spoke: str
    catalog_term_id: str
    steps: list[StepEvent] = field(default_factory=list)
    trail: str = "delivered"
    contract_source: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def verdict(self) -> str:
        return self.evaluation_result + (f" {self.failure_code}" if self.failure_code else "")

    def _said(self) -> str:
        # Ids differ from run to run; what a notebook shows of a turn does not.
        return self.reply.replace(self.trace_id, "TRC-…")

    def __repr__(self) -> str:
        return (
            f"{self.spoke}: {self._said()}\n"
            f"verdict {self.verdict} → {self.decision_status} ({self.action_type})"
        )

    def _repr_html_(self) -> str:
        edge = _EDGE.get(self.decision_status, "#6b7280")
        badge = f"border:1px solid {edge};border-radius:10px;padding:1px 8px;margin-right:6px"
        body = (
            f"<p style='margin:2px 0 8px'><b>{html.escape(self.spoke)}:</b>"
            f" {html.escape(self._said())}</p>"
            f"<span style='{badge}'>{html.escape(self.verdict)}</span> →"
            f" <span style='{badge}'><b>{self.decision_status}</b></span>"
            f" <code>{self.action_type}</code>"
        )
        return root(body, f"border-left:4px solid {edge};padding:4px 12px;max-width:46em")


def result_of(turn: Turn, persona: str | None, seen: list[StepEvent], trail: str) -> TurnResult:
    """What a finished turn has come to."""
    evaluation, outcome = turn.policy_eval or {}, turn.action or {}
    return TurnResult(
        trace_id=turn.trace.trace_id,
        persona=persona,
        user_id=turn.user_id,
        order_id=turn.intent.order_id,
        resolution_mode=turn.intent.resolution_mode,
        evaluation_result=evaluation["evaluation_result"],
        failure_code=evaluation["failure_code"],
        decision_status=outcome["decision_status"],
        action_type=outcome["action_type"],
        rejection_reason=outcome["rejection_reason"],
        candidate_orders=turn.candidates,
        reply=turn.reply,
        language=turn.language,
        spoke=turn.spoke,
        catalog_term_id=evaluation["catalog_term_id"],
        steps=seen,
        trail=trail,
        contract_source=(turn.contract or {}).get("source", ""),
    )
