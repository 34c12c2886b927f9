"""ALTER TABLE as functions from the table as it is to the table as asked. They touch no data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lab_helpers.sandbox.spanner import ddl_statements as asked
from lab_helpers.sandbox.spanner import table_rules
from lab_helpers.sandbox.spanner.errors import failed_precondition, not_found
from lab_helpers.sandbox.spanner.schema import Check, Schema, Table


def altered(change: asked.Alteration, table: Table, schema: Schema) -> Table:
    """The table after the change. Raises FAILED_PRECONDITION or NOT_FOUND."""
    return _BY_TYPE[type(change)](change, table, schema)


def _add_column(change: asked.AddColumn, table: Table, schema: Schema) -> Table:
    column = change.column
    if column.name.lower() in table.by_name:
        if change.if_not_exists:
            return table
        raise failed_precondition(f"Duplicate column name {table.name}.{column.name}.")
    if column.not_null and column.default is None and column.generated is None:
        raise failed_precondition(
            f"Cannot add NOT NULL column {table.name}.{column.name} to existing table "
            f"{table.name} without a default value."
        )
    table_rules.check_column(table, column)
    return replace(table, columns=(*table.columns, column))


def _drop_column(change: asked.DropColumn, table: Table, schema: Schema) -> Table:
    column = table.column(change.name)
    name = column.name.lower()
    if name in table.key_set:
        raise failed_precondition(f"Cannot drop key column {column.name} from table {table.name}.")
    for index in schema.indexes.values():
        names = {part.column.lower() for part in index.key} | {n.lower() for n in index.storing}
        if index.table.lower() == table.name.lower() and name in names:
            raise failed_precondition(
                f"Cannot drop column {column.name} from table {table.name} because it is used by "
                f"index {index.name}."
            )
    for rule in schema.references:
        mine = rule.child.lower() == table.name.lower() and name in map(str.lower, rule.columns)
        theirs = rule.parent.lower() == table.name.lower() and name in map(
            str.lower, rule.referenced
        )
        if mine or theirs:
            raise failed_precondition(
                f"Cannot drop column `{column.name}` from table `{table.name}`. It is used by "
                f"foreign key `{rule.name}`."
            )
    return replace(table, columns=tuple(c for c in table.columns if c is not column))


def _alter_column(change: asked.AlterColumn, table: Table, schema: Schema) -> Table:
    old = table.column(change.name)
    new = change.change(old)
    if (old.type.code, old.type.array) != (new.type.code, new.type.array) and {
        old.type.code,
        new.type.code,
    } != {"STRING", "BYTES"}:
        raise failed_precondition(
            f"Cannot change type of column `{table.name}.{old.name}` from `{old.type.spanner}` to "
            f"`{new.type.spanner}`."
        )
    table_rules.check_column(table, new)
    return replace(table, columns=tuple(new if c is old else c for c in table.columns))


def _add_foreign_key(change: asked.AddForeignKey, table: Table, schema: Schema) -> Table:
    rule = change.rule
    if not rule.named:
        made_up = f"FK_{table.name}_{rule.table}_{len(table.foreign_keys) + 1}"
        rule = replace(rule, name=made_up)
    _check_constraint_name(rule.name, table)
    rule = table_rules.complete_foreign_key(rule, table, schema)
    return replace(table, foreign_keys=(*table.foreign_keys, rule))


def _add_check(change: asked.AddCheck, table: Table, schema: Schema) -> Table:
    check = change.check
    if not check.named:
        check = Check(f"CK_{table.name}_{len(table.checks) + 1}", check.expression, named=False)
    _check_constraint_name(check.name, table)
    return replace(table, checks=(*table.checks, check))


def _check_constraint_name(name: str, table: Table) -> None:
    if any(other.name.lower() == name.lower() for other in (*table.foreign_keys, *table.checks)):
        raise failed_precondition(f"Duplicate name in schema: {name}.")


def _drop_constraint(change: asked.DropConstraint, table: Table, schema: Schema) -> Table:
    name = change.name.lower()
    rules = tuple(rule for rule in table.foreign_keys if rule.name.lower() != name)
    checks = tuple(check for check in table.checks if check.name.lower() != name)
    if len(rules) == len(table.foreign_keys) and len(checks) == len(table.checks):
        raise not_found(f"{change.name} is not a constraint in {table.name}.")
    return replace(table, foreign_keys=rules, checks=checks)


def _set_on_delete(change: asked.SetOnDelete, table: Table, schema: Schema) -> Table:
    if table.interleave is None:
        raise failed_precondition(
            f"Cannot change the ON DELETE action of table {table.name}: it is not interleaved."
        )
    return replace(table, interleave=replace(table.interleave, cascade=change.cascade))


def _set_policy(change: asked.SetRowDeletionPolicy, table: Table, schema: Schema) -> Table:
    return replace(table, row_deletion_policy=change.policy)


_BY_TYPE: dict[type, Callable[..., Table]] = {
    asked.AddColumn: _add_column,
    asked.DropColumn: _drop_column,
    asked.AlterColumn: _alter_column,
    asked.AddForeignKey: _add_foreign_key,
    asked.AddCheck: _add_check,
    asked.DropConstraint: _drop_constraint,
    asked.SetOnDelete: _set_on_delete,
    asked.SetRowDeletionPolicy: _set_policy,
}
