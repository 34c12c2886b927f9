"""Triage: what a message is about, read by code. Its topics drive what the gardener recalls."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab_helpers.agents.gate.shift import Shift

ORDER, AFTER_SALES = "order", "after-sales"

_DAY = re.compile(r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b")


@dataclass(frozen=True)
class Brief:
    """What the later steps may know of a message. `need` are its topics."""

    kind: str
    need: frozenset[str]
    product: str | None = None
    quantity: int | None = None
    day: str | None = None


def read(message: str, shift: Shift) -> Brief:
    """The brief of one message; a message that names a product is an order."""
    plain = message.lower()
    topics = {
        topic
        for topic, phrases in shift.topics.items()
        if any(re.search(rf"\b{re.escape(phrase)}", plain) for phrase in phrases)
    }
    products = sorted(t for t in topics if t in shift.items and shift.items[t].kind == "catalogue")
    kind = shift.kinds[ORDER if products else AFTER_SALES]
    day = _DAY.search(plain)
    return Brief(
        kind=kind.name,
        need=frozenset(topics) | kind.topics,
        product=products[0] if products else None,
        quantity=_quantity(plain, shift),
        day=day.group().capitalize() if day else None,
    )


def _quantity(plain: str, shift: Shift) -> int | None:
    units = {item.facts["unit"] for item in shift.items.values() if item.kind == "catalogue"}
    found = re.search(rf"\b([a-z]+|\d{{1,4}}) (?:{'|'.join(sorted(units))})s?\b", plain)
    if found is None:
        return None
    number = found.group(1)
    return int(number) if number.isdigit() else shift.numbers.get(number)
