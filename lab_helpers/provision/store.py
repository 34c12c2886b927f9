"""The shop's rows: demo customers exactly as data/demo says, and a generated store around them.

Deterministic: the same scale and anchor give the same rows. Scale 1 is 200 customers, 60 products,
10 distribution centres and 2,000 orders; scale 500 is a million orders.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any

from lab_helpers.stores import schema
from lab_helpers.stores.personas import all_personas

CUSTOMERS, ORDERS = 200, 2_000
FIRST_CUSTOMER, FIRST_ORDER = 5_001, 20_001
# Beyond scale 1 the ids move clear of the five-digit demo orders.
FIRST_SCALED_ORDER = 1_000_001

# A demo age sits a quarter of a day past its line: a lab of hours moves no order across it.
QUARTER_DAY = dt.timedelta(hours=6)

COLUMNS: dict[str, tuple[str, ...]] = {
    "distribution_centers": ("id", "name", "region"),
    "policies": ("policy_id", "name", "status", "document"),
    "policy_conditions": (
        "condition_id",
        "policy_id",
        "applicable_tier",
        "max_refunds_100d",
        "return_window_days",
    ),
    "policy_restrictions": ("restriction_id", "policy_id", "action_code"),
    "products": ("id", "name", "category", "retail_price", "distribution_center_id", "policy_id"),
    "users": ("id", "email", "customer_tier"),
    "orders": ("order_id", "user_id", "status", "created_at", "delivered_at", "returned_at"),
    "inventory_items": ("id", "product_id"),
    "order_items": (
        "id",
        "order_id",
        "inventory_item_id",
        "status",
        "sale_price",
        "returned_at",
        "refund_trace_id",
    ),
}

Row = tuple[Any, ...]


def days_before(anchor: dt.datetime, days: float | None) -> dt.datetime | None:
    """The moment that is `days` whole days before the anchor, a quarter of a day past the line."""
    return None if days is None else anchor - dt.timedelta(days=days) - QUARTER_DAY


def policy_rows() -> dict[str, list[Row]]:
    """policies, policy_conditions and policy_restrictions as the document's triples state them."""
    facts: dict[str, dict[str, Any]] = {}
    links: dict[str, list[str]] = {"requires_condition": [], "enforces_restriction": []}
    owner: dict[str, str] = {}
    for subject, predicate, value in schema.document("policies/policy_triples.json")["triples"]:
        if predicate in links:
            links[predicate].append(value)
            owner[value] = subject
        else:
            facts.setdefault(subject, {})[predicate] = value
    tables = {
        "policies": [s for s in facts if s not in owner],
        "policy_conditions": links["requires_condition"],
        "policy_restrictions": links["enforces_restriction"],
    }
    return {
        table: [
            tuple(
                {COLUMNS[table][0]: s, "policy_id": owner.get(s, s), **facts[s]}[c]
                for c in COLUMNS[table]
            )
            for s in subjects
        ]
        for table, subjects in tables.items()
    }


def reference_rows() -> dict[str, list[Row]]:
    """The tables that no order changes: centres, policy tables, products."""
    policy = policy_rows()
    (policy_id, *_), *_ = policy["policies"]
    products = [{**p, "policy_id": policy_id} for p in schema.document("demo/products.json")]
    centers = schema.document("demo/distribution_centers.json")
    return {
        "distribution_centers": [
            tuple(c[k] for k in COLUMNS["distribution_centers"]) for c in centers
        ],
        **policy,
        "products": [tuple(p[k] for k in COLUMNS["products"]) for p in products],
    }


def demo_rows(anchor: dt.datetime) -> dict[str, list[Row]]:
    """The demo customers with their orders, as they are right after a reset at `anchor`."""
    price = {p["id"]: p["retail_price"] for p in schema.document("demo/products.json")}
    out: dict[str, list[Row]] = {
        t: [] for t in ("users", "orders", "inventory_items", "order_items")
    }
    for person in all_personas().values():
        out["users"].append((person.user_id, person.email, person.tier))
        for order in person.orders:
            returned = days_before(anchor, order["returned_days_ago"])
            number = order["order_id"]
            out["orders"].append(
                (
                    number,
                    person.user_id,
                    order["status"],
                    days_before(anchor, order["created_days_ago"]),
                    days_before(anchor, order["delivered_days_ago"]),
                    returned,
                )
            )
            for n, product in enumerate(order["items"], start=1):
                item = number * 10 + n
                out["inventory_items"].append((item, product))
                out["order_items"].append(
                    (item, number, item, order["status"], price[product], returned, None)
                )
    return out


_LIFE = (("Complete", 58), ("Returned", 14), ("Shipped", 12), ("Processing", 9), ("Cancelled", 7))


def generated_rows(anchor: dt.datetime, scale: int = 1) -> Iterator[tuple[str, list[Row]]]:
    """The store around the demo customers, in batches of (table, rows), parents first."""
    rng = random.Random(20_26)
    products = schema.document("demo/products.json")
    names, weights = zip(*_LIFE, strict=True)
    customers = range(FIRST_CUSTOMER, FIRST_CUSTOMER + CUSTOMERS * scale)
    for start in range(0, len(customers), 5_000):
        yield (
            "users",
            [
                (i, f"shopper{i}@example.com", "VIP" if i % 9 == 0 else "STANDARD")
                for i in customers[start : start + 5_000]
            ],
        )
    for start in range(0, ORDERS * scale, 2_000):
        batch: dict[str, list[Row]] = {"orders": [], "inventory_items": [], "order_items": []}
        for i in range(start, min(start + 2_000, ORDERS * scale)):
            number = FIRST_ORDER + i if i < ORDERS else FIRST_SCALED_ORDER + i
            status = rng.choices(names, weights)[0]
            created = anchor - dt.timedelta(minutes=rng.randrange(5 * 24 * 60, 240 * 24 * 60))
            delivered = returned = None
            if status in ("Complete", "Returned"):
                delivered = created + dt.timedelta(minutes=rng.randrange(24 * 60, 5 * 24 * 60))
            if status == "Returned":
                span = int((anchor - delivered).total_seconds() // 60)
                returned = delivered + dt.timedelta(minutes=rng.randrange(0, max(span, 1)))
            batch["orders"].append(
                (number, rng.choice(customers), status, created, delivered, returned)
            )
            for n in range(1, rng.choices((1, 2, 3, 4), (50, 28, 15, 7))[0] + 1):
                product, item = rng.choice(products), number * 10 + n
                batch["inventory_items"].append((item, product["id"]))
                price = round(product["retail_price"] * rng.choice((1, 1, 1, 0.9, 0.8)), 2)
                batch["order_items"].append((item, number, item, status, price, returned, None))
        yield from batch.items()
