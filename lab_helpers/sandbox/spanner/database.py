"""One Spanner database: its file, its schema, and the transactions that are open on it."""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb

from lab_helpers.sandbox.spanner import ddl, duckdb_errors, graphs, translate
from lab_helpers.sandbox.spanner.codec import duckdb_type
from lab_helpers.sandbox.spanner.errors import (
    SpannerError,
    aborted,
    failed_precondition,
    invalid,
    not_found,
    storage_failed,
)
from lab_helpers.sandbox.spanner.lock import WriterLock
from lab_helpers.sandbox.spanner.schema import Schema, Table
from lab_helpers.sandbox.spanner.statements import (
    Field,
    KeyedRead,
    Row,
    SqlStatement,
    Statement,
    keyed_read,
    sql_statement,
)
from lab_helpers.sandbox.spanner.storage import Storage
from lab_helpers.sandbox.spanner.timeline import Timeline
from lab_helpers.sandbox.spanner.transactions import Mode, State, Transaction

# What is kept in memory of transactions that are over, and of those that clients leave open.
REMEMBERED = 10_000
# Clients never end a snapshot; each costs about 2 MB until it is idle too long or one too many.
SNAPSHOTS_OPEN = 64
READ_WRITE_IDLE_S = 60.0
READ_ONLY_IDLE_S = 120.0
SWEEP_EVERY_S = 5.0
# Commits are remembered on disk this long, so that a Commit sent again after a crash is answered.
COMMITS_KEPT = dt.timedelta(hours=1)
PRUNE_EVERY = 2_000


