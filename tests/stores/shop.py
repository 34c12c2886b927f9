"""Customers made for one test, with orders of known ages."""

from __future__ import annotations

import datetime as dt
import itertools

from lab_helpers.provision.store import COLUMNS
from tests.unit.shop import CONTRACT

__all__ = ["CONTRACT", "ago", "customer", "order", "status"]

_ids = itertools.count(70_001)


def ago(days: float) -> dt.datetime:
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=days)


def customer(lab, tier: str = "STANDARD") -> int:
    user_id = next(_ids)
    with lab.operations.database.batch() as batch:
        batch.insert("users", COLUMNS["users"], [(user_id, f"t{user_id}@example.com", tier)])
    return user_id


def order(lab, user_id: int, *, delivered=5.0, status="Complete", items=1, returned=None) -> int:
    """One order; `delivered` and `returned` are days ago, None for never."""
    number = next(_ids)
    when = None if returned is None else ago(returned)
    rows = [
        (number * 100 + n, number, number * 100 + n, status, 20.0, when, None) for n in range(items)
    ]
    with lab.operations.database.batch() as batch:
        batch.insert(
            "orders",
            COLUMNS["orders"],
            [
                (
                    number,
                    user_id,
                    status,
                    ago(200),
                    None if delivered is None else ago(delivered),
                    when,
                )
            ],
        )
        batch.insert(
            "inventory_items", COLUMNS["inventory_items"], [(r[0], 101 + r[0] % 50) for r in rows]
        )
        batch.insert("order_items", COLUMNS["order_items"], rows)
    return number


def status(lab, number: int) -> str:
    rows = lab.operations.query(
        "SELECT status FROM orders WHERE order_id = @order_id", {"order_id": number}
    )
    return rows[0]["status"]
