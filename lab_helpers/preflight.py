"""Before a talk: green, or what to fix. Asks only the lab's own stores, so no network is needed."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab_helpers.lab import Lab

SLOW_S = 2.0
Fault = tuple[str, str]


@dataclass(frozen=True)
class Preflight:
    """What stands in the way, each as (what is wrong, what to do). Nothing means green."""

    place: str
    faults: tuple[Fault, ...]

    @property
    def green(self) -> bool:
        return not self.faults

    def __repr__(self) -> str:
        if self.green:
            return (
                f"Green: {self.place}. Both stores answer, the demo orders are untouched, the trail"
                " is empty, and nothing is owed."
            )
        lines = [f"  · {wrong}: {do}" for wrong, do in self.faults]
        return "\n".join([f"Not yet: {self.place}. Fix first:", *lines])

    def _repr_html_(self) -> str:
        head, *lines = repr(self).splitlines()
        items = "".join(f"<li>{html.escape(line.strip('· '))}</li>" for line in lines)
        mark = "🟢" if self.green else "🔴"
        return f"<div role='status'><b>{mark} {html.escape(head)}</b><ul>{items}</ul></div>"


def preflight(lab: Lab) -> Preflight:
    """Look at both stores; never raises for a store that does not answer."""
    place = "the local sandbox" if lab.config.backend == "sandbox" else lab.config.project
    begun = time.monotonic()
    try:
        if not lab.is_provisioned():
            return Preflight(place, (("the stores are not set up", "run lab.provision()"),))
        faults = list(_faults(lab))
    except Exception as error:
        said = f"a store does not answer ({type(error.__cause__ or error).__name__})"
        return Preflight(place, ((said, "run the setup cell again, or lab.reset_all()"),))
    if time.monotonic() - begun > SLOW_S:
        faults.append(("the stores are slow", "run this cell again; close what else is running"))
    return Preflight(place, tuple(faults))


def _faults(lab: Lab) -> Iterator[Fault]:
    refunds = len(lab.operations.refunds())
    if refunds:
        yield f"{refunds} refunds are left from before", "run lab.reset_all()"
    if lab.trail.counts()["agent_sessions"]:
        yield "the trail holds turns from before", "run lab.reset_all()"
    if lab.operations.pending_outbox():
        yield "trails are still owed", "run lab.reconcile(), then lab.reset_all()"
    if not lab.gate.verify().intact:
        yield "the gate's ledger is broken", "run lab.cleanup(confirm=True), then lab.provision()"
