"""The mutations of a commit: insert, update, insert_or_update, replace, delete."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import duckdb

from lab_helpers.sandbox.spanner import keys
from lab_helpers.sandbox.spanner.codec import (
    COMMIT_TIMESTAMP,
    decoder,
    key_text,
    type_of_column,
)
from lab_helpers.sandbox.spanner.constraints import (
    Changes,
    returned_on_delete,
    returned_on_write,
)
from lab_helpers.sandbox.spanner.errors import failed_precondition, invalid, not_found
from lab_helpers.sandbox.spanner.schema import Column, Schema, Table, quote, quoted

# Spanner's own limit, so that a load that works here works there.
MAX_MUTATIONS = 80_000


def check_count(mutations: Any) -> None:
    """Raises INVALID_ARGUMENT for more cells in one commit than Spanner takes."""
    count = 0
    for mutation in mutations:
        body = getattr(mutation, mutation.WhichOneof("operation") or "insert")
        count += len(body.columns) * len(body.values) if hasattr(body, "columns") else 1
    if count > MAX_MUTATIONS:
        raise invalid(
            f"The transaction contains too many mutations: {count:,} (rows times columns), and at "
            f"most {MAX_MUTATIONS:,} are allowed in one commit. Write the rows in several commits."
        )


@dataclass(frozen=True)
class Write:
    """One table's rows, column by column, ready for DuckDB."""

    table: Table
    columns: list[Column]
    values: list[list[Any]]  # one list per column

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def others(self) -> list[str]:
        """The columns beside the key."""
        return [name for name in self.names if name.lower() not in self.table.key_set]

    @property
    def rows(self) -> str:
        """The rows as a SELECT over one list per column: one short statement for any number."""
        lists = ", ".join(
            f"unnest(CAST(? AS {column.type.duckdb}[])) AS {quote(column.name)}"
            for column in self.columns
        )
        return f"SELECT {lists}"

    def key_values(self) -> list[tuple[Any, ...]]:
        places = {name.lower(): place for place, name in enumerate(self.names)}
        picked = [self.values[places[name.lower()]] for name in self.table.key_columns]
        return list(zip(*picked, strict=True)) if picked else [()]

    def last_of_each_key(self) -> Write:
        """Without rows that a later row of the same mutation overwrites."""
        kept = sorted({key: place for place, key in enumerate(self.key_values())}.values())
        if len(kept) == len(self.values[0]):
            return self
        values = [[column[place] for place in kept] for column in self.values]
        return Write(self.table, self.columns, values)


