"""What a database contains, as immutable values: tables, indexes, views, graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from lab_helpers.sandbox.spanner.errors import not_found

DUCKDB_TYPES = {
    "INT64": "BIGINT",
    "FLOAT64": "DOUBLE",
    "FLOAT32": "FLOAT",
    "BOOL": "BOOLEAN",
    "STRING": "VARCHAR",
    "BYTES": "BLOB",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMPTZ",
    "NUMERIC": "DECIMAL(38,9)",
    "JSON": "JSON",
    "UUID": "UUID",
}


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(quote, names))


@dataclass(frozen=True)
class ColumnType:
    """A Spanner column type: `code` is INT64, STRING, ...; `size` None means MAX."""

    code: str
    size: int | None = None
    array: bool = False

    @property
    def spanner(self) -> str:
        sized = self.code in ("STRING", "BYTES")
        scalar = f"{self.code}({self.size or 'MAX'})" if sized else self.code
        return f"ARRAY<{scalar}>" if self.array else scalar

    @property
    def duckdb(self) -> str:
        return DUCKDB_TYPES[self.code] + ("[]" if self.array else "")


@dataclass(frozen=True)
class Column:
    name: str
    type: ColumnType
    not_null: bool = False
    default: str | None = None  # GoogleSQL text
    generated: str | None = None  # GoogleSQL text
    stored: bool = False
    commit_timestamp: bool = False


@dataclass(frozen=True)
class KeyPart:
    column: str
    descending: bool = False


@dataclass(frozen=True)
class ForeignKey:
    name: str
    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]
    cascade: bool = False
    enforced: bool = True
    named: bool = True  # False: the name was made up, so the DDL prints without it


@dataclass(frozen=True)
class Check:
    name: str
    expression: str  # GoogleSQL text
    named: bool = True


@dataclass(frozen=True)
class Interleave:
    parent: str
    enforced: bool = True  # INTERLEAVE IN (without PARENT) asks for no parent row
    cascade: bool = False


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    key: tuple[KeyPart, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[Check, ...] = ()
    interleave: Interleave | None = None
    row_deletion_policy: str | None = None

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        return {column.name.lower(): column for column in self.columns}

    @cached_property
    def key_columns(self) -> tuple[str, ...]:
        return tuple(part.column for part in self.key)

    @cached_property
    def key_set(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.key_columns)

    def column(self, name: str) -> Column:
        """The column of that name in any case; NOT_FOUND otherwise."""
        found = self.by_name.get(name.lower())
        if found is None:
            raise not_found(f"Column not found in table {self.name}: {name}")
        return found


@dataclass(frozen=True)
class Index:
    name: str
    table: str
    key: tuple[KeyPart, ...]
    unique: bool = False
    null_filtered: bool = False
    storing: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    name: str
    query: str  # GoogleSQL text


@dataclass(frozen=True)
class Graph:
    """A property graph: its statement, and the front end's model of it."""

    name: str
    ddl: str
    model: Any


@dataclass(frozen=True)
class Reference:
    """Columns of `child` that must point at those of a row of `parent`."""

    kind: Literal["foreign key", "interleave"]
    name: str
    child: str
    columns: tuple[str, ...]
    parent: str
    referenced: tuple[str, ...]
    cascade: bool


@dataclass(frozen=True)
class Schema:
    """Everything by lower-cased name. `version` grows with every DDL statement."""

    version: int = 0
    tables: Mapping[str, Table] = field(default_factory=dict)
    indexes: Mapping[str, Index] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    graphs: Mapping[str, Graph] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """The table of that name in any case; NOT_FOUND otherwise."""
        found = self.tables.get(name.lower())
        if found is None:
            raise not_found(f"Table not found: {name}")
        return found

    def has(self, name: str) -> bool:
        kinds = (self.tables, self.indexes, self.views, self.graphs)
        return any(name.lower() in kind for kind in kinds)

    def with_(self, kind: str, name: str, value: object | None) -> Schema:
        """A copy in which `kind` ("tables", "indexes", ...) holds `value`; None removes it."""
        entries = dict(getattr(self, kind))
        if value is None:
            entries.pop(name.lower(), None)
        else:
            entries[name.lower()] = value
        return replace(self, version=self.version + 1, **{kind: entries})

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        return tuple(_references(self))

    def outbound(self, table: str) -> list[Reference]:
        """Rules that rows of `table` must obey."""
        return [rule for rule in self.references if rule.child.lower() == table.lower()]

    def inbound(self, table: str) -> list[Reference]:
        """Rules of other rows that point at rows of `table`."""
        return [rule for rule in self.references if rule.parent.lower() == table.lower()]


def _references(schema: Schema):
    for table in schema.tables.values():
        link = table.interleave
        if link is not None and link.enforced:
            parent = schema.tables[link.parent.lower()]
            key = table.key_columns[: len(parent.key)]
            yield Reference(
                "interleave", link.parent, table.name, key, parent.name, parent.key_columns,
                link.cascade,
            )  # fmt: skip
        for rule in table.foreign_keys:
            if rule.enforced:
                yield Reference(
                    "foreign key", rule.name, table.name, rule.columns, rule.table,
                    rule.referenced, rule.cascade,
                )  # fmt: skip
