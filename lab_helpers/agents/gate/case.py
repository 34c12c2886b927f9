"""One message on its way through the workflow, bound by a ContextVar: ADK state gets numbers only.

The page must not become an event of the conversation, so it travels here and nowhere else.
"""

from __future__ import annotations

import contextvars
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from lab_helpers.agents.gate.gardener import Item, Tended
from lab_helpers.agents.gate.shift import Step
from lab_helpers.agents.gate.triage import Brief
from lab_helpers.agents.gate.voice import Auditor, Draft, Handler
from lab_helpers.agents.trace import Trace, new_id
from lab_helpers.agents.verdict import Verdict

RELEASED, RETURNED, HELD = "RELEASED", "RETURNED", "HELD"


@dataclass
class Audited:
    """One draft, what the auditor said of it, and what the door made of that."""

    draft: Draft
    reply: str | None
    verdict: Verdict
    handler_spoke: str
    auditor_spoke: str
    node_exec_id: str
    eval_id: str = field(default_factory=lambda: new_id("EVAL"))
    action_id: str = field(default_factory=lambda: new_id("ACT"))
    # None while a released draft is not locked: the act is the lock, not the release.
    decision: str | None = None


@dataclass
class Case:
    """What the nodes of one message share. `page` is the run's, and moves from step to step."""

    run_id: str
    step: Step
    trace: Trace
    handler: Handler
    auditor: Auditor
    page: tuple[Item, ...]
    recall: bool
    brief: Brief | None = None
    tended: Tended | None = None
    audited: list[Audited] = field(default_factory=list)
    # What the two agents' callbacks need of the draft in hand, and who spoke last.
    draft: Draft | None = None
    returned: Verdict | None = None
    locked: int | None = None
    failure: str | None = None
    # The trail so far, as text for the outbox.
    trail: Callable[[], str] = lambda: ""

    @property
    def last(self) -> Audited | None:
        return self.audited[-1] if self.audited else None

    def new_draft(self, text: str) -> Draft:
        """The next draft. Its id names run, place and text, so no verdict fits another one."""
        number = len(self.audited) + 1
        named = f"{self.trace.trace_id}\n{number}\n{text}"
        return Draft(f"DRF-{hashlib.sha256(named.encode()).hexdigest()[:12]}", number, text)


CASE: contextvars.ContextVar[Case] = contextvars.ContextVar("lab_gate_case")
