"""What a turn of the concierge costs: product turns, cached turns, a menu of 10,000."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lab_helpers.agents.concierge.result import ChatResult

if TYPE_CHECKING:
    from lab_helpers.lab import Lab

ROUNDS, WARM = 40, 5
LARGE = 10_000
FIRST_MADE = 1_000_000
WISHES = ("wake me up", "something sweet", "a vegan latte", "do you have decaf", "algo frío")


async def rows(lab: Lab) -> list[tuple[str, list[float]]]:
    """(what, seconds until the answer of each turn was there). What is kept of a turn afterwards
    (conversation, caches, trail) is done before the next one begins: a guest does not wait for it,
    and does not talk that fast."""
    concierge = lab.concierge
    concierge.forget_caches()
    new = itertools.count()
    wishes = (f"{WISHES[n % len(WISHES)]} {n}" for n in new)
    out = [("concierge: a product turn, nothing cached", await _turns(lab, wishes))]
    same = itertools.repeat(WISHES[0])
    out.append(("concierge: the same turn from the cache", await _turns(lab, same)))
    _enlarge(lab)
    out.append((f"concierge: a product turn, {LARGE:,} products", await _turns(lab, wishes)))
    concierge.store.database.run_in_transaction(
        lambda t: t.execute_update(f"DELETE FROM menu_products WHERE id >= {FIRST_MADE}")
    )
    return out


async def _turns(lab: Lab, messages: Iterator[str]) -> list[float]:
    times = []
    for n in range(ROUNDS + WARM):
        message = next(messages)
        # A conversation of a few turns, as a guest has; its history does not grow without end.
        since = time.perf_counter()
        async for item in lab.concierge.stream(message, session=f"bench-{n // 10}"):
            if isinstance(item, ChatResult) and n >= WARM:
                times.append(time.perf_counter() - since)
        await lab.concierge.settled()
    return times


def _enlarge(lab: Lab) -> None:
    """Products with names and vectors of their own, up to LARGE in all."""
    from lab_helpers.agents.concierge.embedding import LOCAL, profile

    store, size = lab.concierge.store, profile(LOCAL).dimension
    made = LARGE - len(store.menu_names())
    vectors = np.random.default_rng(7).normal(size=(made, size))
    columns = (
        *("id", "sku", "name", "kind", "price", "caffeine_mg", "allergens", "diet", "notes"),
        *("says", "says_es", "embedding", "name_embedding"),
        *("embedding_model", "embedding_dimension"),
    )
    for start in range(0, made, 500):
        with store.database.batch() as batch:
            batch.insert_or_update(
                "menu_products",
                columns,
                [
                    (
                        *(FIRST_MADE + i, f"GEN{i}", f"Generated Drink {i}", "drink", 1 + i / 100),
                        *(0, "", "", "plain", "a drink", "una bebida"),
                        *(list(vectors[i]), list(vectors[i]), LOCAL, size),
                    )
                    for i in range(start, min(start + 500, made))
                ],
            )
