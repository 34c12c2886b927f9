"""The demo customers of data/demo/customers.json: the switcher offers no other identity."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from lab_helpers.errors import LabError
from lab_helpers.stores import schema


@dataclass(frozen=True)
class Persona:
    """One demo customer. `orders` are the fixtures: ages in whole days before the anchor."""

    key: str
    name: str
    user_id: int
    email: str
    tier: str
    orders: tuple[dict[str, Any], ...]

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The orders that each show one thing; the rest are history."""
        return [order for order in self.orders if "outcome" in order]


@functools.cache
def all_personas() -> dict[str, Persona]:
    """Persona key ("A", "B", "C") to Persona, in the order of the switcher."""
    customers = schema.document("demo/customers.json")["customers"]
    return {
        c["persona"]: Persona(
            c["persona"], c["name"], c["user_id"], c["email"], c["tier"], tuple(c["orders"])
        )
        for c in customers
    }


def persona(key: object) -> Persona:
    """The persona named `key`. Raises LabError: there is no default customer."""
    found = all_personas().get(key) if isinstance(key, str) else None
    if found is None:
        known = ", ".join(repr(k) for k in all_personas())
        raise LabError(
            f"There is no persona {key!r}.",
            "Identity comes only from the persona switcher, never from a message or a default.",
            f"Use one of {known}.",
        )
    return found
