"""Which product does a message mean? Matches against what the customer bought and what is sold.

A product is named by its brand word ("harbor"), its kind ("jeans", also "vaqueros") and the words
between. Brand and kind count; a word between only refines a match that is already there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lab_helpers.agents.refund import language
from lab_helpers.stores import schema
from lab_helpers.stores.operations import Order

_BRAND, _KIND, _MIDDLE = 3, 2, 1


@dataclass(frozen=True)
class Named:
    """A product name taken apart for matching."""

    name: str
    brand: str
    middle: tuple[str, ...]
    kinds: frozenset[str]


@functools.cache
def take_apart(name: str) -> Named:
    words = language.plain(name).split()
    folded = " ".join(words)
    kinds = frozenset(kind for kind in _kinds() if _ends_with(kind, folded))
    return Named(name, words[0], tuple(words[1:]), kinds or frozenset({words[-1]}))


@functools.cache
def _kinds() -> dict[str, list[str]]:
    return language.vocabulary()["kinds"]


def _ends_with(kind: str, folded: str) -> bool:
    return any(
        re.search(rf"(?<![\w-]){re.escape(p.removesuffix('*'))}s?$", folded) for p in _kinds()[kind]
    )


@functools.cache
def _cue_words() -> frozenset[str]:
    words = language.vocabulary()
    return frozenset(w for cue in ("yes", "no", "polite", "generic") for w in words[cue])


def score(name: str, text: str) -> int:
    """How strongly plain text names this product; 0 means not at all."""
    parts = take_apart(name)
    kinds = [
        k
        for k in parts.kinds
        if language.find(_kinds().get(k, [k, f"{k}s", k.removesuffix("s")]), text)
    ]
    brand = parts.brand not in _cue_words() and bool(language.find([parts.brand], text))
    if not kinds and not brand:
        return 0
    middle = sum(bool(language.find([w], text)) for w in parts.middle)
    return _BRAND * brand + _KIND * bool(kinds) + _MIDDLE * middle


@functools.cache
def catalogue() -> tuple[str, ...]:
    """Every product the storefront shows: what is sold, and what nobody has bought."""
    sold = [p["name"] for p in schema.document("demo/products.json")]
    return (*sold, *(p["name"] for p in schema.document("demo/storefront.json")["products"]))


def names_any(text: str) -> bool:
    """True when plain text names something that the storefront shows."""
    return any(score(name, text) for name in catalogue())


@dataclass(frozen=True)
class Match:
    """Orders that hold the product a message means; or the product that no order holds."""

    orders: tuple[Order, ...] = ()
    unmatched: str | None = None


def match(text: str, orders: Iterable[Order]) -> Match:
    """Match a message (plain text) against the customer's orders, then against what is sold.

    A product that is named more exactly by something never bought wins: it is unmatched, however
    close an order comes.
    """
    best, hits = 0, []
    for order in orders:
        strength = max((score(n, text) for n in order.product_names.split(", ")), default=0)
        if strength > best:
            best, hits = strength, [order]
        elif strength and strength == best:
            hits.append(order)
    strongest = max(catalogue(), key=lambda name: score(name, text))
    if score(strongest, text) > best:
        return Match(unmatched=strongest)
    if hits:
        return Match(tuple(hits))
    return Match(unmatched=_thing(text))


_THING = re.compile(
    r"(?:refund|return|money back for|reembolso (?:de|por|para)|devolver|devuelve(?:me)?)"
    r"(?:\s+(?:for|on|of|de|por))?\s+(?:my|the|a|an|mi|mis|el|la|los|las|un|una)"
    r"\s+([a-z][a-z-]{2,}(?: [a-z][a-z-]{2,})?)"
)


def _thing(text: str) -> str | None:
    """ "refund my toaster": the noun that is asked for and is neither sold here nor generic."""
    found = _THING.search(text)
    if not found:
        return None
    words = found.group(1).split()
    generic = language.vocabulary()["generic"]
    if language.find(generic, words[0]):
        return None
    stop = {
        "please",
        "because",
        "from",
        "that",
        "which",
        "por",
        "porque",
        "que",
        "for",
        "with",
        "and",
        "now",
        "it",
        "i",
    }
    kept = [w for w in words if w not in stop and w not in generic]
    return " ".join(kept) or None
