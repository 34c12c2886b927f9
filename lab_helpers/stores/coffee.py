"""Spanner: what the coffee shop holds. Menu, stores and stock; the concierge's caches and metrics.

Every product, price and unit that the concierge speaks of comes from here, as a typed row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud.spanner_v1 import param_types as pt

from lab_helpers.stores import schema

TABLES = (
    "menu_products",
    "coffee_stores",
    "coffee_stock",
    "response_cache",
    "embedding_cache",
    "search_metrics",
)
# What a text is compared by: what a product is and does, or what it is called.
WHAT, NAME = "embedding", "name_embedding"
MAX_TEXT = 512

_VECTOR = pt.Array(pt.FLOAT64)
_COMMIT_TIME = "spanner.commit_timestamp()"
_BATCH_ROWS = 500


@dataclass(frozen=True)
class Product:
    """One row of the menu. `distance` is 0 for a name that matched as it stands."""

    id: int
    sku: str
    name: str
    size: str | None
    kind: str
    price: float
    caffeine_mg: int
    allergens: tuple[str, ...]
    diet: tuple[str, ...]
    notes: tuple[str, ...]
    says: str
    says_es: str
    distance: float = 0.0


@dataclass(frozen=True)
class Shop:
    """One store. Hours are "HH:MM-HH:MM", local time."""

    id: int
    name: str
    city: str
    address: str
    weekdays: str
    weekend: str
    features: tuple[str, ...]


@dataclass(frozen=True)
class Stock:
    """How many units of one product one store holds."""

    product_id: int
    units: int
    store_id: int
    store: str
    city: str


@dataclass(frozen=True)
class Cached:
    """What the response cache knows. `answer` is None where nothing fresh is kept; `mark` is the
    menu's, under which the next answer is kept."""

    mark: int
    intent: str | None
    answer: str | None
    spoke: str | None
    product_names: tuple[str, ...]


_PRODUCT = "id, sku, name, size, kind, price, caffeine_mg, allergens, diet, notes, says, says_es"


