"""Things that run inside a transaction and give an outcome: SQL statements and keyed reads.

Each can run again on another snapshot with the same values, which is how reads are re-validated.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb

from lab_helpers.sandbox.spanner import functions, keys
from lab_helpers.sandbox.spanner.codec import (
    COMMIT_TIMESTAMP,
    Type,
    decoder,
    type_from_duckdb,
    type_of_column,
)
from lab_helpers.sandbox.spanner.constraints import Changes
from lab_helpers.sandbox.spanner.errors import SpannerError, invalid
from lab_helpers.sandbox.spanner.schema import Schema, Table, quote
from lab_helpers.sandbox.spanner.translate import Kind, Prepared

Connection = duckdb.DuckDBPyConnection
Row = tuple[Any, ...]
BATCH_ROWS = 2_000


@dataclass(frozen=True)
class Field:
    name: str
    type: Any  # google.spanner.v1.Type


@dataclass(frozen=True)
class Outcome:
    """`count` is the number of rows that DML wrote, None for a query."""

    fields: tuple[Field, ...]
    rows: list[Row]
    count: int | None = None

    def fingerprint(self) -> int:
        """Equal for equal outcomes, whatever the order of the rows."""
        total = hash((len(self.rows), self.count))
        for row in self.rows:
            total = (total + hash(repr(row))) & 0xFFFF_FFFF_FFFF_FFFF
        return total


class Statement(Protocol):
    """`schema` is the one it was prepared for; `table` the one it writes, if any."""

    schema: Schema
    table: Table | None
    writes: bool

    def run(self, connection: Connection, commit_time: dt.datetime | None) -> Outcome: ...

    def open(self, connection: Connection) -> tuple[tuple[Field, ...], Iterator[list[Row]]]: ...


@dataclass(frozen=True)
class SqlStatement:
    """A query or DML statement with its values."""

    prepared: Prepared
    values: Mapping[str, Any]
    schema: Schema

    @property
    def writes(self) -> bool:
        return self.prepared.writes

    @property
    def table(self) -> Table | None:
        return self.prepared.table

    def run(self, connection: Connection, commit_time: dt.datetime | None) -> Outcome:
        result = self._execute(connection, commit_time)
        if not self.writes:
            return Outcome(self._fields(result), result.fetchall())
        return self._written(connection, result)

    def open(self, connection: Connection) -> tuple[tuple[Field, ...], Iterator[list[Row]]]:
        result = self._execute(connection, None)
        return self._fields(result), _batches(result)

    def _execute(self, connection: Connection, commit_time: dt.datetime | None) -> Connection:
        values = {
            name: commit_time if value is COMMIT_TIMESTAMP else value
            for name, value in self.values.items()
        }
        if functions.COMMIT_TIME in self.prepared.parameters:
            values[functions.COMMIT_TIME] = commit_time
        return connection.execute(self.prepared.sql, values)

    def _fields(self, result: Connection, hidden: int = 0) -> tuple[Field, ...]:
        described = result.description[: len(result.description) - hidden]
        names = self.prepared.names or [column[0] for column in described]
        return tuple(
            Field(name, type_from_duckdb(column[1]))
            for name, column in zip(names, described, strict=True)
        )

    def _written(self, connection: Connection, result: Connection) -> Outcome:
        hidden = len(self.prepared.hidden)
        fields = self._fields(result, hidden) if self.prepared.returns_rows else ()
        rows = result.fetchall()
        if not hidden and not self.prepared.returns_rows:
            return Outcome((), [], rows[0][0])
        if hidden:
            self._check(connection, [row[-hidden:] for row in rows])
        shown = [row[: len(row) - hidden] for row in rows] if self.prepared.returns_rows else []
        return Outcome(fields, shown, len(rows))

    def _check(self, connection: Connection, rows: list[Row]) -> None:
        changes = Changes(connection, self.schema)
        table = self.prepared.table
        assert table is not None  # DML always has one
        note = changes.deleted if self.prepared.kind is Kind.DELETE else changes.wrote
        note(table, self.prepared.hidden, rows)
        changes.check()


@dataclass(frozen=True)
class KeyedRead:
    """Rows of a table by key set, in the order of the key (or of an index)."""

    sql: str
    values: list[Any]
    fields: tuple[Field, ...]
    schema: Schema
    writes: bool = False
    table: Table | None = None

    def run(self, connection: Connection, commit_time: dt.datetime | None) -> Outcome:
        return Outcome(self.fields, connection.execute(self.sql, self.values).fetchall())

    def open(self, connection: Connection) -> tuple[tuple[Field, ...], Iterator[list[Row]]]:
        return self.fields, _batches(connection.execute(self.sql, self.values))


def _batches(result: Connection) -> Iterator[list[Row]]:
    while rows := result.fetchmany(BATCH_ROWS):
        yield rows


def sql_statement(
    prepared: Prepared, schema: Schema, parameters: Any, types: Any, now: dt.datetime
) -> SqlStatement:
    """Binds a request's parameters. Raises INVALID_ARGUMENT for a missing or malformed one."""
    given = {name.lower(): name for name in parameters.fields}
    typed = {name.lower(): types[name] for name in types}
    values: dict[str, Any] = {}
    for name in prepared.parameters:
        if name == functions.NOW:
            values[name] = now
        elif name == functions.COMMIT_TIME:
            continue  # known when the writer lock is held
        elif name not in given:
            raise invalid(f"No parameter found for binding: {name}")
        else:
            values[name] = _bound(name, parameters.fields[given[name]], typed.get(name))
    return SqlStatement(prepared, values, schema)


def _bound(name: str, value: Any, spanner_type: Any | None) -> Any:
    read = decoder(spanner_type) if spanner_type is not None else _UNTYPED
    try:
        return read(value)
    except SpannerError as error:
        raise invalid(f"Invalid value for bind parameter {name}: {error.message}") from error


_UNTYPED = decoder(Type())


def keyed_read(request: Any, schema: Schema) -> KeyedRead:
    """A ReadRequest. Raises NOT_FOUND for unknown tables, columns or indexes."""
    table = schema.table(request.table)
    key = table.key
    if request.index and request.index.upper() != "PRIMARY_KEY":
        index = schema.indexes.get(request.index.lower())
        if index is None or index.table.lower() != table.name.lower():
            raise invalid(f"Index {request.index} was not found on table {table.name}.")
        key = index.key
    columns = [table.column(name) for name in request.columns]
    where, values = keys.condition(table, key, request.key_set)
    if request.limit < 0:
        raise invalid("Limit must be non-negative.")
    limit = f" LIMIT {request.limit}" if request.limit else ""
    order = keys.order((*key, *table.key))
    selected = ", ".join(quote(column.name) for column in columns)
    sql = f"SELECT {selected} FROM {quote(table.name)} WHERE {where}"
    if order:
        sql += f" ORDER BY {order}"
    fields = tuple(Field(column.name, type_of_column(column.type)) for column in columns)
    return KeyedRead(sql + limit, values, fields, schema)
