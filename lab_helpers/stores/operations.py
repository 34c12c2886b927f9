"""Spanner: what the shop holds. Reads of OperationalContextGraph and the refund transaction."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from google.api_core.exceptions import AlreadyExists
from google.cloud.spanner_v1 import JsonObject
from google.cloud.spanner_v1 import param_types as pt

from lab_helpers.stores import schema
from lab_helpers.stores.outage import READ, Revive, supervised

T = TypeVar("T")

_TYPES = {
    "user_id": pt.INT64,
    "target_order_id": pt.INT64,
    "order_id": pt.INT64,
    "rolling_window_days": pt.INT64,
    "returned_status": pt.STRING,
    "standard_tier": pt.STRING,
    "vip_tier": pt.STRING,
    "trace_id": pt.STRING,
}


@dataclass(frozen=True)
class Order:
    """One order of a customer as the store holds it. `age_days` counts from delivery."""

    order_id: int
    status: str
    age_days: int | None
    product_names: str
    categories: str
    items: int
    price: float


@dataclass(frozen=True)
class PolicyFacts:
    """The one row of the policy query: everything a decision needs (seed 000, sixteen columns)."""

    user_id: int
    email: str
    customer_tier: str
    target_order_id: int
    target_order_status: str
    product_names: str
    distribution_center_names: str
    target_order_price: float
    target_order_age_days: int | None
    prior_refund_count_100d: int
    policy_id: str
    policy_name: str
    condition_id: str
    max_refunds_100d: int
    return_window_days: int
    restriction_action: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Commit:
    """What the refund transaction saw and did. `facts` is None where the order was not found."""

    committed: bool
    facts: PolicyFacts | None
    failure_code: str | None


# Refund transactions of one process at a time. More of them only read what another is about to
# change, are aborted, and read it all again.
COMMITS_AT_ONCE = 3

# What lab_state says under "graph" where the service has the tables and runs no graphs.
NO_GRAPHS = "none here"


class OperationsStore:
    """Reads and the one write of the operational store. `database` is a Spanner Database.

    `plain` turns GQL into SQL for an emulator that knows no graphs, and other text into None.
    """

    def __init__(
        self,
        database: Any,
        revive: Revive | None = None,
        plain: Callable[[str], str | None] | None = None,
    ) -> None:
        self.database, self._revive, self._plain = database, revive, plain
        self._commits = threading.Semaphore(COMMITS_AT_ONCE)
        self._policy = schema.gql("operations/policy_evaluation")
        self._orders = schema.gql("operations/customer_orders")

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a read-only query on one snapshot, as dictionaries. Types follow the names."""
        types = {k: _TYPES.get(k, _type_of(v)) for k, v in (params or {}).items()}
        sql = self._runnable(sql)
        return self._read(
            lambda s: _rows(
                s.execute_sql(sql, params=dict(params or {}), param_types=types, **READ)
            )
        )

    def _runnable(self, text: str) -> str:
        sql = self._plain(text) if self._plain else None
        return sql if sql and self.state("graph") == NO_GRAPHS else text

    def _read(self, work: Callable[[Any], T]) -> T:
        def on_snapshot() -> T:
            with self.database.snapshot() as snapshot:
                return work(snapshot)

        return supervised(on_snapshot, self._revive)

    def _batch(self, work: Callable[[Any], None]) -> None:
        def in_batch() -> None:
            with self.database.batch() as batch:
                work(batch)

        supervised(in_batch, self._revive)

    def orders(self, user_id: int) -> list[Order]:
        """The customer's orders, newest first; [] for an unknown customer."""
        return [
            Order(**{k: v for k, v in row.items() if k != "created_at"})
            for row in self.query(self._orders, {"user_id": user_id})
        ]

    def policy_facts(
        self, user_id: int, order_id: int, contract: Mapping[str, Any]
    ) -> PolicyFacts | None:
        """The policy row for this customer and order, or None where the order is not theirs."""
        return self._read(lambda s: self._facts(s, user_id, order_id, contract))

    def _facts(
        self, reader: Any, user_id: int, order_id: int, contract: Mapping[str, Any]
    ) -> PolicyFacts | None:
        params = {
            "user_id": user_id,
            "target_order_id": order_id,
            **{
                k: contract[k]
                for k in ("returned_status", "rolling_window_days", "standard_tier", "vip_tier")
            },
        }
        types = {k: _TYPES[k] for k in params}
        policy = self._runnable(self._policy)
        rows = _rows(reader.execute_sql(policy, params=params, param_types=types, **READ))
        if len(rows) > 1:
            # Two governing policies for one order: nothing here may choose between them.
            raise LookupError(f"order {order_id} is governed by {len(rows)} policy conditions")
        return PolicyFacts(**rows[0]) if rows else None

    def conditions(self) -> dict[str, dict[str, Any]]:
        """Tier to its policy condition: condition_id, max_refunds_100d, return_window_days."""
        rows = self.query(
            "SELECT applicable_tier, condition_id, max_refunds_100d, return_window_days"
            " FROM policy_conditions ORDER BY condition_id"
        )
        return {row.pop("applicable_tier"): row for row in rows}

    def commit_refund(
        self,
        user_id: int,
        order_id: int,
        trace_id: str,
        contract: Mapping[str, Any],
        failure: Callable[[PolicyFacts | None], str | None],
        trail: Callable[[PolicyFacts], str],
    ) -> Commit:
        """Re-check everything under the transaction and, only if nothing fails, write the refund.

        `failure` is the pure rule that turns facts into a failure code (None means PASS).
        `trail` gives the JSON text for `lineage_outbox`, written in the same commit.
        Running it again with the same trace id changes nothing and reports the same commit.
        """

        def work(transaction: Any) -> Commit:
            facts = self._facts(transaction, user_id, order_id, contract)
            code = failure(facts)
            if facts is None:
                return Commit(False, None, code)
            if code is not None:
                # A retry of a commit whose answer was lost finds its own refund in its way.
                done = transaction.execute_sql(
                    "SELECT refund_trace_id FROM order_items WHERE order_id = @order_id",
                    params={"order_id": order_id},
                    param_types={"order_id": pt.INT64},
                    **READ,
                )
                ours = {row[0] for row in done} == {trace_id}
                return Commit(ours, facts, None if ours else code)
            binding = {
                "order_id": order_id,
                "user_id": user_id,
                "returned_status": contract["returned_status"],
                "trace_id": trace_id,
            }
            status, counts = transaction.batch_update([_statement(s, binding) for s in _REFUND])
            if status.code != 0 or next(iter(counts)) != 1:
                raise RuntimeError(f"refund of order {order_id} was not written: {status.message}")
            transaction.insert(
                "lineage_outbox",
                ("trace_id", "payload", "status", "created_at"),
                [(trace_id, trail(facts), "PENDING", _COMMIT_TIME)],
            )
            return Commit(True, facts, None)

        with self._commits:
            return supervised(lambda: self.database.run_in_transaction(work), self._revive)

    def refund_trace(self, order_id: int) -> set[str]:
        """The trace ids that refunded this order's items; empty when none did."""
        rows = self.query(
            "SELECT DISTINCT refund_trace_id FROM order_items"
            " WHERE order_id = @order_id AND refund_trace_id IS NOT NULL",
            {"order_id": order_id},
        )
        return {row["refund_trace_id"] for row in rows}

    # -- the outbox ---------------------------------------------------------------------------

    def put_outbox(self, trace_id: str, payload: str) -> None:
        """Keep (or replace) what BigQuery must still be told of one turn."""
        self._batch(lambda b: b.insert_or_update(*_owed(trace_id, payload)))

    def add_outbox(self, trace_id: str, payload: str) -> None:
        """As `put_outbox`, but what the outbox knows of the turn already stays: a commit writes
        its own trail, and it may come at the last moment."""
        with contextlib.suppress(AlreadyExists):
            self._batch(lambda b: b.insert(*_owed(trace_id, payload)))

    def mark_delivered(self, trace_ids: list[str]) -> None:
        """Tick trails off as delivered to BigQuery."""
        if trace_ids:
            rows = [(t, "DELIVERED", _COMMIT_TIME) for t in trace_ids]
            columns = ("trace_id", "status", "delivered_at")
            self._batch(lambda b: b.update("lineage_outbox", columns, rows))

    def pending_outbox(self) -> dict[str, str]:
        """Trace id to payload of every turn whose trail is not yet delivered, oldest first."""
        rows = self.query(
            "SELECT trace_id, payload FROM lineage_outbox WHERE status = 'PENDING'"
            " ORDER BY created_at, trace_id"
        )
        return {row["trace_id"]: row["payload"] for row in rows}

    def refunds(self) -> list[dict[str, Any]]:
        """Every refund this lab wrote: order, customer and trace id."""
        return self.query(
            "SELECT DISTINCT o.order_id, o.user_id, i.refund_trace_id AS trace_id"
            " FROM orders AS o JOIN order_items AS i ON i.order_id = o.order_id"
            " WHERE i.refund_trace_id IS NOT NULL ORDER BY o.order_id"
        )

    # -- the lab's own memory -----------------------------------------------------------------

    def state(self, name: str) -> str | None:
        """The value kept under `name` in lab_state, or None."""
        rows = self.query("SELECT value FROM lab_state WHERE name = @name", {"name": name})
        return rows[0]["value"] if rows else None

    def remember(self, name: str, value: str) -> None:
        """Keep a value under `name` in lab_state; a reset of the orders leaves it."""
        self._batch(lambda b: b.insert_or_update("lab_state", ("name", "value"), [(name, value)]))

    def remembered(self, prefix: str) -> set[str]:
        """What follows `prefix` in the names that lab_state holds."""
        rows = self.query(
            "SELECT name FROM lab_state WHERE STARTS_WITH(name, @prefix)", {"prefix": prefix}
        )
        return {row["name"].removeprefix(prefix) for row in rows}

    def count(self, table: str) -> int:
        """Rows in one table of the store."""
        return self.query(f"SELECT COUNT(*) AS n FROM `{table}`")[0]["n"]


