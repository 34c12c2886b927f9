"""The bridge to the GQL front end: this database's tables as the front end asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from lab_helpers.sandbox import gql
from lab_helpers.sandbox.spanner.errors import failed_precondition, invalid, not_found
from lab_helpers.sandbox.spanner.schema import Graph, Schema, quote

# Types of the columns of a SELECT, by running it for no rows.
Describe = Callable[[str], list[tuple[str, str]]]

mentions_graph = gql.mentions_graph

# What a statement says about an earlier graph of its name is no part of the graph.
_CONDITIONS = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(PROPERTY\s+GRAPH)(?:\s+IF\s+NOT\s+EXISTS)?", re.IGNORECASE
)


class SchemaTables:
    """gql.Tables over one version of the schema."""

    def __init__(self, schema: Schema, describe: Describe) -> None:
        self._schema = schema
        self._describe = describe

    def resolve(self, name: str) -> exp.Table:
        found = self._schema.tables.get(name.lower()) or self._schema.views[name.lower()]
        return exp.table_(exp.to_identifier(found.name, quoted=True))

    def columns(self, name: str) -> dict[str, str]:
        table = self._schema.tables.get(name.lower())
        if table is not None:
            return {column.name: column.type.duckdb for column in table.columns}
        view = self._schema.views[name.lower()]
        return dict(self._describe(f"SELECT * FROM {quote(view.name)} LIMIT 0"))

    def primary_key(self, name: str) -> list[str]:
        table = self._schema.tables.get(name.lower())
        return list(table.key_columns) if table is not None else []

    def expression_type(self, name: str, sql: str) -> str:
        table = self.resolve(name).sql("duckdb")
        return self._describe(f"SELECT ({sql}) FROM {table} LIMIT 0")[0][1]


def lower(sql: str, schema: Schema, tables: SchemaTables) -> tuple[exp.Expression, tuple[str, ...]]:
    """GQL (or SQL with GRAPH_TABLE) -> a DuckDB tree of one's own, and its column names."""
    models = {graph.name: graph.model for graph in schema.graphs.values()}
    try:
        lowered = gql.lower(sql, models, tables)
    except gql.GqlError as error:
        raise invalid(str(error)) from error
    return lowered.tree, lowered.columns or None


def build(ddl: str, tables: SchemaTables) -> Graph:
    """The graph that a stored CREATE PROPERTY GRAPH statement makes."""
    try:
        create = gql.parse_graph_ddl(ddl)
        return Graph(create.name, ddl, gql.build_graph(create, tables))
    except gql.GqlError as error:
        raise invalid(str(error)) from error


def apply(sql: str, schema: Schema, tables: SchemaTables) -> Schema:
    """The schema after CREATE or DROP PROPERTY GRAPH."""
    try:
        statement = gql.parse_graph_ddl(sql)
    except gql.GqlError as error:
        raise invalid(str(error)) from error
    name = statement.name
    exists = name.lower() in schema.graphs
    if isinstance(statement, gql.DropGraph):
        if exists:
            return schema.with_("graphs", name, None)
        if statement.if_exists:
            return schema
        raise not_found(f"Property graph not found: {name}")
    if exists and statement.if_not_exists:
        return schema
    if schema.has(name) and not (exists and statement.or_replace):
        raise failed_precondition(f"Duplicate name in schema: {name}.")
    return schema.with_("graphs", name, build(_CONDITIONS.sub(r"CREATE \1", sql, count=1), tables))
