"""The coffee shop's tables and rows, as data/coffee says."""

from __future__ import annotations

import csv
import hashlib
import io
from typing import Any

from lab_helpers.provision import batches
from lab_helpers.stores import schema

FILES = ("coffee/menu.json", "coffee/stores.json", "coffee/stock.csv")

# A reload puts the texts back, so their embeddings must be made again.
_COLUMNS = {
    "menu_products": (
        *("id", "sku", "name", "size", "kind", "price", "caffeine_mg"),
        *("allergens", "diet", "notes", "says", "says_es", "embedding_model"),
    ),
    "coffee_stores": ("id", "name", "city", "address", "weekdays", "weekend", "features"),
    "coffee_stock": ("product_id", "store_id", "units"),
}


def mark() -> str:
    """A short hash of the rows: equal hashes mean there is nothing to load."""
    return hashlib.sha256("\0".join(schema.text(name) for name in FILES).encode()).hexdigest()[:16]


def rows() -> dict[str, list[tuple[Any, ...]]]:
    """Table to rows: menu, stores, stock."""
    menu, stores = (schema.document(name) for name in FILES[:2])
    ids = {product["sku"]: product["id"] for product in menu}
    stock = [
        (ids[line.pop("sku")], line) for line in csv.DictReader(io.StringIO(schema.text(FILES[2])))
    ]
    return {
        "menu_products": _as_rows("menu_products", menu),
        "coffee_stores": _as_rows("coffee_stores", stores),
        "coffee_stock": [
            (product, int(store), int(units))
            for product, line in stock
            for store, units in line.items()
        ],
    }


def load(database: Any) -> None:
    """Write every row of data/coffee; what the concierge keeps of its own stays."""
    for table, table_rows in rows().items():
        batches.write(database, table, _COLUMNS[table], table_rows)


def _as_rows(table: str, items: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(_cell(item.get(column)) for column in _COLUMNS[table]) for item in items]


def _cell(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, list) else value