class CoffeeStore:
    """Reads and writes of the coffee shop's tables. `database` is a Spanner Database."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self._search = schema.text("coffee/queries/vector_search.sql")
        self._fresh = schema.text("coffee/queries/fresh_response.sql")
        self._stock = schema.text("coffee/queries/stock.sql")

    # -- menu, stores, stock --------------------------------------------------------------------

    def search(
        self, vector: Sequence[float], *, model: str, threshold: float, top: int, by: str = WHAT
    ) -> list[Product]:
        """The products nearest to a vector of `model`, nearest first, none under the threshold.

        `threshold` is the least cosine similarity; `by` is WHAT or NAME.
        """
        return self._products(
            self._search.replace("{column}", by),
            {
                "wish": [float(x) for x in vector],
                "model": model,
                "farthest": 1.0 - threshold,
                "top": top,
            },
            {"wish": _VECTOR, "model": pt.STRING, "farthest": pt.FLOAT64, "top": pt.INT64},
        )

    def named(self, text: str, ids: Sequence[int] = ()) -> list[Product]:
        """Products whose whole name or SKU stands in `text` (plain words), longest name first;
        or those with these ids."""
        return self._products(
            f"SELECT {_PRODUCT} FROM menu_products"
            " WHERE STRPOS(@text, CONCAT(' ', LOWER(name), ' ')) > 0"
            " OR STRPOS(@text, CONCAT(' ', LOWER(sku), ' ')) > 0 OR id IN UNNEST(@ids)"
            " ORDER BY LENGTH(name) DESC, id",
            {"text": f" {text} ", "ids": list(ids)},
            {"text": pt.STRING, "ids": pt.Array(pt.INT64)},
        )

    def products(self, ids: Sequence[int]) -> list[Product]:
        """The rows with these ids, in the order of `ids`; an unknown id has none."""
        found = self._products(
            f"SELECT {_PRODUCT} FROM menu_products WHERE id IN UNNEST(@ids)",
            {"ids": list(ids)},
            {"ids": pt.Array(pt.INT64)},
        )
        by_id = {product.id: product for product in found}
        return [by_id[i] for i in ids if i in by_id]

    def menu_names(self) -> list[tuple[str, str]]:
        """(name, SKU) of every product."""
        return [tuple(row) for row in self._rows("SELECT name, sku FROM menu_products ORDER BY id")]

    def shops(self) -> list[Shop]:
        """Every store, in the order of their ids."""
        rows = self._rows(
            "SELECT id, name, city, address, weekdays, weekend, features"
            " FROM coffee_stores ORDER BY id"
        )
        return [Shop(*row[:6], _words(row[6])) for row in rows]

    def stock(self, product_id: int) -> list[Stock]:
        """Units of one product per store, most first; empty for an unknown product."""
        rows = self._rows(self._stock, {"product_id": product_id}, {"product_id": pt.INT64})
        return [Stock(*row) for row in rows]

    # -- embeddings -----------------------------------------------------------------------------

    def unembedded(self, model: str) -> list[Product]:
        """The products that have no embedding of this model."""
        return self._products(
            f"SELECT {_PRODUCT} FROM menu_products"
            " WHERE embedding_model IS NULL OR embedding_model != @model ORDER BY id",
            {"model": model},
            {"model": pt.STRING},
        )

    def put_embeddings(
        self, model: str, vectors: Sequence[tuple[int, Sequence[float], Sequence[float]]]
    ) -> None:
        """Keep (id, what it is, what it is called) vectors, with the model and the dimension."""
        columns = ("id", WHAT, NAME, "embedding_model", "embedding_dimension")
        rows = [(i, list(what), list(name), model, len(what)) for i, what, name in vectors]
        for start in range(0, len(rows), _BATCH_ROWS):
            with self.database.batch() as batch:
                batch.update("menu_products", columns, rows[start : start + _BATCH_ROWS])

    def cached_embedding(self, model: str, text: str) -> list[float] | None:
        """The vector kept for this text, or None."""
        rows = self._rows(
            "SELECT embedding FROM embedding_cache WHERE model = @model AND query_text = @text",
            {"model": model, "text": text},
            {"model": pt.STRING, "text": pt.STRING},
        )
        return rows[0][0] if rows else None

    # -- responses and metrics ------------------------------------------------------------------

    def cached(self, model: str, persona: str, text: str) -> Cached:
        """What is kept for this question and still fresh. The freshness is chosen in SQL."""
        keys = {"model": model, "persona": persona, "query_text": text}
        ((mark, intent, answer, spoke, names),) = self._rows(
            self._fresh, keys, dict.fromkeys(keys, pt.STRING)
        )
        return Cached(mark or 0, intent, answer, spoke, tuple(names or ()))

    def keep(
        self,
        *,
        response: Mapping[str, Any] | None = None,
        ttl: dt.timedelta = dt.timedelta(minutes=10),
        embedding: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
    ) -> None:
        """Write what a turn leaves behind, in one commit: any of a response, an embedding, a
        metrics row. Keys are column names."""
        until = dt.datetime.now(dt.UTC) + ttl
        rows = [
            ("response_cache", response and {**response, "expires_at": until}),
            ("embedding_cache", embedding),
            ("search_metrics", metrics),
        ]
        if not any(row for _, row in rows):
            return
        with self.database.batch() as batch:
            for table, row in rows:
                if row:
                    full = {**row, "created_at": _COMMIT_TIME}
                    batch.insert_or_update(table, tuple(full), [tuple(full.values())])

    def forget_expired(self) -> int:
        """Delete answers that have run out; the read path never does. Returns how many."""
        return self.database.run_in_transaction(
            lambda t: t.execute_update(
                "DELETE FROM response_cache WHERE expires_at <= CURRENT_TIMESTAMP()"
            )
        )

    def forget_caches(self) -> None:
        """Empty the response cache and the embedding cache; metrics stay."""
        self.database.run_in_transaction(
            lambda t: [
                t.execute_update(f"DELETE FROM {table} WHERE true")
                for table in ("response_cache", "embedding_cache")
            ]
        )

    def metrics(self, trace_id: str) -> list[dict[str, Any]]:
        """The search metrics of one turn."""
        names = (
            "vector_query, results_count, products_found, embedding_cache_hit, grounded_answer_mode"
        )
        rows = self._rows(
            f"SELECT {names} FROM search_metrics WHERE trace_id = @trace_id ORDER BY created_at",
            {"trace_id": trace_id},
            {"trace_id": pt.STRING},
        )
        return [dict(zip(names.split(", "), row, strict=True)) for row in rows]

    # -- rows -----------------------------------------------------------------------------------

    def _rows(
        self, sql: str, params: dict[str, Any] | None = None, types: dict[str, Any] | None = None
    ) -> list[list[Any]]:
        with self.database.snapshot() as snapshot:
            return list(snapshot.execute_sql(sql, params=params, param_types=types))

    def _products(self, sql: str, params: dict[str, Any], types: dict[str, Any]) -> list[Product]:
        return [_product(row) for row in self._rows(sql, params, types)]


def _product(row: Sequence[Any]) -> Product:
    allergens, diet, notes = (_words(text) for text in row[7:10])
    return Product(*row[:7], allergens, diet, notes, *row[10:])


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(", ") if word)
