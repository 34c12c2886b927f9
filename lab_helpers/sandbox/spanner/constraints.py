"""Foreign keys and interleaving: checked on the rows that a statement or a commit touched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

from lab_helpers.sandbox.spanner.codec import key_text
from lab_helpers.sandbox.spanner.errors import SpannerError, failed_precondition, not_found
from lab_helpers.sandbox.spanner.schema import Reference, Schema, Table, quote, quoted

Key = tuple[Any, ...]


class Changes:
    """Remembers which keys were written and deleted. Deleting cascades at once; `check` raises."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: Schema) -> None:
        self._connection = connection
        self._schema = schema
        self._pointing: dict[Reference, set[Key]] = {}
        self._orphaned: dict[Reference, set[Key]] = {}

    def wrote(self, table: Table, columns: tuple[str, ...], rows: Iterable[Key]) -> None:
        """`rows` hold `columns` (those of the rules it touches) of each row written."""
        rows = list(rows)
        for rule in self._schema.outbound(table.name):
            if keys := _keys(rule.columns, columns, rows):
                self._pointing.setdefault(rule, set()).update(keys)

    def deleted(self, table: Table, columns: tuple[str, ...], rows: Iterable[Key]) -> None:
        """`rows` hold, of each deleted row, `columns` (those that other tables point at)."""
        rows = list(rows)
        for rule in self._schema.inbound(table.name):
            keys = _keys(rule.referenced, columns, rows)
            if not keys:
                continue
            if rule.cascade:
                self._cascade(rule, keys)
            else:
                self._orphaned.setdefault(rule, set()).update(keys)

    def check(self) -> None:
        """Raises where a row points at nothing: FAILED_PRECONDITION, NOT_FOUND for interleaving."""
        for rule, keys in self._pointing.items():
            for key in self._absent(rule.parent, rule.referenced, keys):
                if self._present(rule.child, rule.columns, {key}):
                    raise _dangling(rule, key)
        for rule, keys in self._orphaned.items():
            for key in self._absent(rule.parent, rule.referenced, keys):
                if self._present(rule.child, rule.columns, {key}):
                    raise _still_referenced(rule, key)

    # ------------------------------------------------------------ rows

    def _cascade(self, rule: Reference, keys: set[Key]) -> None:
        child = self._schema.table(rule.child)
        columns = returned_on_delete(self._schema, child)
        where, parameters = self._condition(child, rule.columns, keys)
        rows = self._connection.execute(
            f"DELETE FROM {quote(child.name)} WHERE {where} RETURNING {quoted(columns) or '1'}",
            parameters,
        ).fetchall()
        if rows and columns:
            self.deleted(child, columns, rows)

    def _present(self, table: str, columns: tuple[str, ...], keys: set[Key]) -> set[Key]:
        where, parameters = self._condition(self._schema.table(table), columns, keys)
        names = quoted(columns)
        rows = self._connection.execute(
            f"SELECT DISTINCT {names} FROM {quote(table)} WHERE {where}", parameters
        )
        return set(rows.fetchall())

    def _absent(self, table: str, columns: tuple[str, ...], keys: set[Key]) -> list[Key]:
        found = self._present(table, columns, keys)
        return [key for key in keys if key not in found]

    def _condition(
        self, table: Table, columns: tuple[str, ...], keys: set[Key]
    ) -> tuple[str, list[Any]]:
        if len(keys) == 1:  # equality with constants finds its row by the index
            (key,) = keys
            return " AND ".join(f"{quote(name)} = ?" for name in columns), list(key)
        lists = [list(values) for values in zip(*keys, strict=True)]
        types = [table.column(name).type.duckdb for name in columns]
        unnested = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in types)
        return f"({quoted(columns)}) IN (SELECT {unnested})", lists


def returned_on_write(
    schema: Schema, table: Table, written: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Columns to return from an INSERT (or an UPDATE of `written`) for `Changes.wrote`."""
    touched = None if written is None else {name.lower() for name in written}
    columns = [
        column
        for rule in schema.outbound(table.name)
        if touched is None or touched & {name.lower() for name in rule.columns}
        for column in rule.columns
    ]
    return tuple(dict.fromkeys(columns))


def returned_on_delete(schema: Schema, table: Table) -> tuple[str, ...]:
    """Columns to return from a DELETE for `Changes.deleted`."""
    columns = [column for rule in schema.inbound(table.name) for column in rule.referenced]
    return tuple(dict.fromkeys(columns))


def _keys(wanted: tuple[str, ...], columns: tuple[str, ...], rows: list[Key]) -> set[Key]:
    """The keys made of `wanted` in the rows, without those that have a NULL in them."""
    places = {name.lower(): place for place, name in enumerate(columns)}
    if not all(name.lower() in places for name in wanted):
        return set()
    picked = [places[name.lower()] for name in wanted]
    keys = {tuple(row[place] for place in picked) for row in rows}
    return {key for key in keys if None not in key}


def _dangling(rule: Reference, key: Key) -> SpannerError:
    if rule.kind == "interleave":
        return not_found(
            f"Parent row for row {key_text(key)} in table {rule.child} is missing. Row cannot be "
            "written."
        )
    return failed_precondition(
        f"Foreign key `{rule.name}` constraint violation on table `{rule.child}`. Cannot find "
        f"referenced key `{key_text(key)}` in table `{rule.parent}`."
    )


def _still_referenced(rule: Reference, key: Key) -> SpannerError:
    if rule.kind == "interleave":
        return failed_precondition(
            "Delete failed because one or more keys exist within the child table:  Parent Table: "
            f"{rule.parent}  Child Table: {rule.child}  Key: {key_text(key)}"
        )
    return failed_precondition(
        f"Foreign key `{rule.name}` constraint violation when deleting or updating referenced key "
        f"`{key_text(key)}` in table `{rule.parent}`. A row with that key exists in the "
        f"referencing table `{rule.child}`."
    )