_COMMIT_TIME = "spanner.commit_timestamp()"
_REFUND = (
    "UPDATE orders SET status = @returned_status, returned_at = CURRENT_TIMESTAMP()"
    " WHERE order_id = @order_id AND user_id = @user_id",
    "UPDATE order_items SET status = @returned_status, returned_at = CURRENT_TIMESTAMP(),"
    " refund_trace_id = @trace_id WHERE order_id = @order_id",
)


def _statement(sql: str, binding: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    used = {k: v for k, v in binding.items() if f"@{k}" in sql}
    return sql, used, {k: _TYPES[k] for k in used}


def _owed(trace_id: str, payload: str) -> tuple[str, tuple[str, ...], list[tuple[Any, ...]]]:
    columns = ("trace_id", "payload", "status", "created_at", "delivered_at")
    return "lineage_outbox", columns, [(trace_id, payload, "PENDING", _COMMIT_TIME, None)]


def _type_of(value: Any) -> Any:
    return {bool: pt.BOOL, int: pt.INT64, float: pt.FLOAT64}.get(type(value), pt.STRING)


def _rows(results: Any) -> list[dict[str, Any]]:
    rows = list(results)
    names = [field.name for field in results.fields] if rows else []
    return [dict(zip(names, map(_plain, row), strict=True)) for row in rows]


def _plain(value: Any) -> Any:
    # Older clients hand out a JSON array as a dict that looks empty.
    return json.loads(value.serialize() or "null") if isinstance(value, JsonObject) else value
