"""INFORMATION_SCHEMA, read out of the schema: each view is a table of rows put into the query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from sqlglot import exp

from lab_helpers.sandbox.spanner.schema import Index, KeyPart, Schema

Cell = str | int | bool | None
Rows = Iterator[tuple[Cell, ...]]


def subquery(schema: Schema, name: str, alias: str) -> exp.Expression | None:
    """The view as a derived table; None where there is no such view."""
    view = _VIEWS.get(name.upper())
    if view is None:
        return None
    columns, rows = view
    tuples = [exp.Tuple(expressions=list(map(_cell, row))) for row in rows(schema)]
    empty = not tuples
    if empty:
        tuples = [exp.Tuple(expressions=[_cell(None) for _ in columns])]
    values = exp.Values(
        expressions=tuples,
        alias=exp.TableAlias(
            this=exp.to_identifier("rows", quoted=True),
            columns=[exp.to_identifier(column.split()[0], quoted=True) for column in columns],
        ),
    )
    select = exp.select(*map(_typed, columns), copy=False).from_(values, copy=False)
    if empty:
        select = select.where(exp.false(), copy=False)
    return exp.Subquery(
        this=select, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    )


def _cell(value: Cell) -> exp.Expression:
    return exp.convert(value)


def _typed(column: str) -> exp.Expression:
    """ "NAME" is a string column, "NAME BIGINT" says otherwise."""
    name, _, kind = column.partition(" ")
    to = exp.DataType.build(kind or "VARCHAR", dialect="duckdb")
    value = exp.column(exp.to_identifier(name, quoted=True))
    return exp.alias_(exp.Cast(this=value, to=to), name, quoted=True)


# ---------------------------------------------------------------- rows


def _schemata(schema: Schema) -> Rows:
    yield ("", "", None, None)
    yield ("", "INFORMATION_SCHEMA", None, None)


def _tables(schema: Schema) -> Rows:
    for table in schema.tables.values():
        link = table.interleave
        parent = link.parent if link else None
        on_delete = None
        if link and link.enforced:
            on_delete = "CASCADE" if link.cascade else "NO ACTION"
        kind = None if link is None else ("IN PARENT" if link.enforced else "IN")
        yield (
            "", "", table.name, "BASE TABLE", parent, on_delete, "COMMITTED", kind,
            table.row_deletion_policy,
        )  # fmt: skip
    for view in schema.views.values():
        yield ("", "", view.name, "VIEW", None, None, None, None, None)


def _columns(schema: Schema) -> Rows:
    for table in schema.tables.values():
        for place, column in enumerate(table.columns, 1):
            generated = "ALWAYS" if column.generated is not None else "NEVER"
            stored = None
            if column.generated is not None:
                stored = "YES" if column.stored else "NO"
            yield (
                "", "", table.name, column.name, place, column.default, None,
                "NO" if column.not_null else "YES", column.type.spanner, generated,
                column.generated, stored, "COMMITTED", "NO",
            )  # fmt: skip


def _column_options(schema: Schema) -> Rows:
    for table in schema.tables.values():
        for column in table.columns:
            if column.commit_timestamp:
                yield (
                    "", "", table.name, column.name, "allow_commit_timestamp", "BOOL", "TRUE",
                )  # fmt: skip


def _all_indexes(schema: Schema) -> Iterator[tuple[Index, str]]:
    for table in schema.tables.values():
        yield Index("PRIMARY_KEY", table.name, table.key, unique=True), "PRIMARY_KEY"
    for index in schema.indexes.values():
        yield index, "INDEX"


def _indexes(schema: Schema) -> Rows:
    for index, kind in _all_indexes(schema):
        state = None if kind == "PRIMARY_KEY" else "READ_WRITE"
        yield (
            "", "", index.table, index.name, kind, "", index.unique, index.null_filtered,
            state, False,
        )  # fmt: skip


def _index_columns(schema: Schema) -> Rows:
    for index, kind in _all_indexes(schema):
        table = schema.table(index.table)
        stored = [(None, KeyPart(name)) for name in index.storing]
        for place, part in [*enumerate(index.key, 1), *stored]:
            column = table.column(part.column)
            ordering = None if place is None else ("DESC" if part.descending else "ASC")
            nullable = "NO" if column.not_null else "YES"
            yield (
                "", "", index.table, index.name, kind, column.name, place, ordering, nullable,
                column.type.spanner,
            )  # fmt: skip


def _table_constraints(schema: Schema) -> Rows:
    for table in schema.tables.values():
        kinds = [(f"PK_{table.name}", "PRIMARY KEY")]
        kinds += [(rule.name, "FOREIGN KEY") for rule in table.foreign_keys]
        kinds += [(check.name, "CHECK") for check in table.checks]
        kinds += [
            (f"CK_IS_NOT_NULL_{table.name}_{column.name}", "CHECK")
            for column in table.columns
            if column.not_null
        ]
        for name, kind in kinds:
            yield ("", "", name, "", "", table.name, kind, "NO", "NO", "YES")


def _check_constraints(schema: Schema) -> Rows:
    for table in schema.tables.values():
        for check in table.checks:
            yield ("", "", check.name, check.expression, "COMMITTED")
        for column in table.columns:
            if column.not_null:
                name = f"CK_IS_NOT_NULL_{table.name}_{column.name}"
                yield ("", "", name, f"{column.name} IS NOT NULL", "COMMITTED")


def _key_column_usage(schema: Schema) -> Rows:
    for table in schema.tables.values():
        for place, name in enumerate(table.key_columns, 1):
            yield ("", "", f"PK_{table.name}", "", "", table.name, name, place, None)
        for rule in table.foreign_keys:
            for place, name in enumerate(rule.columns, 1):
                yield ("", "", rule.name, "", "", table.name, name, place, place)


def _referential_constraints(schema: Schema) -> Rows:
    for table in schema.tables.values():
        for rule in table.foreign_keys:
            yield (
                "", "", rule.name, "", "", f"PK_{rule.table}", "SIMPLE", "NO ACTION",
                "CASCADE" if rule.cascade else "NO ACTION", "COMMITTED",
            )  # fmt: skip


def _constraint_table_usage(schema: Schema) -> Rows:
    for table in schema.tables.values():
        yield ("", "", table.name, "", "", f"PK_{table.name}")
        for rule in table.foreign_keys:
            yield ("", "", rule.table, "", "", rule.name)


def _views(schema: Schema) -> Rows:
    for view in schema.views.values():
        yield ("", "", view.name, view.query, "INVOKER")


def _property_graphs(schema: Schema) -> Rows:
    for graph in schema.graphs.values():
        yield ("", "", graph.name, json.dumps(graph.model.metadata()))


def _database_options(schema: Schema) -> Rows:
    yield ("", "", "database_dialect", "STRING", "GOOGLE_STANDARD_SQL")


_VIEWS: dict[str, tuple[tuple[str, ...], Callable[[Schema], Rows]]] = {
    "SCHEMATA": (
        ("CATALOG_NAME", "SCHEMA_NAME", "SCHEMA_OWNER", "EFFECTIVE_TIMESTAMP BIGINT"),
        _schemata,
    ),
    "TABLES": (
        (
            "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE", "PARENT_TABLE_NAME",
            "ON_DELETE_ACTION", "SPANNER_STATE", "INTERLEAVE_TYPE",
            "ROW_DELETION_POLICY_EXPRESSION",
        ),
        _tables,
    ),
    "COLUMNS": (
        (
            "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME",
            "ORDINAL_POSITION BIGINT", "COLUMN_DEFAULT", "DATA_TYPE", "IS_NULLABLE",
            "SPANNER_TYPE", "IS_GENERATED", "GENERATION_EXPRESSION", "IS_STORED",
            "SPANNER_STATE", "IS_IDENTITY",
        ),
        _columns,
    ),
    "COLUMN_OPTIONS": (
        (
            "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "OPTION_NAME",
            "OPTION_TYPE", "OPTION_VALUE",
        ),
        _column_options,
    ),
    "INDEXES": (
        (
            "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "INDEX_NAME", "INDEX_TYPE",
            "PARENT_TABLE_NAME", "IS_UNIQUE BOOLEAN", "IS_NULL_FILTERED BOOLEAN", "INDEX_STATE",
            "SPANNER_IS_MANAGED BOOLEAN",
        ),
        _indexes,
    ),
    "INDEX_COLUMNS": (
        (
            "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "INDEX_NAME", "INDEX_TYPE",
            "COLUMN_NAME", "ORDINAL_POSITION BIGINT", "COLUMN_ORDERING", "IS_NULLABLE",
            "SPANNER_TYPE",
        ),
        _index_columns,
    ),
    "TABLE_CONSTRAINTS": (
        (
            "CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME", "TABLE_CATALOG",
            "TABLE_SCHEMA", "TABLE_NAME", "CONSTRAINT_TYPE", "IS_DEFERRABLE",
            "INITIALLY_DEFERRED", "ENFORCED",
        ),
        _table_constraints,
    ),
    "CHECK_CONSTRAINTS": (
        (
            "CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME", "CHECK_CLAUSE",
            "SPANNER_STATE",
        ),
        _check_constraints,
    ),
    "KEY_COLUMN_USAGE": (
        (
            "CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME", "TABLE_CATALOG",
            "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "ORDINAL_POSITION BIGINT",
            "POSITION_IN_UNIQUE_CONSTRAINT BIGINT",
        ),
        _key_column_usage,
    ),
    "REFERENTIAL_CONSTRAINTS": (
        (
            "CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME",
            "UNIQUE_CONSTRAINT_CATALOG", "UNIQUE_CONSTRAINT_SCHEMA", "UNIQUE_CONSTRAINT_NAME",
            "MATCH_OPTION", "UPDATE_RULE", "DELETE_RULE", "SPANNER_STATE",
        ),
        _referential_constraints,
    ),
    "CONSTRAINT_TABLE_USAGE": (
        (
            "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "CONSTRAINT_CATALOG",
            "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME",
        ),
        _constraint_table_usage,
    ),
    "VIEWS": (
        ("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "VIEW_DEFINITION", "SECURITY_TYPE"),
        _views,
    ),
    "PROPERTY_GRAPHS": (
        (
            "PROPERTY_GRAPH_CATALOG", "PROPERTY_GRAPH_SCHEMA", "PROPERTY_GRAPH_NAME",
            "PROPERTY_GRAPH_METADATA_JSON JSON",
        ),
        _property_graphs,
    ),
    "DATABASE_OPTIONS": (
        ("CATALOG_NAME", "SCHEMA_NAME", "OPTION_NAME", "OPTION_TYPE", "OPTION_VALUE"),
        _database_options,
    ),
}  # fmt: skip
