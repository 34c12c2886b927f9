"""Google's own analyser, compiled to WebAssembly, judges the queries of this folder.

What these tests call valid it must accept, and what they call invalid it must refuse. The build
is older than the services, so constructs it does not know are named below.
"""

from __future__ import annotations

import ctypes
import re

import pytest

from lab_helpers.sandbox.gql import GqlError, PropertyGraph
from lab_helpers.sandbox.gql.typenames import googlesql
from tests.sandbox.gql import test_errors, test_functions, test_patterns, test_statements
from tests.sandbox.gql.conftest import World

pytest.importorskip("zetasql")

# newer than this build of the analyser, or a rewrite that it leaves out
UNKNOWN_TO_THE_ANALYSER = {
    # FULL, LEFT and INNER set operations
    "statements": {"full_union_pads_with_null", "inner_union_keeps_the_common_columns"},
    # unbounded quantifiers, and `?` for {0,1}
    "patterns": {
        "question_mark_is_zero_or_one",
        "trail_star",
        "acyclic_plus",
        "simple_unbounded",
        "any_unbounded",
        "shortest_two_unbounded",
        "shortest_with_a_lower_bound",
        "cheapest_unbounded",
        "cheapest_with_real_costs",
        "unbounded_between_other_parts",
        "unbounded_over_any_direction_without_labels",
    },
    # SAFE. before a graph function
    "functions": {"safe_turns_errors_into_null"},
}
# refused by this front end for a reason the analyser leaves to others
REFUSED_HERE_ONLY = {"literal_out_of_range"}  # it has UINT64, which the services have not


class Analyser:
    """The analyser over one property graph."""

    def __init__(self, graph: PropertyGraph, world: World):
        from wasmtime import Config
        from zetasql.core import wasm_client
        from zetasql.wasi import get_wasm_path
        from zetasql.wasi._pb2.zetasql.local_service import local_service_pb2
        from zetasql.wasi._pb2.zetasql.proto import options_pb2

        class CachedConfig(Config):
            """Compiling takes twenty seconds; wasmtime can keep the result."""

            def __init__(self):
                super().__init__()
                self.cache = True

        class FastClient(wasm_client.WasmClient):
            """The shipped client moves memory byte by byte."""

            def _address(self, pointer: int) -> int:
                return ctypes.addressof(self.memory.data_ptr().contents) + pointer

            def write_bytes(self, ptr: int, data: bytes) -> None:
                ctypes.memmove(self._address(ptr), data, len(data))

            def read_bytes(self, ptr: int, size: int) -> bytes:
                return ctypes.string_at(self._address(ptr), size)

        plain, wasm_client.Config = wasm_client.Config, CachedConfig
        try:
            self.client = FastClient(get_wasm_path())
        finally:
            wasm_client.Config = plain
        self.messages = local_service_pb2
        language = self.client.call_grpc_func(
            "ZetaSqlLocalService_GetLanguageOptions",
            local_service_pb2.LanguageOptionsRequest(maximum_features=True),
            options_pb2.LanguageOptionsProto,
        )
        self.request = local_service_pb2.AnalyzeRequest()
        options = self.request.options
        options.language_options.CopyFrom(language)
        options.language_options.supported_statement_kinds.clear()
        options.allow_undeclared_parameters = True
        options.default_timezone = "America/Los_Angeles"
        self._catalog(graph, world)

    def _catalog(self, graph: PropertyGraph, world: World) -> None:
        catalog = self.request.simple_catalog
        catalog.name = "catalog"
        catalog.builtin_function_options.language_options.CopyFrom(
            self.request.options.language_options
        )
        columns = {}
        for number, name in enumerate(dict.fromkeys(t.base for t in graph.elements.values())):
            table = catalog.table.add(name=name, serialization_id=number + 1)
            columns[name] = list(world.tables.columns(name))
            for column, kind in world.tables.columns(name).items():
                self._type(table.column.add(name=column).type, kind)
        made = catalog.property_graph.add(name=graph.name, name_path=[graph.name])
        labels = {k: x for t in graph.elements.values() for k, x in t.labels.items()}
        for label in labels.values():
            made.labels.add(
                name=label.name,
                property_graph_name_path=[graph.name],
                property_declaration_names=label.properties,
            )
        declared = {k: p for t in graph.elements.values() for k, p in t.properties.items()}
        for prop in declared.values():
            found = made.property_declarations.add(
                name=prop.name, property_graph_name_path=[graph.name]
            )
            self._type(found.type, prop.type)
        for table in graph.elements.values():
            self._element(made, graph, table, columns)

    def _element(self, made, graph, table, columns) -> None:
        def positions(base: str, names) -> list[int]:
            return [columns[base].index(n) for n in names]

        node = table.kind == "node"
        found = (made.node_tables if node else made.edge_tables).add(
            name=table.name,
            property_graph_name_path=[graph.name],
            kind=1 if node else 2,
            input_table_name=table.base,
            key_columns=positions(table.base, table.key),
            label_names=[x.name for x in table.labels.values()],
        )
        for prop in table.properties.values():
            found.property_definitions.add(
                property_declaration_name=prop.name, value_expression_sql=prop.text
            )
        ends = (found.source_node_table, found.dest_node_table)
        for end, reference in zip(ends, table.ends or (), strict=False):
            there = graph.elements[reference.node]
            end.node_table_name = there.name
            end.edge_table_columns.extend(positions(table.base, reference.columns))
            end.node_table_columns.extend(positions(there.base, reference.node_columns))

    def _type(self, target, duckdb_type: str) -> None:
        from zetasql.wasi._pb2.zetasql.public import type_pb2

        name = googlesql(duckdb_type)
        if name.startswith("ARRAY<"):
            target.type_kind = type_pb2.TYPE_ARRAY
            self._type(target.array_type.element_type, duckdb_type[:-2])
            return
        name = {"FLOAT64": "DOUBLE", "FLOAT32": "FLOAT"}.get(name, name)
        target.type_kind = type_pb2.TypeKind.Value(f"TYPE_{name}")

    def complaint(self, query: str) -> str | None:
        """The analyser's error, or None for a valid query."""
        from zetasql.core.exceptions import ServerError

        self.request.sql_statement = query
        try:
            self.client.call_grpc_func(
                "ZetaSqlLocalService_Analyze", self.request, self.messages.AnalyzeResponse
            )
        except ServerError as error:
            return str(error)
        return None


