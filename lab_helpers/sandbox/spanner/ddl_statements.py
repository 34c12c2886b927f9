"""DDL statements as values: what `ddl_parser` reads and `ddl` applies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab_helpers.sandbox.spanner.schema import Check, Column, ForeignKey, Index, Table, View


@dataclass(frozen=True)
class CreateTable:
    table: Table
    if_not_exists: bool


@dataclass(frozen=True)
class CreateIndex:
    index: Index
    if_not_exists: bool


@dataclass(frozen=True)
class CreateView:
    view: View
    or_replace: bool


@dataclass(frozen=True)
class GraphStatement:
    """CREATE or DROP PROPERTY GRAPH; the GQL front end parses the text."""

    sql: str


@dataclass(frozen=True)
class Drop:
    kind: str  # TABLE, INDEX or VIEW
    name: str
    if_exists: bool


@dataclass(frozen=True)
class AddColumn:
    column: Column
    if_not_exists: bool


@dataclass(frozen=True)
class DropColumn:
    name: str


@dataclass(frozen=True)
class AlterColumn:
    """`change` turns the column as it is into the column as asked."""

    name: str
    change: Callable[[Column], Column]


@dataclass(frozen=True)
class AddForeignKey:
    rule: ForeignKey


@dataclass(frozen=True)
class AddCheck:
    check: Check


@dataclass(frozen=True)
class DropConstraint:
    name: str


@dataclass(frozen=True)
class SetOnDelete:
    cascade: bool


@dataclass(frozen=True)
class SetRowDeletionPolicy:
    policy: str | None


Alteration = (
    AddColumn
    | DropColumn
    | AlterColumn
    | AddForeignKey
    | AddCheck
    | DropConstraint
    | SetOnDelete
    | SetRowDeletionPolicy
)


@dataclass(frozen=True)
class AlterTable:
    table: str
    change: Alteration


@dataclass(frozen=True)
class NoOperation:
    """A statement that changes nothing here, such as ANALYZE."""


Statement = (
    CreateTable | CreateIndex | CreateView | GraphStatement | Drop | AlterTable | NoOperation
)
