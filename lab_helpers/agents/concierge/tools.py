"""What a turn may look up: the menu by wish, stock by product, stores. Bound to one turn's store.

The functions that `for_model` hands to a model are closures over this turn; their docstrings are
written for the model, and their answers are rows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lab_helpers.agents.concierge import answers, wording
from lab_helpers.agents.concierge.embedding import Embedder, Idioms
from lab_helpers.stores.coffee import NAME, WHAT, CoffeeStore, Product, Shop, Stock

TOP = 3


@dataclass
class Search:
    """One search: its rows, its query, how long each phase took (milliseconds)."""

    wish: str
    products: list[Product] = field(default_factory=list)
    lookup_ms: float = 0.0
    embedding_ms: float = 0.0
    spanner_ms: float = 0.0
    tool_ms: float = 0.0
    cache_hit: bool = False
    failed: bool = False
    # The vector, when it is not in the cache yet.
    fresh_vector: list[float] | None = None


class Tools:
    """The look-ups of one turn. `searches` and `products` hold what they found."""

    def __init__(self, store: CoffeeStore, embedder: Embedder, idioms: Idioms) -> None:
        self._store, self._embedder, self._idioms = store, embedder, idioms
        self.searches: list[Search] = []
        self.products: dict[int, Product] = {}

    async def search(self, text: str, *, top: int = TOP, threshold: float | None = None) -> Search:
        """The products that suit a wish, none under the model's threshold."""
        least = self._embedder.profile.search if threshold is None else threshold
        return await self._search(self._idioms.wish(text), by=WHAT, top=top, least=least)

    async def by_name(self, text: str) -> Product | None:
        """The product whose name is nearest to `text`, or None under the threshold."""
        least = self._embedder.profile.availability
        found = await self._search(text, by=NAME, top=1, least=least)
        return found.products[0] if found.products else None

    async def exactly(self, text: str) -> Product | None:
        """The product that a message names by its whole name, SKU or id, or None."""
        ids = wording.product_ids(text)
        found = await asyncio.to_thread(self._store.named, wording.plain(text), ids)
        return self._seen(found)[0] if found else None

    async def stock(self, product: Product) -> list[Stock]:
        return await asyncio.to_thread(self._store.stock, product.id)

    async def shops(self) -> list[Shop]:
        return await asyncio.to_thread(self._store.shops)

    async def _search(self, wish: str, *, by: str, top: int, least: float) -> Search:
        search, since = Search(wish), time.perf_counter()
        self.searches.append(search)
        model = self._embedder.profile.model
        vector = await asyncio.to_thread(self._store.cached_embedding, model, wish)
        search.lookup_ms, search.cache_hit = _ms(since), vector is not None
        if vector is None:
            made = await self._embedder.vectors([wish])
            vector = search.fresh_vector = made[0] if made else None
        search.embedding_ms = _ms(since)
        if vector is None:
            search.failed = True
            return search
        at = time.perf_counter()
        # A text without any known piece has no direction to compare.
        if any(vector):
            found = await asyncio.to_thread(
                self._store.search, vector, model=model, threshold=least, top=top, by=by
            )
            search.products = self._seen(found)
        search.spanner_ms, search.tool_ms = _ms(at), _ms(since)
        return search

    def _seen(self, found: list[Product]) -> list[Product]:
        self.products.update({product.id: product for product in found})
        return found

    def for_model(self, language: str) -> list[Callable[..., Any]]:
        """The tools that a model may call in this turn."""

        async def search_products_by_vector(query: str, limit: int = TOP) -> dict[str, Any]:
            """Search the coffee shop's menu and catalog. Call this for ANY question about drinks,
            food, beans, flavors, prices, caffeine, allergens, diets, recommendations,
            substitutions ("instead of milk"), availability of a kind ("do you have decaf"),
            and idiomatic wishes ("wake me up", "what is good today", "I'm running on fumes").
            Never name a product or a price that this tool did not return.

            Args:
                query: the guest's wish, in the guest's own words.
                limit: how many products to return, at most 10.
            """
            found = await self.search(query, top=max(1, min(int(limit), 10)))
            return {"products": [_row(product) for product in found.products]}

        async def find_stores_with_product(product: str) -> dict[str, Any]:
            """Find which stores have a product in stock, and how many units. Call this when the
            guest asks whether something is in stock, left, sold out, or where to buy it.

            Args:
                product: the product's name, SKU or id, as exactly as you know it.
            """
            found = await self.exactly(product) or await self.by_name(wording.plain(product))
            rows = await self.stock(found) if found else []
            return {
                "product": found and found.name,
                "stores": [{"store": r.store, "city": r.city, "units": r.units} for r in rows],
            }

        async def find_stores(question: str) -> dict[str, Any]:
            """Find the shop's stores: addresses, opening hours, parking, wifi, seats, dogs. Call
            this for any question about places, directions or hours.

            Args:
                question: the guest's question about stores.
            """
            return {"stores": answers.stores(question, await self.shops(), language)}

        return [search_products_by_vector, find_stores_with_product, find_stores]


def _row(product: Product) -> dict[str, Any]:
    return {
        "id": product.id,
        "name": product.name,
        "price": product.price,
        "caffeine_mg": product.caffeine_mg,
        "notes": list(product.notes),
        "allergens": list(product.allergens),
    }


def _ms(since: float) -> float:
    return 1e3 * (time.perf_counter() - since)
