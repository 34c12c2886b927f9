"""The lab's GQL as plain SQL, where a service has the lab's tables and does not run graphs.

BigQuery runs GQL only for projects with a reservation, and older Spanner emulators not at all. The
front end that reads GQL for the sandbox then writes the same question over the same tables.
"""

from __future__ import annotations

import datetime as dt
import functools
import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from lab_helpers.sandbox import gql
from lab_helpers.stores import schema
from lab_helpers.stores.lineage import MOMENTS

_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?`?([\w.]+)`? \((.*)\)", re.S)
_COLUMN = re.compile(r"^\s*(\w+) (BOOL|FLOAT64|INT64|STRING|TIMESTAMP)\b", re.M)
_DUCKDB = {
    "BOOL": "BOOLEAN",
    "FLOAT64": "DOUBLE",
    "INT64": "BIGINT",
    "STRING": "VARCHAR",
    "TIMESTAMP": "TIMESTAMP WITH TIME ZONE",
}


def of_operations(text: str) -> str | None:
    """Spanner SQL for a query over OperationalContextGraph; None where there is no such SQL."""
    return _plain(text, "operations", "operational_context_graph", "", ordered_aggregates=False)


def of_lineage(text: str, dataset: str, since: dt.datetime | None = None) -> str | None:
    """BigQuery SQL for a query over ActionLineageGraph; None where there is no such SQL.

    With `since`, rows of the trail from before that moment are left out, of SQL without a graph
    too.
    """
    sql = _plain(text, "lineage", "action_lineage_graph", dataset, ordered_aggregates=True)
    if since is None:
        return sql
    if sql is None and gql.mentions_graph(text):
        return None
    try:
        return _since(sqlglot.parse_one(sql or text, dialect="bigquery"), dataset, since)
    except ParseError:
        return None


def _since(tree: exp.Expression, dataset: str, moment: dt.datetime) -> str:
    for table in list(tree.find_all(exp.Table)):
        column = MOMENTS.get(table.name)
        if column is None or table.db not in ("", dataset):
            continue
        newer = exp.select("*").from_(exp.table_(table.name, db=table.db or None, quoted=True))
        newer = newer.where(f"{column} >= TIMESTAMP '{moment.isoformat()}'", dialect="bigquery")
        table.replace(newer.subquery(table.alias or table.name))
    return tree.sql("bigquery", pretty=True)


def _plain(
    text: str, tables: str, graph: str, dataset: str, *, ordered_aggregates: bool
) -> str | None:
    if not gql.mentions_graph(text):
        return None
    built, known = _graph(tables, graph, dataset)
    try:
        lowered = gql.lower(text, {built.name: built}, known)
        return gql.googlesql(lowered, ordered_aggregates=ordered_aggregates)
    except gql.GqlError:
        return None


@functools.cache
def _graph(tables: str, graph: str, dataset: str) -> tuple[gql.PropertyGraph, _DdlTables]:
    known = _DdlTables(schema.ddl(tables, dataset))
    (definition,) = schema.ddl(graph, dataset)
    return gql.build_graph(gql.parse_graph_ddl(definition), known), known


class _DdlTables:
    """Tables as the lab's own DDL declares them; see `gql.schema.Tables`."""

    def __init__(self, statements: list[str]) -> None:
        made = [m for m in map(_TABLE.match, statements) if m]
        self._columns = {m[1]: {c: _DUCKDB[t] for c, t in _COLUMN.findall(m[2])} for m in made}

    def resolve(self, name: str) -> exp.Table:
        self._columns[name]  # KeyError for a table the lab does not have
        return exp.to_table(name, dialect="bigquery")

    def columns(self, name: str) -> dict[str, str]:
        return self._columns[name]

    def primary_key(self, name: str) -> list[str]:
        return []  # every element of the lab's graphs names its key

    def expression_type(self, name: str, sql: str) -> str:
        return self._columns[name][sql.strip('"')]
