"""What a table's definition must satisfy by itself and beside the tables that are there."""

from __future__ import annotations

from dataclasses import replace

from lab_helpers.sandbox.spanner.errors import failed_precondition, invalid
from lab_helpers.sandbox.spanner.schema import Column, ForeignKey, Schema, Table


def check_table(table: Table) -> None:
    if len(table.by_name) != len(table.columns):
        raise failed_precondition(f"Duplicate column name in table {table.name}.")
    for part in table.key:
        column = table.by_name.get(part.column.lower())
        if column is None:
            raise invalid(
                f"Table {table.name} references nonexistent key column {part.column} in its "
                "primary key."
            )
        if column.type.array or column.type.code == "JSON":
            raise invalid(
                f"Column {table.name}.{column.name} of type {column.type.spanner} cannot be part "
                "of the primary key."
            )
    for column in table.columns:
        check_column(table, column)


def check_column(table: Table, column: Column) -> None:
    if column.commit_timestamp and column.type.code != "TIMESTAMP":
        raise failed_precondition(
            f"Option: allow_commit_timestamp for column {table.name}.{column.name} may only be set "
            "on a TIMESTAMP column."
        )


def check_interleave(table: Table, schema: Schema) -> None:
    if table.interleave is None:
        return
    parent = schema.table(table.interleave.parent)
    shared = table.key_columns[: len(parent.key)]
    if [name.lower() for name in shared] != [name.lower() for name in parent.key_columns]:
        raise failed_precondition(
            f"Table {table.name} does not begin its primary key with the key columns of its "
            f"parent {parent.name} ({', '.join(parent.key_columns)})."
        )


def complete_foreign_key(rule: ForeignKey, table: Table, schema: Schema) -> ForeignKey:
    """A foreign key with the columns it leaves out, checked against both tables."""
    target = table if rule.table.lower() == table.name.lower() else schema.table(rule.table)
    referenced = rule.referenced or target.key_columns
    if len(rule.columns) != len(referenced):
        raise failed_precondition(
            f"The number of columns in foreign key `{rule.name}` on table `{table.name}` does not "
            f"match the columns it references in `{target.name}`."
        )
    for mine, theirs in zip(rule.columns, referenced, strict=True):
        one, other = table.column(mine).type, target.column(theirs).type
        if (one.code, one.array) != (other.code, other.array):
            raise failed_precondition(
                f"Column `{mine}` of table `{table.name}` has another type than `{theirs}` of "
                f"`{target.name}`, which foreign key `{rule.name}` references."
            )
    return replace(rule, table=target.name, referenced=tuple(referenced))


def check_unused(table: Table, schema: Schema) -> None:
    indexes = [i.name for i in schema.indexes.values() if i.table.lower() == table.name.lower()]
    if indexes:
        raise failed_precondition(
            f"Cannot drop table {table.name} with indices: {', '.join(indexes)}."
        )
    for other in schema.tables.values():
        if other.interleave and other.interleave.parent.lower() == table.name.lower():
            raise failed_precondition(
                f"Cannot drop table {table.name} with interleaved tables: {other.name}."
            )
        if other is not table and any(
            rule.table.lower() == table.name.lower() for rule in other.foreign_keys
        ):
            raise failed_precondition(
                f"Cannot drop table `{table.name}`. It is referenced by table `{other.name}`."
            )