class Database:
    """Open on one file. `close` it before another opens the same file."""

    def __init__(self, path: Path) -> None:
        try:
            self.storage = Storage(path)
            with self.storage.connection() as connection:
                self.schema: Schema = ddl.load(ddl.stored(connection), self._describe)
        except (duckdb.IOException, OSError) as error:
            raise storage_failed(error) from error
        self.lock = WriterLock()
        self.timeline = Timeline()
        self.broken = False  # the file has to be opened again
        self._boot = secrets.token_hex(4)
        self._guard = threading.Lock()
        self._begun = 0
        self._commits = 0
        self._open: dict[str, Transaction] = {}
        self._over: OrderedDict[str, tuple[State, dt.datetime | None]] = OrderedDict()
        self._aborted_in: OrderedDict[str, None] = OrderedDict()  # sessions
        self._next_sweep = 0.0
        self._prepared = lru_cache(maxsize=2_000)(self._prepare)

    def close(self) -> None:
        for transaction in list(self._open.values()):
            transaction.rollback()
        with contextlib.suppress(duckdb.Error):
            self.storage.close()

    # ------------------------------------------------------------ schema

    def update_ddl(self, statements: list[str]) -> None:
        """Applies them one by one: those before a failing one stay. Raises its error."""
        for sql in statements:
            self._apply_ddl(sql)
        self.storage.checkpoint()

    def _apply_ddl(self, sql: str) -> None:
        holder = self.begin(Mode.READ_WRITE, session="")
        try:
            with holder.mutex:  # held throughout, so that no one takes the lock away
                self.lock.acquire(holder)
                with self.storage.transaction() as connection:
                    changed = ddl.apply(sql, self.schema, connection)
                    if changed is not self.schema:
                        ddl.store(changed, connection)
                self.schema = changed
                self.timeline.changed()
        except duckdb.Error as error:
            raise self.explain(error, None) from error
        finally:
            holder.rollback()

    def _describe(self, sql: str) -> list[tuple[str, str]]:
        with self.storage.connection() as connection:
            described = connection.execute(sql).description
            return [(column[0], str(column[1])) for column in described]

    # ------------------------------------------------------------ statements

    def sql(self, text: str, parameters: Any, types: Any) -> SqlStatement:
        """A request's SQL, translated and bound. Raises INVALID_ARGUMENT."""
        kinds = [(name.lower(), duckdb_type(types[name])) for name in types]
        known = tuple(sorted((name, kind) for name, kind in kinds if kind is not None))
        schema = self.schema
        try:
            prepared = self._prepared(text, known, schema.version)
        except duckdb.Error as error:
            raise self.explain(error, None) from error
        return sql_statement(prepared, schema, parameters, types, self.timeline.now())

    def _prepare(
        self, text: str, types: translate.ParameterTypes, version: int
    ) -> translate.Prepared:
        schema = self.schema
        return translate.prepare(text, schema, types, graphs.SchemaTables(schema, self._describe))

    def keyed_read(self, request: Any) -> KeyedRead:
        return keyed_read(request, self.schema)

    def read(self, statement: Statement) -> tuple[tuple[Field, ...], Iterator[list[Row]]]:
        """Runs a query on the newest data, outside any transaction; rows come in batches."""
        if statement.writes:
            raise invalid(
                "DML statements can only be performed in a read-write or partitioned-dml "
                "transaction."
            )
        connection = self.storage.borrow()
        try:
            fields, batches = statement.open(connection)
        except duckdb.Error as error:
            connection.close()
            raise self.explain(error, None) from error
        return fields, self._drain(connection, batches)

    def _drain(
        self, connection: duckdb.DuckDBPyConnection, batches: Iterator[list[Row]]
    ) -> Iterator[list[Row]]:
        finished = False
        try:
            yield from batches
            finished = True
        except duckdb.Error as error:
            raise self.explain(error, None) from error
        finally:
            if finished:
                self.storage.give_back(connection)
            else:
                connection.close()  # it still holds the rest of the rows

    def explain(self, error: duckdb.Error, table: Table | None) -> SpannerError:
        self.broken |= duckdb_errors.needs_reopening(error)
        return duckdb_errors.explain(error, self.schema, table, self._check_texts)

    def _check_texts(self, table: str) -> list[str]:
        with self.storage.connection() as connection:
            rows = connection.execute(
                "SELECT constraint_text FROM duckdb_constraints() WHERE table_name = ? AND "
                "constraint_type = 'CHECK' ORDER BY constraint_index",
                [table],
            )
            return [row[0] for row in rows.fetchall()]

    # ------------------------------------------------------------ transactions

    def begin(self, mode: Mode, session: str, *, is_retry: bool = False) -> Transaction:
        """A new transaction. `is_retry`: the client says so; a session whose last one was aborted
        is known to retry without saying."""
        self._sweep()
        with self._guard:
            self._begun += 1
            id = f"{self._boot}.{self._begun}.{mode.value}"
            if mode is Mode.READ_WRITE and session in self._aborted_in:
                del self._aborted_in[session]
                is_retry = True
            transaction = Transaction(self, id, mode, session, is_retry=is_retry)
            self._open[id] = transaction
        return transaction

    def transaction(self, raw_id: bytes) -> Transaction:
        """The open transaction of that id. Raises as Spanner does for one that is over."""
        id = raw_id.decode("utf-8", "replace")
        found = self._open.get(id)
        if found is not None:
            return found
        state, _ = self._over.get(id, (None, None))
        if state in (State.COMMITTED, State.ROLLED_BACK):
            raise failed_precondition(
                "Cannot read or query using a transaction after it has been committed or "
                "rolledback."
            )
        if id.endswith(f".{Mode.READ_ONLY.value}"):
            raise failed_precondition(
                f"The snapshot {id} is gone: it was idle too long, or the sandbox was restarted. "
                "Begin a new one."
            )
        if state is State.ABORTED or id.count(".") == 2:
            raise aborted(f"Transaction {id} was aborted.")
        raise not_found(f"Transaction not found: {id}")

    def commit(self, raw_id: bytes, mutations: Any) -> dt.datetime:
        """Commits; a Commit that is sent again gets the timestamp that it already has."""
        id = raw_id.decode("utf-8", "replace")
        if id not in self._open:
            done = self._committed_at(id)
            if done is not None:
                return done
        timestamp = self.transaction(raw_id).commit(mutations)
        self._prune()
        return timestamp

    def write(self, mutations: Any, session: str) -> dt.datetime:
        """Mutations in a transaction of their own."""
        timestamp = self.begin(Mode.READ_WRITE, session).commit(mutations)
        self._prune()
        return timestamp

    def rollback(self, raw_id: bytes) -> None:
        found = self._open.get(raw_id.decode("utf-8", "replace"))
        if found is not None:
            found.rollback()

    def forget(self, transaction: Transaction) -> None:
        """Called by a transaction that has ended."""
        with self._guard:
            self._open.pop(transaction.id, None)
            self._over[transaction.id] = (transaction.state, transaction.commit_time)
            if transaction.state is State.ABORTED and transaction.session:
                self._aborted_in[transaction.session] = None
            for memory in (self._over, self._aborted_in):
                while len(memory) > REMEMBERED:
                    memory.popitem(last=False)

    def _committed_at(self, id: str) -> dt.datetime | None:
        state, at = self._over.get(id, (None, None))
        if state is State.COMMITTED:
            return at
        with self.storage.connection() as connection:
            row = connection.execute(
                "SELECT committed_at FROM sandbox_private.commits WHERE transaction_id = ?", [id]
            ).fetchone()
        return row[0] if row else None

    def _sweep(self) -> None:
        """Ends what clients have forgotten: idle transactions, and the oldest of many snapshots."""
        now = time.monotonic()
        if now < self._next_sweep and len(self._open) <= SNAPSHOTS_OPEN:
            return
        self._next_sweep = now + SWEEP_EVERY_S
        snapshots = []
        for transaction in list(self._open.values()):
            is_snapshot = transaction.mode is Mode.READ_ONLY
            idle_s = READ_ONLY_IDLE_S if is_snapshot else READ_WRITE_IDLE_S
            if not transaction.expire_if_idle(idle_s) and is_snapshot:
                snapshots.append(transaction)
        for transaction in snapshots[: max(0, len(snapshots) - SNAPSHOTS_OPEN)]:
            transaction.expire_if_idle(0.5)

    def _prune(self) -> None:
        self._commits += 1
        if self._commits % PRUNE_EVERY:
            return
        holder = self.begin(Mode.READ_WRITE, session="")
        try:
            with holder.mutex:
                self.lock.acquire(holder)
                with self.storage.transaction() as connection:
                    connection.execute(
                        "DELETE FROM sandbox_private.commits WHERE committed_at < ?",
                        [self.timeline.now() - COMMITS_KEPT],
                    )
        except (duckdb.Error, SpannerError):
            pass  # the next time will do
        finally:
            holder.rollback()
