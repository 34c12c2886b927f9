"""The lab's own definitions and queries, judged twice: by Google's analyser and by this front end.

What lies in `data/` and in the notebooks must be valid for both; what a notebook shows as a
mistake must be one for both. A dataset's name is no part of the grammar, so the judges see
BigQuery's tables by their own names.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import nbformat
import pytest
import sqlglot
from IPython.core.inputtransformer2 import TransformerManager

from lab_helpers.config import DATA
from lab_helpers.sandbox.gql import (
    GqlError,
    build_graph,
    is_graph_ddl,
    lower,
    mentions_graph,
    parse_graph_ddl,
)
from lab_helpers.sandbox.spanner.ddl_parser import parse as parse_spanner
from lab_helpers.sandbox.spanner.ddl_statements import CreateIndex, CreateTable
from lab_helpers.stores import schema
from tests.sandbox.gql.analyser import Analyser
from tests.sandbox.gql.conftest import DuckTables

pytest.importorskip("zetasql")

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
DATASET = "soa_action_lineage"
SPANNER = ("operations", "gate", "coffee")
BIGQUERY = ("lineage",)
GRAPHS = ("operational_context_graph", "action_lineage_graph")
SPANNER_KEY = re.compile(r"\)\s*PRIMARY KEY\s*\(([^)]*)\)\s*$")
SYNTAX_ONLY = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST


def without_dataset(text: str) -> str:
    return re.sub(rf"`?\b{DATASET}\.(\w+)`?", r"\1", text)


def statements(name: str) -> list[str]:
    return [without_dataset(s) for s in schema.ddl(name, DATASET)]


def duckdb_table(statement: str, service: str) -> str | None:
    """The CREATE TABLE of DuckDB for a service's own; None for an index."""
    if service == "bigquery":
        return sqlglot.transpile(statement, read="bigquery", write="duckdb")[0]
    parsed = parse_spanner(statement)
    if isinstance(parsed, CreateIndex):
        return None
    assert isinstance(parsed, CreateTable)
    table = parsed.table
    columns = [f'"{c.name}" {c.type.duckdb}' for c in table.columns]
    columns.append(f"PRIMARY KEY ({', '.join(table.key_columns)})")
    return f'CREATE TABLE "{table.name}" ({", ".join(columns)})'


def as_googlesql(text: str) -> str:
    """Spanner writes a table's key after its columns, GoogleSQL among them."""
    return SPANNER_KEY.sub(r", PRIMARY KEY (\1))", text)


def parameters_of(text: str) -> dict[str, str]:
    """The types that a file's comment promises: `-- Parameters: @a, @b INT64; @c STRING.`"""
    comment = " ".join(re.findall(r"^--\s*(.*)$", text, re.M)).partition("Parameter")[2]
    return {
        name: kind
        for names, kind in re.findall(r"((?:@\w+[,\s]+)+)((?:ARRAY<)?[A-Z0-9]+>?)", comment)
        for name in re.findall(r"@(\w+)", names)
    }


class Judges:
    """Both judges over every table and graph of data/ddl."""

    def __init__(self):
        connection = duckdb.connect()
        self.tables = DuckTables(connection)
        for service, names in (("spanner", SPANNER), ("bigquery", BIGQUERY)):
            for statement in (s for name in names for s in statements(name)):
                if table := duckdb_table(statement, service):
                    connection.execute(table)
        made = [
            build_graph(parse_graph_ddl(s), self.tables)
            for name in GRAPHS
            for s in statements(name)
        ]
        self.graphs = {graph.name: graph for graph in made}
        self.google = Analyser(self.tables, self.tables.names(), made)

    def complaints(self, text: str) -> tuple[str | None, str | None]:
        """What Google's analyser and what this front end say against a text."""
        return self.google.complaint(as_googlesql(text), parameters_of(text)), self._ours(text)

    def _ours(self, text: str) -> str | None:
        try:
            if is_graph_ddl(text):
                build_graph(parse_graph_ddl(text), self.tables)
            elif mentions_graph(text):
                lower(text, self.graphs, self.tables)
        except GqlError as error:
            return str(error)
        return None


@pytest.fixture(scope="module")
def judges() -> Judges:
    return Judges()


def definitions() -> Iterator:
    for path in sorted((DATA / "ddl").glob("*.sql")):
        for number, statement in enumerate(statements(path.stem), 1):
            yield pytest.param(statement, id=f"{path.name}:{number}")


def files() -> Iterator:
    for path in sorted((DATA / "gql").rglob("*.gql")):
        name = str(path.relative_to(DATA / "gql").with_suffix(""))
        yield pytest.param(without_dataset(schema.gql(name, DATASET)), id=f"{name}.gql")


@functools.cache
def cells() -> tuple[tuple[str, str, bool], ...]:
    """Every GQL text in a code cell: where it stands, the text, and is it meant to fail."""
    found = []
    for path in sorted(NOTEBOOKS.rglob("*.ipynb")):
        for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
            if cell.cell_type != "code":
                continue
            # a cell magic becomes a call that holds the cell's text as a string
            code = TransformerManager().transform_cell(cell.source)
            tree = compile(
                code, path.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
            )
            wrong = "raises-exception" in cell.metadata.get("tags", [])
            place = f"{path.relative_to(NOTEBOOKS)}[{number}]"
            found += [
                (place, without_dataset(node.value), wrong)
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and mentions_graph(node.value)
            ]
    return tuple(found)


def in_notebooks(*, wrong: bool) -> Iterator:
    return (pytest.param(text, id=place) for place, text, fails in cells() if fails is wrong)


@pytest.mark.parametrize("text", [*definitions(), *files(), *in_notebooks(wrong=False)])
def test_both_judges_accept(judges, text):
    assert judges.complaints(text) == (None, None)


@pytest.mark.parametrize("text", list(in_notebooks(wrong=True)))
def test_both_judges_refuse_what_is_shown_as_a_mistake(judges, text):
    google, ours = judges.complaints(text)
    assert google is not None
    assert ours is not None


@pytest.mark.parametrize(
    "found", [definitions(), files(), in_notebooks(wrong=False), in_notebooks(wrong=True)]
)
def test_the_search_is_not_blind(found):
    assert list(found)
