"""Applies one DDL statement: what it does to the schema, and to DuckDB, inside one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import duckdb

from lab_helpers.sandbox.spanner import ddl_parser as parsed
from lab_helpers.sandbox.spanner import ddl_printer, graphs, physical, translate
from lab_helpers.sandbox.spanner.errors import (
    failed_precondition,
    first_line,
    invalid,
    not_found,
)
from lab_helpers.sandbox.spanner.schema import (
    Check,
    Column,
    ForeignKey,
    Schema,
    Table,
    View,
    quote,
    quoted,
)

Connection = duckdb.DuckDBPyConnection


def apply(sql: str, schema: Schema, connection: Connection) -> Schema:
    """The schema after the statement; `connection` is inside a transaction that commits it.

    Raises FAILED_PRECONDITION, NOT_FOUND or INVALID_ARGUMENT, in which case the caller rolls back.
    """
    statement = parsed.parse(sql)
    try:
        return _APPLY[type(statement)](statement, schema, connection)
    except duckdb.ConstraintException as error:
        raise failed_precondition(
            f"The rows of the table do not allow this: {first_line(error)}"
        ) from error


def load(statements: list[str], describe: graphs.Describe) -> Schema:
    """The schema that stored statements (see ddl_printer) describe; touches no data."""
    schema = Schema()
    for sql in statements:
        statement = parsed.parse(sql)
        if isinstance(statement, parsed.CreateTable):
            schema = schema.with_("tables", statement.table.name, statement.table)
        elif isinstance(statement, parsed.CreateIndex):
            schema = schema.with_("indexes", statement.index.name, statement.index)
        elif isinstance(statement, parsed.CreateView):
            schema = schema.with_("views", statement.view.name, statement.view)
        elif isinstance(statement, parsed.GraphStatement):
            graph = graphs.build(sql, graphs.SchemaTables(schema, describe))
            schema = schema.with_("graphs", graph.name, graph)
    return schema


def store(schema: Schema, connection: Connection) -> None:
    """Writes the statements of the schema beside its tables, in the same transaction."""
    connection.execute("DELETE FROM sandbox_private.ddl")
    printed = ddl_printer.statements(schema)
    connection.execute(
        "INSERT INTO sandbox_private.ddl SELECT unnest($1::INTEGER[]), unnest($2::VARCHAR[])",
        [list(range(len(printed))), printed],
    )


def stored(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT statement FROM sandbox_private.ddl ORDER BY position")
    return [row[0] for row in rows.fetchall()]


def _describe(connection: Connection) -> graphs.Describe:
    return lambda sql: [(c[0], str(c[1])) for c in connection.execute(sql).description]


def _must_be_new(name: str, schema: Schema) -> None:
    if schema.has(name):
        raise failed_precondition(f"Duplicate name in schema: {name}.")


# ---------------------------------------------------------------- CREATE


def _create_table(statement: parsed.CreateTable, schema: Schema, connection: Connection) -> Schema:
    table = statement.table
    if statement.if_not_exists and table.name.lower() in schema.tables:
        return schema
    _must_be_new(table.name, schema)
    _check_table(table)
    completed = tuple(_complete(rule, table, schema) for rule in table.foreign_keys)
    table = replace(table, foreign_keys=completed)
    _check_interleave(table, schema)
    _run(connection, physical.create_table(table))
    return schema.with_("tables", table.name, table)


def _check_table(table: Table) -> None:
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
        _check_column(table, column)


def _check_column(table: Table, column: Column) -> None:
    if column.commit_timestamp and column.type.code != "TIMESTAMP":
        raise failed_precondition(
            f"Option: allow_commit_timestamp for column {table.name}.{column.name} may only be set "
            "on a TIMESTAMP column."
        )


def _check_interleave(table: Table, schema: Schema) -> None:
    if table.interleave is None:
        return
    parent = schema.table(table.interleave.parent)
    shared = table.key_columns[: len(parent.key)]
    if [name.lower() for name in shared] != [name.lower() for name in parent.key_columns]:
        raise failed_precondition(
            f"Table {table.name} does not begin its primary key with the key columns of its "
            f"parent {parent.name} ({', '.join(parent.key_columns)})."
        )


def _complete(rule: ForeignKey, table: Table, schema: Schema) -> ForeignKey:
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


def _create_index(statement: parsed.CreateIndex, schema: Schema, connection: Connection) -> Schema:
    index = statement.index
    if statement.if_not_exists and index.name.lower() in schema.indexes:
        return schema
    _must_be_new(index.name, schema)
    table = schema.table(index.table)
    for name in (*(part.column for part in index.key), *index.storing):
        table.column(name)
    if index.unique:
        try:
            _run(connection, physical.create_unique_index(index))
        except duckdb.ConstraintException as error:
            raise failed_precondition(
                f"Found uniqueness violation on index {index.name}: {first_line(error)}"
            ) from error
    return schema.with_("indexes", index.name, replace(index, table=table.name))


def _create_view(statement: parsed.CreateView, schema: Schema, connection: Connection) -> Schema:
    view = statement.view
    exists = view.name.lower() in schema.views
    if not (exists and statement.or_replace):
        _must_be_new(view.name, schema)
    query = translate.view_query(view.query, schema)
    _run(connection, f"CREATE OR REPLACE VIEW {quote(view.name)} AS {query}")
    return schema.with_("views", view.name, view)


def _graph(statement: parsed.GraphStatement, schema: Schema, connection: Connection) -> Schema:
    tables = graphs.SchemaTables(schema, _describe(connection))
    return graphs.apply(statement.sql, schema, tables)


# ---------------------------------------------------------------- DROP


def _drop(statement: parsed.Drop, schema: Schema, connection: Connection) -> Schema:
    kind = {"TABLE": "tables", "INDEX": "indexes", "VIEW": "views"}[statement.kind]
    name = statement.name
    found = getattr(schema, kind).get(name.lower())
    if found is None:
        if statement.if_exists:
            return schema
        raise not_found(f"{statement.kind.capitalize()} not found: {name}")
    if isinstance(found, Table):
        _check_unused(found, schema)
        _check_views(found.name, schema)
        _run(connection, f"DROP TABLE {quote(found.name)}")
    elif isinstance(found, View):
        _run(connection, f"DROP VIEW {quote(found.name)}")
    elif found.unique:
        _run(connection, f"DROP INDEX {quote(found.name)}")
    return schema.with_(kind, name, None)


def _check_unused(table: Table, schema: Schema) -> None:
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
    _check_graphs(table.name, schema)


def _check_graphs(name: str, schema: Schema) -> None:
    for graph in schema.graphs.values():
        metadata = graph.model.metadata()
        elements = [*metadata.get("nodeTables", ()), *metadata.get("edgeTables", ())]
        if any(str(e.get("baseTableName", "")).lower() == name.lower() for e in elements):
            raise failed_precondition(
                f"Cannot drop `{name}`. It is used by property graph `{graph.name}`: drop the "
                "graph first."
            )


def _check_views(name: str, schema: Schema) -> None:
    """DuckDB binds a view when it is read; Spanner refuses the change that would break it."""
    for view in schema.views.values():
        if quote(name).lower() in translate.view_query(view.query, schema).lower():
            raise failed_precondition(
                f"Cannot drop `{name}`. The view `{view.name}` depends on it: drop the view first."
            )


# ---------------------------------------------------------------- ALTER TABLE


def _alter_table(statement: parsed.AlterTable, schema: Schema, connection: Connection) -> Schema:
    old = schema.table(statement.table)
    new = _ALTER[type(statement.change)](statement.change, old, schema)
    if new == old:
        return schema
    changed = schema.with_("tables", new.name, new)
    if isinstance(statement.change, parsed.AddForeignKey):
        _check_rows(new.foreign_keys[-1], new, connection)
    if physical.create_table(old) != physical.create_table(new):
        physical.rebuild(connection, old, new, changed)
    return changed


def _add_column(change: parsed.AddColumn, table: Table, schema: Schema) -> Table:
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
    _check_column(table, column)
    return replace(table, columns=(*table.columns, column))


def _drop_column(change: parsed.DropColumn, table: Table, schema: Schema) -> Table:
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


def _alter_column(change: parsed.AlterColumn, table: Table, schema: Schema) -> Table:
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
    _check_column(table, new)
    return replace(table, columns=tuple(new if c is old else c for c in table.columns))


def _add_foreign_key(change: parsed.AddForeignKey, table: Table, schema: Schema) -> Table:
    rule = change.rule
    if not rule.named:
        made_up = f"FK_{table.name}_{rule.table}_{len(table.foreign_keys) + 1}"
        rule = replace(rule, name=made_up)
    _check_constraint_name(rule.name, table)
    rule = _complete(rule, table, schema)
    return replace(table, foreign_keys=(*table.foreign_keys, rule))


def _add_check(change: parsed.AddCheck, table: Table, schema: Schema) -> Table:
    check = change.check
    if not check.named:
        check = Check(f"CK_{table.name}_{len(table.checks) + 1}", check.expression, named=False)
    _check_constraint_name(check.name, table)
    return replace(table, checks=(*table.checks, check))


def _check_constraint_name(name: str, table: Table) -> None:
    if any(other.name.lower() == name.lower() for other in (*table.foreign_keys, *table.checks)):
        raise failed_precondition(f"Duplicate name in schema: {name}.")


def _drop_constraint(change: parsed.DropConstraint, table: Table, schema: Schema) -> Table:
    name = change.name.lower()
    rules = tuple(rule for rule in table.foreign_keys if rule.name.lower() != name)
    checks = tuple(check for check in table.checks if check.name.lower() != name)
    if len(rules) == len(table.foreign_keys) and len(checks) == len(table.checks):
        raise not_found(f"{change.name} is not a constraint in {table.name}.")
    return replace(table, foreign_keys=rules, checks=checks)


def _set_on_delete(change: parsed.SetOnDelete, table: Table, schema: Schema) -> Table:
    if table.interleave is None:
        raise failed_precondition(
            f"Cannot change the ON DELETE action of table {table.name}: it is not interleaved."
        )
    return replace(table, interleave=replace(table.interleave, cascade=change.cascade))


def _set_policy(change: parsed.SetRowDeletionPolicy, table: Table, schema: Schema) -> Table:
    return replace(table, row_deletion_policy=change.policy)


def _check_rows(rule: ForeignKey, table: Table, connection: Connection) -> None:
    present = " AND ".join(f"child.{quote(name)} IS NOT NULL" for name in rule.columns)
    same = " AND ".join(
        f"child.{quote(mine)} = parent.{quote(theirs)}"
        for mine, theirs in zip(rule.columns, rule.referenced, strict=True)
    )
    orphan = connection.execute(
        f"SELECT {quoted(rule.columns)} FROM {quote(table.name)} AS child WHERE {present} AND NOT "
        f"EXISTS (SELECT 1 FROM {quote(rule.table)} AS parent WHERE {same}) LIMIT 1"
    ).fetchone()
    if orphan is not None:
        raise failed_precondition(
            f"Foreign key `{rule.name}` constraint violation on table `{table.name}`. Cannot find "
            f"referenced key `{orphan}` in table `{rule.table}`."
        )


def _nothing(statement: parsed.NoOperation, schema: Schema, connection: Connection) -> Schema:
    return schema


def _run(connection: Connection, sql: str) -> None:
    """DuckDB's own objections to a definition (an unknown column in a CHECK) are the caller's."""
    try:
        connection.execute(sql)
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
        raise invalid(f"Error in the definition: {first_line(error)}") from error
    except duckdb.DependencyException as error:
        raise failed_precondition(first_line(error)) from error


_APPLY: dict[type, Callable[..., Schema]] = {
    parsed.CreateTable: _create_table,
    parsed.CreateIndex: _create_index,
    parsed.CreateView: _create_view,
    parsed.GraphStatement: _graph,
    parsed.Drop: _drop,
    parsed.AlterTable: _alter_table,
    parsed.NoOperation: _nothing,
}

_ALTER: dict[type, Callable[..., Table]] = {
    parsed.AddColumn: _add_column,
    parsed.DropColumn: _drop_column,
    parsed.AlterColumn: _alter_column,
    parsed.AddForeignKey: _add_foreign_key,
    parsed.AddCheck: _add_check,
    parsed.DropConstraint: _drop_constraint,
    parsed.SetOnDelete: _set_on_delete,
    parsed.SetRowDeletionPolicy: _set_policy,
}
