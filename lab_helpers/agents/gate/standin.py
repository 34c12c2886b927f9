"""Stand-ins for a model, openly labelled: they play handler and auditor where no model is.

Nothing is scripted to pass. The handler forgets points that its seed picks, and mends only what
the auditor's reply names; the auditor reads the draft against the page.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from lab_helpers.agents.gate import checklist
from lab_helpers.agents.gate.voice import STAND_IN, Briefing, Draft
from lab_helpers.agents.model import ModelReply

# Walks the list of subsets in an order where neighbouring seeds share little. It is prime, so
# seeds differ until the list is used up.
_STRIDE = 17
_MOST_FORGOTTEN = 3


def forgotten(points: Sequence[str], seed: int) -> frozenset[str]:
    """The points a first draft leaves out: never none, never all, another set for each seed."""
    most = min(_MOST_FORGOTTEN, len(points) - 1)
    sets = [c for n in range(1, most + 1) for c in itertools.combinations(points, n)]
    return frozenset(sets[seed * _STRIDE % len(sets)])


class StandInHandler:
    """Writes what the page holds, and forgets some of it in a first draft."""

    who = STAND_IN

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def draft(self, briefing: Briefing) -> ModelReply:
        kind = briefing.kind
        left_out = forgotten([p.name for p in kind.points], self._seed)
        if briefing.returned:
            left_out -= frozenset(briefing.returned.missing)
        known = checklist.values(kind, briefing.brief, briefing.page)
        says = [
            point.says.format(value=known[point.name])
            for point in kind.points
            if known[point.name] is not None and point.name not in left_out
        ]
        return ModelReply(" ".join([kind.opening, *says]) if says else kind.nothing)


class StandInAuditor:
    """Reads the draft against the page and names what it does not state."""

    who = STAND_IN

    async def review(self, briefing: Briefing, draft: Draft) -> ModelReply:
        expected = checklist.values(briefing.kind, briefing.brief, briefing.page)
        missing = checklist.lacking(draft.text, expected)
        verdict: dict[str, Any] = {"draft": draft.draft_id, "released": not missing}
        if missing:
            verdict |= {"missing": missing, "reason": f"missing: {', '.join(missing)}"}
        return ModelReply(json.dumps(verdict))


class ScriptedAuditor:
    """Says of every draft what it was given, word for word. `$draft` stands for the draft's id.

    One text is repeated; of several, each draft hears the next one. None is silence, and the text
    `$fail` an auditor that breaks.
    """

    who = STAND_IN

    def __init__(self, *replies: str | None) -> None:
        self._replies: Iterator[str | None] = itertools.cycle(replies)
        self._last_draft = "DRF-0"

    async def review(self, briefing: Briefing, draft: Draft) -> ModelReply:
        says = next(self._replies)
        earlier, self._last_draft = self._last_draft, draft.draft_id
        if says is None:
            return ModelReply(None, "the stand-in says nothing")
        if says == "$fail":
            raise ConnectionError("the auditor cannot be reached")
        return ModelReply(says.replace("$draft", draft.draft_id).replace("$earlier", earlier))
