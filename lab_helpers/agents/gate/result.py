"""What a run of the gate came to: typed, with the same text and HTML for the same run."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass, field

from lab_helpers.agents.gate.gardener import Decision
from lab_helpers.agents.shown import root
from lab_helpers.agents.trace import StepEvent

_EDGE = {"RELEASED": "#1a7f37", "RETURNED": "#9a6700", "HELD": "#b3261e"}


@dataclass(frozen=True)
class DraftResult:
    """One draft: what was written, what the auditor said, and what the door did.

    `decision` is RELEASED (locked), RETURNED (to the handler) or HELD (for a person); `code` says
    why the door stayed shut and is None for a release.
    """

    number: int
    draft_id: str
    text: str
    reply: str | None
    decision: str
    code: str | None
    reason: str
    missing: tuple[str, ...]
    handler_spoke: str
    auditor_spoke: str

    def __repr__(self) -> str:
        why = "" if self.code is None else f" ({self.code}: {self.reason})"
        return f"draft {self.number} {self.decision}{why}"


@dataclass(frozen=True)
class StepResult:
    """One message: the page, the drafts, and the reply that the ledger locked (or None).

    When nothing was released, `held` is the last draft and `why` the auditor's reasons.
    """

    name: str
    message: str
    trace_id: str
    page: tuple[str, ...]
    decisions: tuple[Decision, ...]
    drafts: tuple[DraftResult, ...]
    locked: int | None
    failure: str | None
    steps: tuple[StepEvent, ...] = ()

    @property
    def released(self) -> bool:
        return self.locked is not None

    @property
    def reply(self) -> str | None:
        return self.drafts[-1].text if self.released else None

    @property
    def held(self) -> str | None:
        return None if self.released or not self.drafts else self.drafts[-1].text

    @property
    def why(self) -> str | None:
        if self.released:
            return None
        return self.failure or (self.drafts[-1].reason if self.drafts else "nothing was drafted")

    def moved(self, action: str) -> list[str]:
        """Ids of the items that the gardener `action`ed: "recalled", "evicted", "kept", …"""
        return [d.item_id for d in self.decisions if d.action == action]

    def lines(self) -> list[str]:
        """The step in plain lines: what the gardener moved, each draft, what went out."""
        out = [f"{self.name}: “{self.message}”"]
        out += [f"  {a}: {', '.join(self.moved(a))}" for a in _MOVES if self.moved(a)]
        out += [f"  {draft!r}" for draft in self.drafts]
        if self.released:
            out.append(f"  locked, said by {self.drafts[-1].handler_spoke}: {self.reply}")
        else:
            out.append(f"  NOT LOCKED, a person must look: {self.why}")
        return out

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return _page([self])


_MOVES = ("recalled", "evicted")


@dataclass(frozen=True)
class GateRun:
    """One run: a step for each message. `trail` is "delivered", "outbox" or "held"."""

    run_id: str
    steps: tuple[StepResult, ...] = field(default_factory=tuple)
    trail: str = "delivered"

    @property
    def drafts(self) -> list[DraftResult]:
        """Every draft of the run, in order."""
        return [draft for step in self.steps for draft in step.drafts]

    @property
    def releases(self) -> int:
        return sum(step.released for step in self.steps)

    @property
    def trace_ids(self) -> list[str]:
        """The traces of the run, one a message: for `lab.lineage` and the query `releases`."""
        return [step.trace_id for step in self.steps]

    def counts(self) -> dict[str, int]:
        """How many drafts ended in which way."""
        found = Counter(draft.decision for draft in self.drafts)
        return {decision: found[decision] for decision in _EDGE}

    def summary(self) -> str:
        """One line: releases and refusals."""
        ends = ", ".join(f"{n} {decision.lower()}" for decision, n in self.counts().items())
        return f"{len(self.drafts)} drafts: {ends}; {self.releases} of {len(self.steps)} locked"

    def __repr__(self) -> str:
        return "\n".join([self.summary(), *(line for step in self.steps for line in step.lines())])

    def _repr_html_(self) -> str:
        return _page(self.steps, self.summary())


def _page(steps: tuple[StepResult, ...] | list[StepResult], head: str = "") -> str:
    title = f"<p style='margin:0 0 6px'><b>{html.escape(head)}</b></p>" if head else ""
    return root(title + "".join(map(_step, steps)), "max-width:52em")


def _step(step: StepResult) -> str:
    edge = _EDGE["RELEASED" if step.released else "HELD"]
    moves = "".join(_move(step, action) for action in _MOVES if step.moved(action))
    drafts = "".join(f"<li>{_draft(draft)}</li>" for draft in step.drafts)
    return (
        f"<div style='border-left:4px solid {edge};padding:4px 12px;margin:0 0 8px'>"
        f"<b>{html.escape(step.name)}</b>: “{html.escape(step.message)}”{moves}"
        f"<ol style='margin:4px 0'>{drafts}</ol><div>{_end(step)}</div></div>"
    )


def _move(step: StepResult, action: str) -> str:
    items = html.escape(", ".join(step.moved(action)))
    return f"<div><small>{action}: <code>{items}</code></small></div>"


def _end(step: StepResult) -> str:
    if not step.released:
        return f"<b>not locked</b>, a person must look: {html.escape(step.why or '')}"
    said_by = html.escape(step.drafts[-1].handler_spoke)
    return f"<b>locked</b>, said by {said_by}: {html.escape(step.reply or '')}"


def _draft(draft: DraftResult) -> str:
    badge = f"border:1px solid {_EDGE[draft.decision]};border-radius:10px;padding:0 8px"
    why = "" if draft.code is None else f" <code>{draft.code}</code> {html.escape(draft.reason)}"
    return f"<span style='{badge}'>{draft.decision}</span>{why}"