class Applier:
    """Applies mutations on a connection inside a transaction; `changes` collects what to check."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        schema: Schema,
        changes: Changes,
        commit_time: dt.datetime,
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._changes = changes
        self._commit_time = commit_time
        self.table: Table | None = None  # the table being written, for the words of an error

    def apply(self, mutation: Any) -> None:
        """Raises NOT_FOUND, FAILED_PRECONDITION or duckdb.Error; the caller rolls back."""
        operation = mutation.WhichOneof("operation")
        if operation not in _OPERATIONS:
            raise invalid(f"Unknown mutation: {operation}")
        body = getattr(mutation, operation)
        self.table = self._schema.table(body.table)
        if operation == "delete":
            self._delete(self.table, body.key_set)
            return
        write = self._decode(self.table, body, required=operation != "update")
        if write.values and write.values[0]:
            _OPERATIONS[operation](self, write)

    # ------------------------------------------------------------ operations

    def _insert(self, write: Write, conflict: str = "") -> None:
        columns = returned_on_write(self._schema, write.table)
        returning = f" RETURNING {quoted(columns)}" if columns else ""
        rows = self._connection.execute(
            f"INSERT INTO {quote(write.table.name)} ({quoted(write.names)}) "
            f"{write.rows}{conflict}{returning}",
            write.values,
        )
        if columns:
            self._changes.wrote(write.table, columns, rows.fetchall())

    def _insert_or_update(self, write: Write) -> None:
        assignments = ", ".join(f"{quote(n)} = excluded.{quote(n)}" for n in write.others)
        action = f"UPDATE SET {assignments}" if assignments else "NOTHING"
        conflict = f" ON CONFLICT ({quoted(write.table.key_columns)}) DO {action}"
        self._insert(write.last_of_each_key(), conflict)

    def _replace(self, write: Write) -> None:
        write = write.last_of_each_key()
        self._delete_keys(write)
        self._insert(write)

    def _update(self, write: Write) -> None:
        write = write.last_of_each_key()
        table = write.table
        columns = returned_on_write(self._schema, table, write.others)
        assignments = ", ".join(f"{quote(n)} = new.{quote(n)}" for n in write.others)
        if not assignments:  # a row with nothing but its key still has to exist
            first = quote(table.key_columns[0])
            assignments = f"{first} = new.{first}"
        same = " AND ".join(f"old.{quote(k)} = new.{quote(k)}" for k in table.key_columns)
        returned = ", ".join(f"old.{quote(name)}" for name in (*table.key_columns, *columns))
        rows = self._connection.execute(
            f"UPDATE {quote(table.name)} AS old SET {assignments} FROM ({write.rows}) AS new "
            f"WHERE {same} RETURNING {returned}",
            write.values,
        ).fetchall()
        width = len(table.key_columns)
        if len(rows) < len(write.values[0]):
            found = {row[:width] for row in rows}
            missing = next(key for key in write.key_values() if key not in found)
            raise not_found(f"Table {table.name}: Row {key_text(missing)} not found.")
        if columns:
            self._changes.wrote(table, columns, [row[width:] for row in rows])

    def _delete_keys(self, write: Write) -> None:
        places = {name.lower(): place for place, name in enumerate(write.names)}
        picked = [places[name.lower()] for name in write.table.key_columns]
        lists = ", ".join(
            f"unnest(CAST(? AS {write.columns[place].type.duckdb}[]))" for place in picked
        )
        where = f"({quoted(write.table.key_columns)}) IN (SELECT {lists})"
        self._delete_where(write.table, where, [write.values[place] for place in picked])

    def _delete(self, table: Table, key_set: Any) -> None:
        where, values = keys.condition(table, table.key, key_set)
        self._delete_where(table, where, values)

    def _delete_where(self, table: Table, where: str, values: list[Any]) -> None:
        columns = returned_on_delete(self._schema, table)
        returning = f" RETURNING {quoted(columns)}" if columns else ""
        rows = self._connection.execute(
            f"DELETE FROM {quote(table.name)} WHERE {where}{returning}", values
        )
        if columns:
            self._changes.deleted(table, columns, rows.fetchall())

    # ------------------------------------------------------------ values

    def _decode(self, table: Table, body: Any, *, required: bool) -> Write:
        columns = [table.column(name) for name in body.columns]
        given = {column.name.lower() for column in columns}
        if len(given) != len(columns):
            raise invalid(f"Multiple values for one column of table {table.name}.")
        for name in table.key_columns:
            if name.lower() not in given and (table.column(name).default is None or not required):
                raise failed_precondition(
                    f"Primary key column {name} must be specified in mutation on table "
                    f"{table.name}."
                )
        if required:
            _check_not_null_given(table, given)
        for row in body.values:
            if len(row.values) != len(columns):
                raise invalid("Mismatched number of columns and values.")
        values = [
            self._decode_column(table, column, [row.values[place] for row in body.values])
            for place, column in enumerate(columns)
        ]
        return Write(table, columns, values)

    def _decode_column(self, table: Table, column: Column, raw: list[Any]) -> list[Any]:
        if column.generated is not None:
            raise failed_precondition(
                f"Cannot write into generated column: {table.name}.{column.name}"
            )
        read = decoder(type_of_column(column.type))
        values = [read(value) for value in raw]
        if column.type.code == "TIMESTAMP":
            values = [self._timestamp(table, column, value) for value in values]
        if column.not_null and None in values:
            raise failed_precondition(
                f"Cannot specify a null value for column: {table.name}.{column.name} in table: "
                f"{table.name}"
            )
        _check_sizes(table, column, values)
        return values

    def _timestamp(self, table: Table, column: Column, value: Any) -> Any:
        if value is not COMMIT_TIMESTAMP:
            return value
        if not column.commit_timestamp:
            raise failed_precondition(
                f"Cannot write commit timestamp because the allow_commit_timestamp column option "
                f"is not set to true for column {table.name}.{column.name}."
            )
        return self._commit_time


def _check_not_null_given(table: Table, given: set[str]) -> None:
    for column in table.columns:
        absent = column.name.lower() not in given
        if absent and column.not_null and column.default is None and column.generated is None:
            raise failed_precondition(
                f"A new row in table {table.name} does not specify a non-null value for NOT NULL "
                f"column: {column.name}"
            )


def _check_sizes(table: Table, column: Column, values: list[Any]) -> None:
    limit = column.type.size
    if limit is None:
        return
    for value in values:
        items = value if column.type.array else [value]
        for item in items or ():
            if item is not None and len(item) > limit:
                raise failed_precondition(
                    f"New value exceeds the maximum size limit for this column: {table.name}."
                    f"{column.name}, size: {len(item)}, limit: {limit}."
                )


_OPERATIONS = {
    "insert": Applier._insert,
    "insert_or_update": Applier._insert_or_update,
    "replace": Applier._replace,
    "update": Applier._update,
    "delete": Applier._delete,
}
