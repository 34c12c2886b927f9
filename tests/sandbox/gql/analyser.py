"""Google's own analyser, compiled to WebAssembly, over tables and property graphs of a test."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable, Mapping

from lab_helpers.sandbox.gql import PropertyGraph
from lab_helpers.sandbox.gql.schema import ElementTable, Tables
from lab_helpers.sandbox.gql.typenames import googlesql


@functools.cache
def _client():
    """The analyser, started once: compiling takes twenty seconds, and wasmtime keeps the result."""
    from wasmtime import Config
    from zetasql.core import wasm_client
    from zetasql.wasi import get_wasm_path

    class CachedConfig(Config):
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
        return FastClient(get_wasm_path())
    finally:
        wasm_client.Config = plain


class Analyser:
    """The analyser over some tables and the graphs on them.

    Column types come from `tables`; a type that is none of GoogleSQL's scalars or arrays of them
    raises ValueError.
    """

    def __init__(self, tables: Tables, names: Iterable[str], graphs: Iterable[PropertyGraph]):
        from zetasql.wasi._pb2.zetasql.local_service import local_service_pb2
        from zetasql.wasi._pb2.zetasql.proto import options_pb2

        self._messages = local_service_pb2
        language = _client().call_grpc_func(
            "ZetaSqlLocalService_GetLanguageOptions",
            local_service_pb2.LanguageOptionsRequest(maximum_features=True),
            options_pb2.LanguageOptionsProto,
        )
        language.reserved_keywords.append("GRAPH_TABLE")  # as in both services
        self._request = local_service_pb2.AnalyzeRequest()
        options = self._request.options
        options.language_options.CopyFrom(language)
        options.language_options.supported_statement_kinds.clear()
        options.allow_undeclared_parameters = True
        options.default_timezone = "America/Los_Angeles"
        catalog = self._request.simple_catalog
        catalog.name = "catalog"
        catalog.builtin_function_options.language_options.CopyFrom(language)
        self._columns: dict[str, list[str]] = {}
        for name in names:
            self._table(name, tables)
        for graph in graphs:
            self._graph(graph)

    def complaint(self, text: str, parameters: Mapping[str, str] | None = None) -> str | None:
        """The analyser's error about a query or a definition, or None for a valid one.

        `parameters` are GoogleSQL types by name; the analyser infers those that are not given.
        """
        from zetasql.core.exceptions import ServerError

        self._request.sql_statement = text
        del self._request.options.query_parameters[:]
        for name, kind in (parameters or {}).items():
            _set_type(self._request.options.query_parameters.add(name=name).type, kind)
        try:
            _client().call_grpc_func(
                "ZetaSqlLocalService_Analyze", self._request, self._messages.AnalyzeResponse
            )
        except ServerError as error:
            return str(error)
        return None

    def _table(self, name: str, tables: Tables) -> None:
        columns = tables.columns(name)
        made = self._request.simple_catalog.table.add(
            name=name, serialization_id=len(self._columns) + 1
        )
        for column, kind in columns.items():
            _set_type(made.column.add(name=column).type, googlesql(kind))
        self._columns[name.lower()] = list(columns)
        made.primary_key_column_index.extend(self._positions(name, tables.primary_key(name)))

    def _positions(self, table: str, names: Iterable[str]) -> list[int]:
        return [self._columns[table.lower()].index(n) for n in names]

    def _graph(self, graph: PropertyGraph) -> None:
        path = {"property_graph_name_path": [graph.name]}
        made = self._request.simple_catalog.property_graph.add(
            name=graph.name, name_path=[graph.name]
        )
        for label in _declared(t.labels for t in graph.elements.values()):
            made.labels.add(name=label.name, property_declaration_names=label.properties, **path)
        for prop in _declared(t.properties for t in graph.elements.values()):
            _set_type(
                made.property_declarations.add(name=prop.name, **path).type, googlesql(prop.type)
            )
        for table in graph.elements.values():
            self._element(made, graph, table, path)

    def _element(self, made, graph: PropertyGraph, table: ElementTable, path: dict) -> None:
        node = table.kind == "node"
        found = (made.node_tables if node else made.edge_tables).add(
            name=table.name,
            kind=1 if node else 2,
            input_table_name=table.base,
            key_columns=self._positions(table.base, table.key),
            label_names=[x.name for x in table.labels.values()],
            **path,
        )
        for prop in table.properties.values():
            found.property_definitions.add(
                property_declaration_name=prop.name, value_expression_sql=prop.text
            )
        if table.dynamic_label:
            found.dynamic_label.label_expression = table.dynamic_label
        if table.dynamic_properties:
            found.dynamic_properties.properties_expression = table.dynamic_properties
        ends = (found.source_node_table, found.dest_node_table)
        for end, reference in zip(ends, table.ends or (), strict=False):
            there = graph.elements[reference.node]
            end.node_table_name = there.name
            end.edge_table_columns.extend(self._positions(table.base, reference.columns))
            end.node_table_columns.extend(self._positions(there.base, reference.node_columns))


def _declared(named: Iterable[dict]) -> Iterable:
    """Labels or properties of all element tables, one of each name."""
    return {folded: item for found in named for folded, item in found.items()}.values()


def _set_type(target, name: str) -> None:
    """Fill a type message from GoogleSQL's name of a type."""
    from zetasql.wasi._pb2.zetasql.public import type_pb2

    if name.startswith("ARRAY<"):
        target.type_kind = type_pb2.TYPE_ARRAY
        _set_type(target.array_type.element_type, name[len("ARRAY<") : -1])
        return
    name = {"FLOAT64": "DOUBLE", "FLOAT32": "FLOAT"}.get(name, name)
    target.type_kind = type_pb2.TypeKind.Value(f"TYPE_{name}")
