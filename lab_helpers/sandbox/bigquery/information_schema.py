"""INFORMATION_SCHEMA.PROPERTY_GRAPHS, which bqemulator does not have, as a table of literals."""

from __future__ import annotations

import json
import re

from sqlglot import exp

from lab_helpers.sandbox.bigquery.graph_store import GraphStore
from lab_helpers.sandbox.bigquery.names import Name, NameScope
from lab_helpers.sandbox.gql import GqlError

COLUMNS = (
    "property_graph_catalog",
    "property_graph_schema",
    "property_graph_name",
    "property_graph_metadata_json",
    "ddl",
)
_VIEW = re.compile(
    r"(?P<qualifier>[\w.`-]+\s*\.\s*)?`?INFORMATION_SCHEMA\s*\.\s*`?PROPERTY_GRAPHS`?",
    re.IGNORECASE,
)


def with_property_graphs(sql: str, scope: NameScope, store: GraphStore) -> str:
    """`sql` with every reference to the view replaced by the rows it has now."""
    return _VIEW.sub(lambda found: _rows(found["qualifier"] or "", scope, store), sql)


def _rows(qualifier: str, scope: NameScope, store: GraphStore) -> str:
    project, dataset = scope.project, scope.dataset
    parts = [part for part in re.sub(r"[`\s]", "", qualifier).split(".") if part]
    if parts:
        dataset = parts[-1]
    if len(parts) > 1:
        project = parts[-2]
    if dataset and dataset.lower().startswith("region-"):
        dataset = None
    rows = [
        f"SELECT {', '.join(_column(*pair) for pair in zip(COLUMNS, row, strict=True))}"
        for row in (_row(name, store) for name in store.names(project, dataset))
    ]
    empty = f"SELECT {', '.join(_column(name, '') for name in COLUMNS)} LIMIT 0"
    return f"({' UNION ALL '.join(rows) or empty})"


def _row(name: Name, store: GraphStore) -> tuple[str, ...]:
    try:
        metadata = store.graph(name).metadata(name.project, name.dataset)
    except GqlError as error:
        # A graph whose table is gone is still listed; its definition says what it was.
        metadata = {"error": str(error)}
    return (name.project, name.dataset, name.object, json.dumps(metadata), store.ddl(name))


def _column(name: str, value: str) -> str:
    return f"{exp.Literal.string(value).sql('bigquery')} AS {name}"
