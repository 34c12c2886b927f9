"""What a reply must state, with the value that the page gives it. Code, no model.

A point whose value the page does not hold has None: nobody who knows only the page can state it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lab_helpers.agents.gate.gardener import Item
from lab_helpers.agents.gate.shift import Kind
from lab_helpers.agents.gate.triage import Brief
from lab_helpers.agents.shown import counted

Values = dict[str, str | None]


def values(kind: Kind, brief: Brief, page: Sequence[Item]) -> Values:
    """Point name to the words that state it, or None where the page does not hold them."""
    return {
        point.name: _COMPUTED[point.name](brief, page)
        if point.name in _COMPUTED
        else _fact(point.name, page, brief.need)
        for point in kind.points
    }


def lacking(draft: str, expected: Values) -> list[str]:
    """The points that a draft does not state as the page has them, in the checklist's order."""
    return [name for name, value in expected.items() if value is None or value not in draft]


def _fact(name: str, page: Iterable[Item], need: frozenset[str]) -> Any:
    return next((i.facts[name] for i in page if name in i.facts and i.topics & need), None)


def _product(brief: Brief, page: Iterable[Item]) -> Item | None:
    return next((item for item in page if item.item_id == brief.product), None)


def _name(brief: Brief, page: Sequence[Item]) -> str | None:
    item = _product(brief, page)
    return item.facts["name"] if item else None


def _quantity(brief: Brief, page: Sequence[Item]) -> str | None:
    item = _product(brief, page)
    if item is None or not brief.quantity:
        return None
    return counted(brief.quantity, item.facts["unit"])


def _unit_price(brief: Brief, page: Sequence[Item]) -> str | None:
    item = _product(brief, page)
    return f"${item.facts['price']:,.2f} a {item.facts['unit']}" if item else None


def _total(brief: Brief, page: Sequence[Item]) -> str | None:
    item = _product(brief, page)
    if item is None or not brief.quantity:
        return None
    return f"${brief.quantity * item.facts['price']:,.2f} in all"


def _day(brief: Brief, page: Sequence[Item]) -> str | None:
    return brief.day if brief.day in (_fact("days", page, brief.need) or ()) else None


_COMPUTED: dict[str, Callable[[Brief, Sequence[Item]], str | None]] = {
    "product": _name,
    "quantity": _quantity,
    "unit price": _unit_price,
    "total": _total,
    "delivery day": _day,
}
