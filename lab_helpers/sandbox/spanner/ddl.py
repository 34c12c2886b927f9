"""Applies one DDL statement: what it does to the schema, and to DuckDB, inside one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import duckdb

from lab_helpers.sandbox.spanner import (
    alterations,
    ddl_parser,
    ddl_printer,
    graphs,
    physical,
    table_rules,
    translate,
)
from lab_helpers.sandbox.spanner import ddl_statements as asked
from lab_helpers.sandbox.spanner.errors import (
    SpannerError,
    failed_precondition,
    first_line,
    invalid,
    not_found,
)
from lab_helpers.sandbox.spanner.schema import (
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
    statement = ddl_parser.parse(sql)
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
        statement = ddl_parser.parse(sql)
        if isinstance(statement, asked.CreateTable):
            schema = schema.with_("tables", statement.table.name, statement.table)
        elif isinstance(statement, asked.CreateIndex):
            schema = schema.with_("indexes", statement.index.name, statement.index)
        elif isinstance(statement, asked.CreateView):
            schema = schema.with_("views", statement.view.name, statement.view)
        elif isinstance(statement, asked.GraphStatement):
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


def _create_table(statement: asked.CreateTable, schema: Schema, connection: Connection) -> Schema:
    table = statement.table
    if statement.if_not_exists and table.name.lower() in schema.tables:
        return schema
    _must_be_new(table.name, schema)
    table_rules.check_table(table)
    completed = tuple(
        table_rules.complete_foreign_key(rule, table, schema) for rule in table.foreign_keys
    )
    table = replace(table, foreign_keys=completed)
    table_rules.check_interleave(table, schema)
    _run(connection, physical.create_table(table))
    return schema.with_("tables", table.name, table)


def _create_index(statement: asked.CreateIndex, schema: Schema, connection: Connection) -> Schema:
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


def _create_view(statement: asked.CreateView, schema: Schema, connection: Connection) -> Schema:
    view = statement.view
    exists = view.name.lower() in schema.views
    if not (exists and statement.or_replace):
        _must_be_new(view.name, schema)
    _run(connection, _view_sql(view, schema))
    return schema.with_("views", view.name, view)


def _graph(statement: asked.GraphStatement, schema: Schema, connection: Connection) -> Schema:
    tables = graphs.SchemaTables(schema, _describe(connection))
    return graphs.apply(statement.sql, schema, tables)


# ---------------------------------------------------------------- DROP


def _drop(statement: asked.Drop, schema: Schema, connection: Connection) -> Schema:
    kind = {"TABLE": "tables", "INDEX": "indexes", "VIEW": "views"}[statement.kind]
    name = statement.name
    found = getattr(schema, kind).get(name.lower())
    if found is None:
        if statement.if_exists:
            return schema
        raise not_found(f"{statement.kind.capitalize()} not found: {name}")
    if isinstance(found, Table):
        table_rules.check_unused(found, schema)
        _run(connection, f"DROP TABLE {quote(found.name)}")
    elif isinstance(found, View):
        _run(connection, f"DROP VIEW {quote(found.name)}")
    elif found.unique:
        _run(connection, f"DROP INDEX {quote(found.name)}")
    return _with_dependents(schema.with_(kind, name, None), found.name, connection)


def _with_dependents(schema: Schema, name: str, connection: Connection) -> Schema:
    """The schema with its views and graphs made anew; raises where the change breaks one."""
    for view in schema.views.values():
        with _dependent(name, "view", view.name):
            _run(connection, _view_sql(view, schema))
    tables = graphs.SchemaTables(schema, _describe(connection))
    for graph in schema.graphs.values():
        with _dependent(name, "property graph", graph.name):
            schema = schema.with_("graphs", graph.name, graphs.build(graph.ddl, tables))
    return schema


@contextlib.contextmanager
def _dependent(name: str, kind: str, dependent: str) -> Iterator[None]:
    try:
        yield
    except SpannerError as error:
        raise failed_precondition(
            f"Cannot change `{name}`: the {kind} `{dependent}` depends on it ({error.message}). "
            f"Drop the {kind} first."
        ) from error


def _view_sql(view: View, schema: Schema) -> str:
    query = translate.view_query(view.query, schema)
    return f"CREATE OR REPLACE VIEW {quote(view.name)} AS {query}"


# ---------------------------------------------------------------- ALTER TABLE


def _alter_table(statement: asked.AlterTable, schema: Schema, connection: Connection) -> Schema:
    old = schema.table(statement.table)
    new = alterations.altered(statement.change, old, schema)
    if new == old:
        return schema
    changed = schema.with_("tables", new.name, new)
    if isinstance(statement.change, asked.AddForeignKey):
        _check_rows(new.foreign_keys[-1], new, connection)
    if physical.create_table(old) != physical.create_table(new):
        physical.rebuild(connection, old, new, changed)
    return _with_dependents(changed, new.name, connection)


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


def _nothing(statement: asked.NoOperation, schema: Schema, connection: Connection) -> Schema:
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
    asked.CreateTable: _create_table,
    asked.CreateIndex: _create_index,
    asked.CreateView: _create_view,
    asked.GraphStatement: _graph,
    asked.Drop: _drop,
    asked.AlterTable: _alter_table,
    asked.NoOperation: _nothing,
}
