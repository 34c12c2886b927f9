"""Statements about property graphs, run against bqemulator's storage."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from bqemulator.api.dependencies import AppContext
from bqemulator.domain.errors import AlreadyExistsError, InvalidQueryError, NotFoundError

from lab_helpers.sandbox import gql
from lab_helpers.sandbox.bigquery import parameters, results
from lab_helpers.sandbox.bigquery.graph_store import GraphStore
from lab_helpers.sandbox.bigquery.names import Name, NameScope


@dataclass(frozen=True)
class Statement:
    """A query as a client sent it."""

    sql: str
    scope: NameScope
    parameters: list[dict[str, Any]]
    dry_run: bool


@dataclass(frozen=True)
class Outcome:
    """What a statement about graphs came to."""

    statement_type: str
    result: results.Result
    graphs: list[Name] = field(default_factory=list)
    ddl_operation: str = ""


NOTHING = results.Result(pa.table({}), [])


async def run(statement: Statement, context: AppContext, store: GraphStore) -> Outcome | None:
    """Run a statement about graphs; None when it is not about any.

    Raises bqemulator's DomainError with BigQuery's reason; what the GQL front end refuses is an
    InvalidQueryError with its message and position.
    """
    try:
        if gql.is_graph_ddl(statement.sql):
            return _define(statement, store)
        if gql.mentions_graph(statement.sql):
            return await _ask(statement, context, store)
    except gql.GqlError as error:
        raise InvalidQueryError(str(error), location="query") from error
    return None


def _define(statement: Statement, store: GraphStore) -> Outcome:
    ddl = gql.parse_graph_ddl(statement.sql)
    name = statement.scope.complete(ddl.name)
    if name is None:
        raise InvalidQueryError(
            f"Property graph '{ddl.name}' must be qualified with a dataset "
            f"(for example dataset.{ddl.name}).",
            location="query",
        )
    if not store.has_dataset(name):
        raise NotFoundError(f"Not found: Dataset {name.project}:{name.dataset}")
    if isinstance(ddl, gql.DropGraph):
        return _drop(ddl, name, statement, store)
    return _create(ddl, name, statement, store)


def _create(ddl: gql.CreateGraph, name: Name, statement: Statement, store: GraphStore) -> Outcome:
    exists = store.exists(name)
    if exists and ddl.if_not_exists:
        return Outcome("CREATE_PROPERTY_GRAPH", NOTHING, ddl_operation="SKIP")
    if (exists and not ddl.or_replace) or store.is_table(name):
        raise AlreadyExistsError(f"Already Exists: {_spelled(name)}")
    store.build(name, ddl)
    if not statement.dry_run:
        store.save(name, statement.sql)
    operation = "REPLACE" if exists else "CREATE"
    return Outcome("CREATE_PROPERTY_GRAPH", NOTHING, ddl_operation=operation)


def _drop(ddl: gql.DropGraph, name: Name, statement: Statement, store: GraphStore) -> Outcome:
    exists = store.exists(name)
    if not exists and not ddl.if_exists:
        raise NotFoundError(f"Not found: Property graph {_spelled(name)}")
    if not statement.dry_run:
        store.drop(name)
    operation = "DROP" if exists else "SKIP"
    return Outcome("DROP_PROPERTY_GRAPH", NOTHING, ddl_operation=operation)


async def _ask(statement: Statement, context: AppContext, store: GraphStore) -> Outcome:
    names = store.mentioned(statement.sql, statement.scope)
    graphs = {spelling: store.graph(name) for spelling, name in names.items()}
    try:
        lowered = gql.lower(statement.sql, graphs, store.tables(statement.scope))
    except gql.GraphNotFound as error:
        # the front end knew the graphs that the text names, and can only suggest from those
        others = [] if graphs else store.names(statement.scope.project)
        known = [f"{n.dataset}.{n.object}" for n in others]
        hint = gql.did_you_mean(error.graph, known)
        raise gql.GqlError(error.message + hint, error.line, error.column) from error
    bound = parameters.bind(lowered.tree, statement.parameters)
    sql = bound.tree.sql("duckdb")
    if statement.dry_run:
        sql = f"SELECT * FROM ({sql}) LIMIT 0"
    # On a thread, so that the sandbox still answers how it is while a long question runs.
    result = await asyncio.to_thread(results.run, context, sql, bound.values)
    by_definition = {graphs[spelling].name: name for spelling, name in names.items()}
    return Outcome("SELECT", result, [by_definition[graph] for graph in lowered.graphs])


def _spelled(name: Name) -> str:
    return f"{name.project}:{name.dataset}.{name.object}"
