"""The gardener: which items stand on the handler's page. Pure standard library, no model.

The page has a fixed size in words. Eviction is driven by pressure: nothing leaves while there is
room. Recall is driven by need: an item comes back from the pool when the step needs it. Nothing is
ever lost (page and pool together hold every item), the same inputs give the same page, and every
decision says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KEPT, PLACED, RECALLED, EVICTED, LEFT = "kept", "placed", "recalled", "evicted", "left in the pool"


@dataclass(frozen=True)
class Item:
    """One thing the handler might need to know. `topics` are what it is about."""

    item_id: str
    kind: str
    text: str
    topics: frozenset[str] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def size(self) -> int:
        """Words."""
        return len(self.text.split())


@dataclass(frozen=True)
class Decision:
    """What happened to one item, and why."""

    item_id: str
    action: str
    why: str


@dataclass(frozen=True)
class Tended:
    """The page (what is needed and newest first), the pool, and one decision per item."""

    page: tuple[Item, ...]
    pool: tuple[Item, ...]
    decisions: tuple[Decision, ...]

    @property
    def used(self) -> int:
        """Words on the page."""
        return sum(item.size for item in self.page)

    def ids(self, *actions: str) -> list[str]:
        """The items whose decision was one of `actions`."""
        return [d.item_id for d in self.decisions if d.action in actions]


def tend(
    page: Sequence[Item],
    pool: Iterable[Item],
    arriving: Iterable[Item],
    need: frozenset[str],
    capacity: int,
    *,
    recall: bool = True,
) -> Tended:
    """One step's page. `page` is ordered, newest use first; `pool` and `arriving` are sets.

    With `recall=False` nothing returns from the pool, whatever the step needs. Raises ValueError
    when two items share an id.
    """
    pooled = sorted(pool, key=_name)
    new = sorted(arriving, key=_name)
    _distinct([*page, *pooled, *new])
    wanted = [item for item in pooled if recall and item.topics & need]
    fresh, back = {item.item_id for item in (*new, *wanted)}, {item.item_id for item in wanted}
    ranked = _ranked([*new, *wanted], page, need)

    standing = [item for item in ranked if item.size <= capacity]
    # Pressure: the lowest standing leaves first, and only until the rest fits.
    while sum(item.size for item in standing) > capacity:
        standing.pop()
    on_page = {item.item_id for item in standing}
    full = f"the page holds {capacity} words and {sum(i.size for i in ranked)} compete for it"

    def decide(item: Item) -> Decision:
        came_back = item.item_id in back
        about = ", ".join(sorted(item.topics & need))
        if item.item_id in on_page:
            action = RECALLED if came_back else PLACED if item.item_id in fresh else KEPT
            why = f"the step needs {about}" if about else "there is room"
        elif item.size > capacity:
            action, why = LEFT if came_back else EVICTED, "it is larger than the page"
        else:
            action = LEFT if came_back else EVICTED
            why = f"{full}; {f'more is needed than {about}' if about else 'the step needs none'}"
        return Decision(item.item_id, action, why)

    left = [item for item in pooled if item.item_id not in back]
    decisions = [decide(item) for item in ranked]
    decisions += [Decision(item.item_id, LEFT, _why_left(item, need, recall)) for item in left]
    off = [item for item in (*ranked, *left) if item.item_id not in on_page]
    return Tended(tuple(standing), tuple(sorted(off, key=_name)), tuple(decisions))


def _ranked(fresh: Sequence[Item], page: Sequence[Item], need: frozenset[str]) -> list[Item]:
    """Highest standing first: what is needed most, then what came or was used last, then by id."""
    by_use = [*fresh, *page]
    return sorted(by_use, key=lambda item: -len(item.topics & need))


def _why_left(item: Item, need: frozenset[str], recall: bool) -> str:
    about = ", ".join(sorted(item.topics & need))
    return f"recall is off, though the step needs {about}" if about else "the step needs none"


def _name(item: Item) -> str:
    return item.item_id


def _distinct(items: Sequence[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.item_id in seen:
            raise ValueError(f"two items are named {item.item_id!r}")
        seen.add(item.item_id)
