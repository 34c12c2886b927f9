"""The door itself: what an auditor said of one draft becomes open or shut, and why.

`parse` is pure and total: it never raises, and whatever it does not understand is shut. The only
way to an open verdict is a JSON object about this very draft whose `released` is True.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LONGEST_REPLY = 20_000
_LONGEST_REASON = 300

# Why a draft stops.
NO_DRAFT = "NO_DRAFT"
NO_REPLY = "NO_REPLY"
NOT_JSON = "NOT_JSON"
NOT_AN_OBJECT = "NOT_AN_OBJECT"
MISSING_FIELD = "RELEASED_MISSING"
NOT_A_BOOLEAN = "RELEASED_NOT_A_BOOLEAN"
OTHER_DRAFT = "OTHER_DRAFT"
CONTRADICTION = "RELEASED_BUT_INCOMPLETE"
RETURNED = "RETURNED_BY_AUDITOR"
AUDITOR_FAILED = "AUDITOR_FAILED"
LEDGER_FAILED = "LEDGER_FAILED"


@dataclass(frozen=True)
class Verdict:
    """What the door does with one draft. `code` says why it stays shut; None is open.

    `missing` holds the points the auditor named, for the handler's next draft.
    """

    code: str | None
    reason: str
    missing: tuple[str, ...] = ()

    @property
    def released(self) -> bool:
        return self.code is None


def shut(code: str, reason: str) -> Verdict:
    """A verdict that stops. Open ones come from `parse` alone."""
    return Verdict(code, reason)


def parse(reply: object, draft_id: str) -> Verdict:
    """The auditor's own reply to the draft named `draft_id`, as a verdict. Never raises."""
    if not isinstance(reply, str) or not reply.strip():
        return shut(NO_REPLY, "the auditor said nothing (empty, blocked or no text)")
    if len(reply) > LONGEST_REPLY:
        return shut(NOT_JSON, f"the reply is longer than {LONGEST_REPLY} characters")
    try:
        said = json.loads(reply, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return shut(NOT_JSON, "the reply is not one JSON text and nothing else")
    if not isinstance(said, dict):
        return shut(NOT_AN_OBJECT, f"the reply is a JSON {_kind(said)}, not an object")
    for code, stops, reason in _STOPS:
        if stops(said, draft_id):
            return Verdict(code, reason(said), _missing(said))
    return Verdict(None, "released is true, about this draft")


Said = dict[str, Any]

# In this order; the first row that applies names the stop. What no row stops has `released` True.
_STOPS: tuple[tuple[str, Callable[[Said, str], bool], Callable[[Said], str]], ...] = (
    (
        MISSING_FIELD,
        lambda said, _: "released" not in said,
        lambda said: "the reply has no field `released`",
    ),
    (
        NOT_A_BOOLEAN,
        lambda said, _: not isinstance(said["released"], bool),
        lambda said: f"`released` is a JSON {_kind(said['released'])}, not true",
    ),
    (
        OTHER_DRAFT,
        lambda said, draft_id: said.get("draft") != draft_id,
        lambda said: "the reply is not about this draft",
    ),
    (
        RETURNED,
        lambda said, _: said["released"] is not True,
        lambda said: _own_words(said) or "the auditor returned the draft",
    ),
    (
        CONTRADICTION,
        lambda said, _: said.get("missing") not in (None, []),
        lambda said: "the reply releases the draft and names what it lacks",
    ),
)


def _once(pairs: list[tuple[str, Any]]) -> Said:
    # JSON keeps the last of two equal names; a door must not depend on which one that is.
    said = dict(pairs)
    if len(said) != len(pairs):
        raise ValueError("a name appears twice")
    return said


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _missing(said: Said) -> tuple[str, ...]:
    named = said.get("missing")
    return tuple(n for n in named if isinstance(n, str)) if isinstance(named, list) else ()


def _own_words(said: Said) -> str:
    words = said.get("reason")
    return " ".join(words.split())[:_LONGEST_REASON] if isinstance(words, str) else ""


def _kind(value: object) -> str:
    kinds = {
        bool: "boolean",
        int: "number",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
    }
    return kinds.get(type(value), "null")
