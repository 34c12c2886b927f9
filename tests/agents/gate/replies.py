"""Malformed verdicts: those listed in data/shift, and those made from a good one by damage."""

import json

from lab_helpers.agents.gate import shift

DRAFT = "DRF-0123456789ab"
GOOD = json.dumps({"draft": DRAFT, "released": True}, separators=(",", ":"))

_VALUES = [
    "false",
    "null",
    "0",
    "1",
    "-1",
    "1.0",
    "1e0",
    "2",
    "NaN",
    "Infinity",
    "-Infinity",
    "True",
    "TRUE",
    "yes",
    "undefined",
    "t",
    '""',
    '"true"',
    '"TRUE"',
    '"false"',
    '"yes"',
    '"1"',
    '"approved"',
    '"\\u0074rue"',
    "[]",
    "[true]",
    "[true, true]",
    "{}",
    '{"released": true}',
    '{"value": true}',
]
_FIELDS = [
    "Released",
    "RELEASED",
    "release",
    "is_released",
    "approved",
    "ok",
    "released ",
    "reIeased",
]


def _listed() -> list[str | None]:
    texts = [row["says"] for row in shift.wrong_replies()]
    return [t and t.replace("$draft", DRAFT).replace("$earlier", "DRF-9") for t in texts]


def _generated() -> list[str]:
    out = [f'{{"draft":"{DRAFT}","released":{value}}}' for value in _VALUES]
    out += [f'{{"draft":"{DRAFT}","{field}":true}}' for field in _FIELDS]
    # Any one character lost, the reply cut anywhere, or a character too many.
    out += [GOOD[:n] + GOOD[n + 1 :] for n in range(len(GOOD))]
    out += [GOOD[:n] for n in range(len(GOOD))]
    out += [GOOD[:n] + "x" + GOOD[n:] for n in range(len(GOOD) + 1)]
    out += [GOOD[:n] + '"' + GOOD[n:] for n in range(len(GOOD) + 1)]
    out += [
        before + GOOD + after for before in ("", "ok ", "```\n") for after in (".", " ok", "\n```")
    ]
    out += [GOOD * 2, f"[{GOOD}]", json.dumps(GOOD), GOOD.replace('"', "'"), GOOD[::-1]]
    return out


MALFORMED: list[str | None] = [*_listed(), *dict.fromkeys(_generated())]
