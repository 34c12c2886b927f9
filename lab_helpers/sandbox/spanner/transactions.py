"""Transactions: how they see the data, when they may write, and how they end.

Statements of a read-write transaction run at once on a DuckDB snapshot. The writer lock is taken at
the first write, at the commit, or - when the client is retrying - at the first statement. If others
committed in between, everything the transaction did is done again on the newest data; where any
result differs the transaction is ABORTED, otherwise it goes on as if it had begun just now. So
every transaction that commits equals one that ran alone at the moment it took the lock.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import duckdb
import grpc

from lab_helpers.sandbox.spanner.constraints import Changes
from lab_helpers.sandbox.spanner.errors import SpannerError, aborted, failed_precondition, invalid
from lab_helpers.sandbox.spanner.lock import WriterLock
from lab_helpers.sandbox.spanner.mutations import Applier, check_count
from lab_helpers.sandbox.spanner.schema import Schema, Table
from lab_helpers.sandbox.spanner.statements import Outcome, Statement
from lab_helpers.sandbox.spanner.storage import Storage
from lab_helpers.sandbox.spanner.timeline import Timeline


class Mode(Enum):
    READ_ONLY = "ro"
    READ_WRITE = "rw"
    PARTITIONED_DML = "pd"


class State(Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    ABORTED = "aborted"


class Surroundings(Protocol):
    """What a transaction needs of its database."""

    storage: Storage
    lock: WriterLock
    timeline: Timeline
    schema: Schema

    def forget(self, transaction: Transaction) -> None: ...

    def explain(self, error: duckdb.Error, table: Table | None) -> SpannerError: ...


@dataclass(frozen=True)
class _Done:
    statement: Statement
    fingerprint: int


class Transaction:
    """One at a time may call it; `mutex` sees to that."""

    def __init__(
        self, database: Surroundings, id: str, mode: Mode, session: str, *, is_retry: bool = False
    ) -> None:
        self._database = database
        self.id = id
        self.mode = mode
        self.session = session
        self.mutex = threading.RLock()
        self.state = State.OPEN
        self.begun_at = database.timeline.now()
        self.commit_time: dt.datetime | None = None
        self.replies: dict[int, tuple[int, Any]] = {}  # by seqno: request digest, reply
        self._is_retry = is_retry
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._schema_version = -1
        self._changes_seen = -1
        self._done: list[_Done] = []
        self._wrote = False
        self._doomed: SpannerError | None = None
        self._last_used = time.monotonic()
        self._last_failed = False

    # ------------------------------------------------------------ statements

    def execute(self, statement: Statement) -> Outcome:
        """Raises the statement's error, or ABORTED. After a constraint error it always raises."""
        with self.mutex:
            self._last_used = time.monotonic()
            self._last_failed = True
            try:
                outcome = self._execute(statement)
                self._last_failed = False
                return outcome
            finally:
                self._last_used = time.monotonic()

    def _execute(self, statement: Statement) -> Outcome:
        self.require_open()
        if self._doomed is not None:
            raise self._doomed
        if self.mode is Mode.READ_ONLY and statement.writes:
            raise invalid("DML statements may not be performed in a read-only transaction.")
        if self.mode is Mode.PARTITIONED_DML and not statement.writes:
            raise invalid("PartitionedDml Transactions may only be used to execute DML statements")
        if self.mode is not Mode.READ_ONLY and (statement.writes or self._is_retry):
            self._take_lock()
        connection = self._begun()
        if self.mode is not Mode.READ_ONLY and statement.schema.version != self._schema_version:
            self._abort("was aborted due to a concurrent schema change")
        outcome = self._run(statement, connection)
        if self.mode is not Mode.READ_ONLY:
            self._done.append(_Done(statement, outcome.fingerprint()))
            self._wrote |= statement.writes
        return outcome

    def _run(self, statement: Statement, connection: duckdb.DuckDBPyConnection) -> Outcome:
        try:
            return statement.run(connection, self.commit_time)
        except duckdb.TransactionException as error:
            self._abort(f"was aborted: {error}")
        except (duckdb.Error, SpannerError) as error:
            failure = error
            if isinstance(error, duckdb.Error):
                failure = self._database.explain(error, statement.table)
            if failure.dooms_transaction:
                self._doomed = failure
            elif self.mode is Mode.READ_WRITE:
                self._recover()
            raise failure from error
        raise AssertionError("unreachable: _abort always raises")

    def _recover(self) -> None:
        """DuckDB gives a transaction up after a run-time error; Spanner only the statement."""
        try:
            self._begun().execute("SELECT 1").fetchall()
        except duckdb.Error:
            self._replay()

    # ------------------------------------------------------------ snapshot and lock

    def pin(self) -> None:
        """Fixes the snapshot now, for a read-only transaction whose timestamp is told at once."""
        with self.mutex:
            self._begun()

    def _begun(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = self._database.storage.borrow()
            # Both are read before the snapshot exists, so it is never older than they say.
            self._changes_seen = self._database.timeline.changes
            self._schema_version = self._database.schema.version
            self._connection.execute("BEGIN")
            self._connection.execute("SELECT 1 FROM sandbox_private.ddl LIMIT 1").fetchall()
        return self._connection

    def _take_lock(self) -> None:
        lock = self._database.lock
        if lock.held_by(self):
            return
        lock.acquire(self)
        # Fixed here rather than at the commit: commits are ordered by the lock, and DML needs it.
        self.commit_time = self._database.timeline.now()
        if self._connection is None:
            return
        if self._changes_seen != self._database.timeline.changes:
            self._replay()

    def _replay(self) -> None:
        """Does everything again on the newest data; ABORTED where anything comes out otherwise."""
        self._drop_connection()
        connection = self._begun()
        for done in self._done:
            if done.statement.schema.version != self._schema_version:
                self._abort("was aborted due to a concurrent schema change")
            try:
                outcome = done.statement.run(connection, self.commit_time)
            except (duckdb.Error, SpannerError) as error:
                self._abort(f"was aborted: {error}")
            if outcome.fingerprint() != done.fingerprint:
                self._abort("was aborted: data that it read was changed by another transaction")

    # ------------------------------------------------------------ the end

    def commit(self, mutations: Any) -> dt.datetime:
        """Returns the commit timestamp, after the change is on disk. Raises as `execute` does."""
        with self.mutex:
            self.require_open()
            try:
                return self._commit(mutations)
            except duckdb.Error as error:
                failure = self._database.explain(error, None)
                is_abort = failure.code is grpc.StatusCode.ABORTED
                self._end(State.ABORTED if is_abort else State.ROLLED_BACK)
                raise failure from error
            except SpannerError:
                if self.state is State.OPEN:
                    self._end(State.ROLLED_BACK)
                raise

    def _commit(self, mutations: Any) -> dt.datetime:
        if self.mode is Mode.READ_ONLY:
            raise failed_precondition(
                "Cannot commit or rollback a read-only or partitioned-dml transaction."
            )
        if self._doomed is not None:
            raise self._doomed
        if not mutations and not self._wrote:
            self.commit_time = self._database.timeline.now()
            self._end(State.COMMITTED)
            return self.commit_time
        self._take_lock()
        connection = self._begun()
        assert self.commit_time is not None  # set with the lock
        if mutations:
            self._apply(connection, mutations)
        connection.execute(
            "INSERT INTO sandbox_private.commits VALUES (?, ?)", [self.id, self.commit_time]
        )
        connection.execute("COMMIT")
        self._database.timeline.changed()
        self._give_back()
        self._end(State.COMMITTED)
        return self.commit_time

    def _apply(self, connection: duckdb.DuckDBPyConnection, mutations: Any) -> None:
        assert self.commit_time is not None
        check_count(mutations)
        schema = self._database.schema
        changes = Changes(connection, schema)
        applier = Applier(connection, schema, changes, self.commit_time)
        try:
            for mutation in mutations:
                applier.apply(mutation)
            changes.check()
        except duckdb.TransactionException as error:
            self._abort(f"was aborted: {error}")
        except duckdb.Error as error:
            raise self._database.explain(error, applier.table) from error

    def rollback(self) -> None:
        with self.mutex:
            if self.state is State.OPEN:
                self._end(State.ROLLED_BACK)

    def require_open(self) -> None:
        if self.state is State.ABORTED:
            raise aborted(f"Transaction {self.id} was aborted.")
        if self.state is not State.OPEN:
            raise failed_precondition(
                "Cannot read or query using a transaction after it has been committed or "
                "rolledback."
            )

    def preempt_if_idle(self, idle_s: float, failed_s: float) -> bool:
        """Gives the lock to others where no call runs here and none has come for a while."""
        return self._end_if_idle(failed_s if self._last_failed else idle_s)

    def expire_if_idle(self, idle_s: float) -> bool:
        """Ends a transaction that its client has forgotten."""
        return self._end_if_idle(idle_s)

    def _end_if_idle(self, limit_s: float) -> bool:
        if not self.mutex.acquire(blocking=False):
            return False
        try:
            idle = time.monotonic() - self._last_used > limit_s
            if self.state is State.OPEN and idle:
                self._end(State.ABORTED)
                return True
            return False
        finally:
            self.mutex.release()

    def _abort(self, why: str) -> None:
        self._end(State.ABORTED)
        raise aborted(f"Transaction {self.id} {why}")

    def _end(self, state: State) -> None:
        self._drop_connection()
        self.state = state
        self._done.clear()
        self._database.lock.release(self)
        self._database.forget(self)

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(duckdb.Error):
                self._connection.execute("ROLLBACK")
            self._give_back()

    def _give_back(self) -> None:
        if self._connection is not None:
            self._database.storage.give_back(self._connection)
            self._connection = None
