"""Check my progress: every check reads the stores, never the kernel, and never raises.

A check is a list of conditions, each worth one point, each with one plain line for "yes" and one
for "not yet, and what to do". An exercise with an answer compares it with what the stores say.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from lab_helpers.checks import concierge, gate, refund
from lab_helpers.checks.result import CheckResult, Condition, Progress
from lab_helpers.errors import LabError

if TYPE_CHECKING:
    from lab_helpers.lab import Lab

_DONE = "check:"

TASKS: dict[str, tuple[str, Callable[[Lab, Any], Iterable[Condition]]]] = {
    "00-refund": ("A first refund", refund.refund_of(90124)),
    "01-stores": ("Both stores hold the lab", refund.stores),
    "01-graphs": ("Both graphs are there", refund.graphs),
    "01-center": ("The centre behind Customer A's parcels", refund.center),
    "02-refund": ("Customer A's refund", refund.refund_of(90124)),
    "02-outcomes": ("Every way to be refused", refund.outcomes),
    "02-tiers": ("One query, two tiers", refund.tiers),
    "02-information": ("Asking without acting", refund.information),
    "02-one-fact": ("One fact away", refund.one_fact),
    "03-auditor": ("The auditor's questions", refund.auditor),
    "03-refused-twice": ("Refused twice", refund.refused_twice),
    "04-tiers": ("Three tiers, one attack each", refund.tiers_held),
    "04-race": ("Fifty at once", refund.race),
    "04-mended": ("The dead kernel's trail", refund.mended),
    "04-breach": ("What tier 1 was for", refund.breach),
    "05-door": ("The door holds", gate.door),
    "05-recall": ("A forgotten promise comes back", gate.recall),
    "05-tried": ("Tried, and shut", gate.tried),
    "05-repaired": ("A gate that fails closed", gate.repaired),
    "06-rows": ("Answers from rows", concierge.from_rows),
    "06-context": ('What "that" means', concierge.in_context),
    "06-invented": ("Nothing invented is said", concierge.nothing_invented),
    "06-idiom": ("An idiom taught", concierge.idiom),
    "07-reset": ("Everything put back", refund.reset),
}


def check(lab: Lab, task: str, answer: Any = None) -> CheckResult:
    """Run one check. Raises LabError only for a task that does not exist."""
    if task not in TASKS:
        raise LabError(
            f"There is no check named {task!r}.",
            f"The checks are {', '.join(TASKS)}.",
            "Copy the name from the task's cell.",
        )
    title, conditions = TASKS[task]
    if not lab.is_provisioned():
        line = "the stores are not set up: run lab.provision() (notebook 01)"
        return CheckResult(task, title, ((False, line),))
    try:
        found = list(conditions(lab, answer))
    except Exception as error:
        line = f"the stores could not be read ({type(error).__name__}): run the setup cell again"
        return CheckResult(task, title, ((False, line),))
    result = CheckResult(task, title, tuple((bool(ok), yes if ok else no) for ok, yes, no in found))
    if result.done:
        # A reset undoes what a check looked at, and an answer is gone with its kernel.
        with contextlib.suppress(Exception):
            lab.operations.remember(_DONE + task, "done")
    return result


def progress(lab: Lab) -> Progress:
    """What has been done so far, in any notebook; nothing is where the stores are not set up."""
    done = lab.operations.remembered(_DONE) if lab.is_provisioned() else set()
    return Progress(tuple((task, title, task in done) for task, (title, _) in TASKS.items()))
