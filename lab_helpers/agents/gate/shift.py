"""The written shift of data/shift: items, steps, and what a reply of each kind must state."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from lab_helpers.agents.gate.gardener import Item
from lab_helpers.stores import schema


@dataclass(frozen=True)
class Step:
    """One message of the customer, and the items that arrive with it."""

    name: str
    message: str
    brings: tuple[Item, ...]


@dataclass(frozen=True)
class Point:
    """One thing a reply must state. `says` words it, with {value}."""

    name: str
    says: str


@dataclass(frozen=True)
class Kind:
    """A kind of message: what it is about besides its words, and what its reply must state."""

    name: str
    topics: frozenset[str]
    opening: str
    nothing: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Shift:
    """The scenario. `page_words` is the size of the handler's page."""

    customer: str
    page_words: int
    items: dict[str, Item]
    steps: tuple[Step, ...]
    topics: dict[str, tuple[str, ...]]
    kinds: dict[str, Kind]
    numbers: dict[str, int]

    def background(self) -> list[Item]:
        """The items that must never enter the conversation."""
        return [i for i in self.items.values() if i.kind not in ("catalogue", "term")]


@functools.cache
def load() -> Shift:
    """The shift as data/shift tells it."""
    told = schema.document("shift/shift.json")
    items = {item.item_id: item for item in _items()}
    return Shift(
        customer=told["customer"],
        page_words=told["page_words"],
        items=items,
        steps=tuple(
            Step(s["name"], s["message"], tuple(items[name] for name in s["brings"]))
            for s in told["steps"]
        ),
        topics={topic: tuple(words) for topic, words in told["topics"].items()},
        kinds={name: _kind(name, kind) for name, kind in told["kinds"].items()},
        numbers=told["numbers"],
    )


def _items() -> list[Item]:
    found = []
    for document, kind in (("catalogue", "catalogue"), ("terms", "term"), ("background", None)):
        for row in schema.document(f"shift/{document}.json")["items"]:
            # A product is about itself; the other items say what they are about.
            topics = frozenset(row.get("topics", [row["id"]]))
            found.append(Item(row["id"], kind or row["kind"], row["text"], topics, row["facts"]))
    return found


def _kind(name: str, told: dict[str, Any]) -> Kind:
    points = tuple(Point(p["name"], p["says"]) for p in told["points"])
    return Kind(name, frozenset(told["topics"]), told["opening"], told["nothing"], points)


def wrong_replies() -> list[dict[str, Any]]:
    """What a wrong auditor says: rows of `name` and `says` (None for silence), see the file."""
    return schema.document("shift/wrong_replies.json")["replies"]


def packed(item: Item) -> str:
    """An item as the text that the pool keeps."""
    return json.dumps(
        {
            "id": item.item_id,
            "kind": item.kind,
            "text": item.text,
            "topics": sorted(item.topics),
            "facts": dict(item.facts),
        },
        ensure_ascii=False,
        sort_keys=True,
    )


def unpacked(body: str) -> Item:
    """The item that `packed` made `body` from."""
    row = json.loads(body)
    return Item(row["id"], row["kind"], row["text"], frozenset(row["topics"]), row["facts"])
