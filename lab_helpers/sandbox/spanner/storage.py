"""One DuckDB file: how it is opened, its connections, and the service's own tables in it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb

from lab_helpers.sandbox.spanner import functions

# Spanner evaluates SQL in this zone unless told otherwise.
TIME_ZONE = "America/Los_Angeles"
# Idle connections kept for the next reader; more are opened under load and closed after it.
SPARE_CONNECTIONS = 8

_PRIVATE_TABLES = """
CREATE SCHEMA IF NOT EXISTS sandbox_private;
CREATE TABLE IF NOT EXISTS sandbox_private.ddl(position INTEGER, statement VARCHAR);
CREATE TABLE IF NOT EXISTS
    sandbox_private.commits(transaction_id VARCHAR, committed_at TIMESTAMPTZ);
"""


class Storage:
    """Connections to one database file. Raises duckdb.Error where the file cannot be opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # One thread per query: the queries themselves run side by side, and sums of floats are
        # added in the same order each time, which re-validation relies on.
        self._root = duckdb.connect(str(path), config={"threads": 1, "memory_limit": "2GB"})
        self._root.execute(f"SET GLOBAL TimeZone = '{TIME_ZONE}'")
        self._root.execute(_PRIVATE_TABLES)
        self._root.execute(functions.MACROS)
        # SQL arrives over a socket: no files, no extensions, no way to switch this off again.
        self._root.execute("SET GLOBAL autoinstall_known_extensions = false")
        self._root.execute("SET GLOBAL autoload_known_extensions = false")
        self._root.execute("SET GLOBAL enable_external_access = false")
        self._root.execute("SET GLOBAL lock_configuration = true")
        self._guard = threading.Lock()
        self._spare: list[duckdb.DuckDBPyConnection] = []
        self._closed = False

    def borrow(self) -> duckdb.DuckDBPyConnection:
        """A connection outside any transaction; hand it back with `give_back`."""
        with self._guard:
            if self._spare:
                return self._spare.pop()
            return self._root.cursor()

    def give_back(self, connection: duckdb.DuckDBPyConnection) -> None:
        with self._guard:
            if len(self._spare) < SPARE_CONNECTIONS and not self._closed:
                self._spare.append(connection)
                return
        connection.close()

    @contextlib.contextmanager
    def connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = self.borrow()
        try:
            yield connection
        finally:
            self.give_back(connection)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Commits at the end, rolls back on any error."""
        with self.connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def checkpoint(self) -> None:
        """Moves the log into the file; where that cannot be done now, leaves it for later."""
        with self.connection() as connection, contextlib.suppress(duckdb.Error):
            connection.execute("CHECKPOINT")

    def close(self) -> None:
        """The file is free once the connections that are still lent out have come back."""
        with self._guard:
            self._closed = True
            for connection in self._spare:
                connection.close()
            self._spare.clear()
        self._root.close()
