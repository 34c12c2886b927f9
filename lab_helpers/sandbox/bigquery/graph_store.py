"""Property graph definitions, kept in the same DuckDB file as the tables they are over."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bqemulator.api.dependencies import AppContext

from lab_helpers.sandbox import gql
from lab_helpers.sandbox.bigquery.names import Name, NameScope
from lab_helpers.sandbox.bigquery.tables import CatalogTables, KeyReader

_TABLE = '"_lab"."property_graphs"'


@dataclass(frozen=True)
class _Built:
    """A graph with what its tables looked like when it was built."""

    ddl: str
    graph: gql.PropertyGraph
    columns: dict[str, dict[str, str]]


class GraphStore:
    """All property graphs of the sandbox. A definition is durable when `save` returns."""

    def __init__(self, context: AppContext, keys: KeyReader) -> None:
        self._context = context
        self._keys = keys
        self._built: dict[Name, _Built] = {}
        context.engine.execute('CREATE SCHEMA IF NOT EXISTS "_lab"')
        # `dataset_made` ties a graph to its dataset's lifetime: one deleted and made anew is empty.
        context.engine.execute(
            f"CREATE TABLE IF NOT EXISTS {_TABLE} (project VARCHAR, dataset VARCHAR, "
            "name VARCHAR, ddl VARCHAR, dataset_made VARCHAR, PRIMARY KEY (project, dataset, name))"
        )

    def tables(self, scope: NameScope) -> CatalogTables:
        """The tables that names written in `scope` point at."""
        return CatalogTables(self._context, scope, self._keys)

    def build(self, name: Name, create: gql.CreateGraph) -> gql.PropertyGraph:
        """Check a definition against the tables; raises GqlError naming what is wrong."""
        return gql.build_graph(create, self.tables(NameScope(name.project, name.dataset)))

    def save(self, name: Name, ddl: str) -> None:
        """Keep (or replace) a definition in its dataset, which must exist."""
        self._context.engine.execute(
            f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?, ?)",
            [name.project, name.dataset, name.object, ddl, self._dataset_made(name)],
        )
        self._built.pop(name, None)

    def drop(self, name: Name) -> None:
        """Forget a definition; nothing happens when there is none."""
        self._context.engine.execute(
            f"DELETE FROM {_TABLE} WHERE (project, dataset, name) = (?, ?, ?)",
            [name.project, name.dataset, name.object],
        )
        self._built.pop(name, None)

    def names(self, project: str, dataset: str | None = None) -> list[Name]:
        """The graphs of a project, or of one of its datasets, in order of their names."""
        return [name for name in self._definitions(project) if dataset in (None, name.dataset)]

    def exists(self, name: Name) -> bool:
        """Whether a graph of exactly this name is defined."""
        return name in self._definitions(name.project)

    def is_table(self, name: Name) -> bool:
        """Whether a table or view already has this name."""
        return self._context.catalog.get_table(name.project, name.dataset, name.object) is not None

    def has_dataset(self, name: Name) -> bool:
        """Whether the dataset a graph of this name would be in exists."""
        return self._context.catalog.get_dataset(name.project, name.dataset) is not None

    def ddl(self, name: Name) -> str:
        """The statement that made the graph. Raises KeyError."""
        return self._definitions(name.project)[name]

    def graph(self, name: Name) -> gql.PropertyGraph:
        """The graph over the tables as they are now.

        The same object is returned while neither changes. Raises KeyError when there is no such
        graph, GqlError when its tables no longer fit it.
        """
        ddl = self.ddl(name)
        tables = self.tables(NameScope(name.project, name.dataset))
        built = self._built.get(name)
        if built and built.ddl == ddl and _still_so(tables, built.columns):
            return built.graph
        create = gql.parse_graph_ddl(ddl)
        graph = gql.build_graph(create, tables)
        columns = {e.base: tables.columns(e.base) for e in graph.elements.values()}
        self._built[name] = _Built(ddl, graph, columns)
        return graph

    def mentioned(self, sql: str, scope: NameScope) -> dict[str, Name]:
        """The graphs `sql` names, by the spelling it uses for them.

        Only these are given to the front end. It falls back to the last part of a dotted name,
        which across datasets would answer from another dataset's graph; and a graph whose table is
        gone must not stop a question about another.
        """
        found: dict[str, Name] = {}
        for name in self.names(scope.project):
            spellings = [f"{name.project}.{name.dataset}.{name.object}"]
            spellings.append(f"{name.dataset}.{name.object}")
            if name.dataset == scope.dataset:
                spellings.append(name.object)
            found |= {spelling: name for spelling in spellings if _occurs(spelling, sql)}
        return found

    def _definitions(self, project: str) -> dict[Name, str]:
        rows = self._context.engine.execute(
            f"SELECT dataset, name, ddl, dataset_made FROM {_TABLE} WHERE project = ? ORDER BY ALL",
            [project],
        ).fetchall()
        found = {Name(project, row[0], row[1]): (row[2], row[3]) for row in rows}
        return {
            name: ddl for name, (ddl, made) in found.items() if self._dataset_made(name) == made
        }

    def _dataset_made(self, name: Name) -> str:
        dataset = self._context.catalog.get_dataset(name.project, name.dataset)
        return dataset.creation_time.isoformat() if dataset else ""


def _occurs(dotted: str, sql: str) -> bool:
    """Whether `sql` holds this whole dotted name, with or without quotes around its parts."""
    pattern = r"\s*\.\s*".join(re.escape(part) for part in dotted.split("."))
    return re.search(rf"(?<![\w.-]){pattern}(?![\w-])", sql.replace("`", ""), re.I) is not None


def _still_so(tables: CatalogTables, columns: dict[str, dict[str, str]]) -> bool:
    try:
        return all(tables.columns(table) == known for table, known in columns.items())
    except KeyError:
        return False