@pytest.fixture(scope="module")
def analyser(world):
    return Analyser(world.graphs["world"], world)


def accepted():
    suites = {
        "statements": test_statements.CASES,
        "patterns": test_patterns.CASES,
        "functions": test_functions.CASES,
    }
    for suite, cases in suites.items():
        for name, (query, _) in cases.items():
            if name not in UNKNOWN_TO_THE_ANALYSER[suite]:
                yield pytest.param(query, id=name)


@pytest.mark.parametrize("query", list(accepted()))
def test_the_analyser_accepts_what_runs_here(analyser, query):
    assert analyser.complaint(f"GRAPH world {query}") is None


def refused():
    for name, (query, _) in test_errors.INVALID.items():
        if name not in REFUSED_HERE_ONLY:
            yield pytest.param(query, id=name)


@pytest.mark.parametrize("query", list(refused()))
def test_the_analyser_refuses_what_is_refused_here(analyser, query):
    assert analyser.complaint(test_errors.whole(query)) is not None


def test_both_refuse_misspelt_names(analyser, world):
    """One wrong identifier in a valid query: both must notice, or both not mind.

    Function names are left out: whether a function exists is for the engine to say.
    """
    disagreements = []
    cases = test_patterns.CASES | test_statements.CASES
    newer = UNKNOWN_TO_THE_ANALYSER["patterns"] | UNKNOWN_TO_THE_ANALYSER["statements"]
    for name, (query, _) in cases.items():
        if name in newer or name == "structs_keep_their_fields":  # the engine knows structs
            continue
        for word in sorted(set(re.findall(r"\b[A-Za-z]+\b(?!\()", query)))[::2]:
            mutant = "GRAPH world " + re.sub(rf"\b{word}\b", word + "x", query, count=1)
            theirs = analyser.complaint(mutant) is not None
            try:
                world.lower(mutant)
                ours = False
            except GqlError:
                ours = True
            if ours != theirs:
                disagreements.append((ours, mutant))
    assert not disagreements
