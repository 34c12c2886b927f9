"""Put the demo back: orders in one transaction, lineage only when asked. Re-anchor old ages."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from google.cloud.spanner_v1 import param_types as pt

from lab_helpers.provision import store
from lab_helpers.provision.install import now, put_state, state
from lab_helpers.stores.lineage import LineageStore
from lab_helpers.stores.operations import OperationsStore
from lab_helpers.stores.personas import all_personas

# An age ticks over 18 hours after the anchor; two hours are left for a lab begun late.
STALE_AFTER = dt.timedelta(hours=16)
CLOCK_BACK = dt.timedelta(hours=5)


@dataclass(frozen=True)
class ResetResult:
    """What a reset changed: refunded orders put back, lineage rows removed, trails dropped."""

    orders_put_back: int
    lineage_rows_removed: int = 0

    def __repr__(self) -> str:
        lines = [f"orders put back: {self.orders_put_back}"]
        if self.lineage_rows_removed:
            lines.append(f"lineage rows removed: {self.lineage_rows_removed}")
        return "\n".join(lines)


def reset_orders(operations: OperationsStore) -> ResetResult:
    """Every refund undone (status, returned_at, refund_trace_id) and demo ages counted from now."""
    refunded = operations.refunds()
    demo = store.demo_rows(now())
    others = {r["order_id"] for r in refunded} - {row[0] for row in demo["orders"]}

    def work(transaction: Any) -> None:
        # A read first: a transaction that begins with a mutation has nothing to hold on to.
        anchor = transaction.execute_sql("SELECT value FROM lab_state WHERE name = 'anchor'")
        list(anchor)
        if others:
            transaction.batch_update([_undo(table, sorted(others)) for table in _UNDO])
        for table in ("orders", "order_items"):
            transaction.insert_or_update(table, store.COLUMNS[table], demo[table])
        transaction.insert_or_update(
            "lab_state", ("name", "value"), [("anchor", now().isoformat())]
        )

    operations.database.run_in_transaction(work)
    return ResetResult(len(refunded))


_UNDO = {
    "orders": "UPDATE orders SET status = 'Complete', returned_at = NULL"
    " WHERE order_id IN UNNEST(@orders)",
    "order_items": "UPDATE order_items SET status = 'Complete', returned_at = NULL,"
    " refund_trace_id = NULL WHERE order_id IN UNNEST(@orders)",
}


def _undo(table: str, orders: list[int]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    return _UNDO[table], {"orders": orders}, {"orders": pt.Array(pt.INT64)}


def reset_all(
    operations: OperationsStore, lineage: LineageStore, *, settled_only: bool = False
) -> ResetResult:
    """Orders as `reset_orders`, and the trail emptied: rows in BigQuery and the outbox.

    With `settled_only` (the cloud) fresh rows stay in BigQuery and are not shown; see
    `LineageStore.clear`. The moment is kept in lab_state, for a lab that is opened later.
    """
    removed = sum(lineage.counts().values())
    result = reset_orders(operations)
    since = lineage.clear(settled_only=settled_only)
    if since is not None:
        put_state(operations.database, reset_at=since.isoformat())
    operations.database.run_in_transaction(
        lambda t: (
            list(t.execute_sql("SELECT 1")),
            t.execute_update("DELETE FROM lineage_outbox WHERE true"),
        )
    )
    return ResetResult(result.orders_put_back, removed)


def reanchor(operations: OperationsStore) -> dt.timedelta | None:
    """Move the demo customers' orders in time when their ages have gone stale overnight.

    Returns how far they were moved, or None when nothing had to be.
    """
    kept = state(operations.database, "anchor")
    if kept is None or not _stale(kept):
        return None
    customers = [p.user_id for p in all_personas().values()]

    def work(transaction: Any) -> dt.timedelta | None:
        rows = list(transaction.execute_sql("SELECT value FROM lab_state WHERE name = 'anchor'"))
        if not rows or not _stale(rows[0][0]):
            return None  # another kernel was quicker
        shift = now() - dt.datetime.fromisoformat(rows[0][0])
        values = {"shift": int(shift.total_seconds()), "customers": customers}
        types = {"shift": pt.INT64, "customers": pt.Array(pt.INT64)}
        transaction.batch_update([(sql, values, types) for sql in _SHIFT])
        moved = (dt.datetime.fromisoformat(rows[0][0]) + shift).isoformat()
        transaction.insert_or_update("lab_state", ("name", "value"), [("anchor", moved)])
        return shift

    return operations.database.run_in_transaction(work)


def _stale(anchor: str) -> bool:
    age = now() - dt.datetime.fromisoformat(anchor)
    return age >= STALE_AFTER or age <= -CLOCK_BACK


def _moved(column: str) -> str:
    # A refund made minutes ago must not land in the future.
    return f"{column} = LEAST(TIMESTAMP_ADD({column}, INTERVAL @shift SECOND), CURRENT_TIMESTAMP())"


_SHIFT = (
    f"UPDATE orders SET {_moved('created_at')}, {_moved('delivered_at')}, {_moved('returned_at')}"
    " WHERE user_id IN UNNEST(@customers)",
    f"UPDATE order_items SET {_moved('returned_at')} WHERE order_id IN"
    " (SELECT order_id FROM orders WHERE user_id IN UNNEST(@customers))",
)
