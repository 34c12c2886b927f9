"""The checks of notebook 05, the gate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lab_helpers.checks.result import Condition

if TYPE_CHECKING:
    from lab_helpers.lab import Lab


def door(lab: Lab, _: Any) -> Iterable[Condition]:
    drafts = lab.trail.ask("drafts", {"trace_ids": []})
    ends = {d["decision"] for d in drafts}
    yield "RETURNED" in ends, "a draft was stopped and went back", "run lab.gate.run(seed=1)"
    opened = {r["verdict"] for r in lab.trail.ask("releases", {"trace_ids": []})}
    yield (
        opened == {"PASS"},
        "every release was opened by the auditor's own true",
        "no release yet: run lab.gate.run(seed=1)",
    )
    chain = lab.gate.verify()
    yield (
        chain.intact and chain.locks > 0,
        "Spanner: the ledger's chain is intact, and every lock has its release",
        chain.why or "nothing is locked yet: run lab.gate.run(seed=1)",
    )


def recall(lab: Lab, _: Any) -> Iterable[Condition]:
    from lab_helpers.agents.gate import shift

    question = shift.load().steps[-1].message
    ends = {
        d["decision"]
        for d in lab.trail.ask("drafts", {"trace_ids": []})
        if d["message"] == question
    }
    yield (
        "RELEASED" in ends,
        "the forgotten promise came back and was released",
        "run lab.gate.run(seed=1)",
    )
    yield (
        "HELD" in ends,
        "with recall off the question was held for a person",
        "run lab.gate.run(seed=1, recall=False)",
    )


def tried(lab: Lab, _: Any) -> Iterable[Condition]:
    codes = {d["failure_code"] for d in lab.trail.ask("drafts", {"trace_ids": []})} - {None}
    yield (
        len(codes) >= 6,
        "the door was tried in six different ways or more",
        f"{len(codes)} of 6 ways: say more wrong things, or run(adversarial=True)",
    )
    bare = lab.trail.query(
        f"SELECT a.action_id FROM `{lab.config.dataset}.agent_actions` AS a"
        f" JOIN `{lab.config.dataset}.policy_evaluations` AS e ON e.eval_id = a.eval_id"
        " WHERE a.decision_status = 'RELEASED' AND e.evaluation_result != 'PASS'"
    )
    yield not bare, "and it never opened for one of them", f"{len(bare)} releases have no PASS"


def repaired(lab: Lab, answer: Any) -> Iterable[Condition]:
    """The student's parser against a good reply and every wrong one that is not fine print."""
    from lab_helpers.agents.gate import shift

    def opens(reply: str | None) -> bool:
        try:
            return answer(reply, "DRF-1") is True
        except Exception:
            return False  # in the gate, an exception stops

    rows = [r for r in shift.wrong_replies() if not r.get("fine_print")]
    replies = [r["says"] and r["says"].replace("$draft", "DRF-1") for r in rows]
    open_for = [r["name"] for r, reply in zip(rows, replies, strict=True) if opens(reply)]
    yield (
        callable(answer) and opens('{"draft": "DRF-1", "released": true}'),
        "it opens for true about this draft",
        "not yet: it must still open for {'draft': this draft, 'released': true}",
    )
    yield (
        callable(answer) and not open_for,
        f"it stays shut for {len(rows)} wrong replies",
        f"not yet: it opens for {', '.join(open_for[:3]) or 'everything, being no function'}",
    )
