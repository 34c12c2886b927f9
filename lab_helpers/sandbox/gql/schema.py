"""Property graphs: element tables, their labels and properties, checked against real tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from .ddl import AllColumns, CreateGraph, ElementDefinition, NodeReference
from .errors import GqlError, Position, did_you_mean
from .typenames import widened

NODE, EDGE = "node", "edge"


class Tables(Protocol):
    """What a service tells about its tables and views."""

    def resolve(self, name: str) -> exp.Table:
        """How the engine spells a table named in GQL or DDL. Raises KeyError."""

    def columns(self, name: str) -> dict[str, str]:
        """Column to DuckDB type text, in order. Raises KeyError."""

    def primary_key(self, name: str) -> list[str]:
        """The primary key's columns; [] where there is none."""

    def expression_type(self, name: str, sql: str) -> str:
        """The DuckDB type of a DuckDB SQL expression over that table."""


@dataclass(frozen=True)
class Property:
    name: str
    expression: exp.Expression  # over the columns of the element table
    text: str  # as written in the DDL
    type: str  # DuckDB type text


@dataclass(frozen=True)
class Label:
    name: str
    properties: tuple[str, ...]  # as declared


@dataclass(frozen=True)
class Reference:
    """One end of an edge table: its columns hold these columns of a node table."""

    columns: tuple[str, ...]
    node: str  # folded name of the node element table
    node_columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ElementTable:
    name: str
    kind: str
    base: str  # table name as written
    source: exp.Table  # table name as the engine spells it
    key: tuple[str, ...]
    labels: dict[str, Label]  # by folded name
    properties: dict[str, Property]  # by folded name
    ends: tuple[Reference, Reference] | None = None
    by_key: bool = True  # every edge end refers to the key of its node table
    dynamic_label: str | None = None
    dynamic_label_type: str = "VARCHAR"
    dynamic_properties: str | None = None

    @property
    def dynamic(self) -> bool:
        return bool(self.dynamic_label or self.dynamic_properties)


@dataclass(frozen=True, eq=False)
class PropertyGraph:
    """A validated graph. `ddl` is the statement that made it."""

    name: str
    ddl: str
    elements: dict[str, ElementTable] = field(default_factory=dict)  # by folded name

    def tables(self, kind: str) -> tuple[ElementTable, ...]:
        return tuple(e for e in self.elements.values() if e.kind == kind)

    def labels(self, kind: str) -> dict[str, str]:
        """Folded label name to declared name, over the tables of one kind."""
        return {
            folded: label.name
            for table in self.tables(kind)
            for folded, label in table.labels.items()
        }

    def metadata(self, project: str | None = None, dataset: str | None = None) -> dict:
        """The content of PROPERTY_GRAPH_METADATA_JSON.

        Without arguments, in Spanner's shape; with a project and a dataset, in BigQuery's.
        """
        from .metadata import bigquery_metadata, spanner_metadata

        if project is None:
            return spanner_metadata(self)
        return bigquery_metadata(self, project, dataset or "")


def properties_of(tables: Iterable[ElementTable]) -> dict[str, Property]:
    """Every property that any of the tables has, by folded name; the first declaration wins."""
    found: dict[str, Property] = {}
    for table in tables:
        for folded, prop in table.properties.items():
            found.setdefault(folded, prop)
    return found


def build_graph(create: CreateGraph, tables: Tables) -> PropertyGraph:
    """The graph that a CREATE PROPERTY GRAPH describes.

    Raises GqlError naming the element table, column, label or property that is wrong, and where.
    """
    elements: dict[str, ElementTable] = {}
    for definition in create.elements:
        folded = definition.name.lower()
        if folded in elements:
            raise _error(
                definition.position,
                f"Element table '{definition.name}' is defined twice; give one an alias with AS",
            )
        elements[folded] = _Builder(definition, tables).build(elements)
    graph = PropertyGraph(create.name, create.text, elements)
    _check_labels(create, graph)
    return graph


class _Builder:
    """Checks one element definition against its table."""

    def __init__(self, definition: ElementDefinition, tables: Tables):
        self.definition = definition
        self.tables = tables
        try:
            self.source = tables.resolve(definition.table)
            self.columns = tables.columns(definition.table)
        except KeyError:
            raise _error(
                definition.position, f"Table not found: {definition.table}; create it first"
            ) from None
        self.by_fold = {c.lower(): c for c in self.columns}
        self.properties: dict[str, Property] = {}

    def build(self, known: dict[str, ElementTable]) -> ElementTable:
        d = self.definition
        labels = self.labels()
        ends = self.ends(known) if d.kind == EDGE else None
        if d.kind == NODE and (d.source or d.destination):
            raise _error(d.position, f"Node table '{d.name}' cannot have SOURCE or DESTINATION")
        return ElementTable(
            name=d.name,
            kind=d.kind,
            base=d.table,
            source=self.source,
            key=self.key(),
            labels=labels,
            properties=self.properties,
            ends=ends,
            by_key=all(e.node_columns == known[e.node].key for e in ends or ()),
            dynamic_label=d.dynamic_label and self.column(d.dynamic_label, d.position),
            dynamic_label_type=self.columns[self.column(d.dynamic_label, d.position)]
            if d.dynamic_label
            else "VARCHAR",
            dynamic_properties=d.dynamic_properties
            and self.column(d.dynamic_properties, d.position),
        )

    def column(self, name: str, position: Position | None) -> str:
        found = self.by_fold.get(name.lower())
        if found is None:
            hint = did_you_mean(name, self.columns)
            raise _error(
                position, f"Column '{name}' is not found in table {self.definition.table}{hint}"
            )
        return found

    def key(self) -> tuple[str, ...]:
        d = self.definition
        key = d.key if d.key is not None else tuple(self.tables.primary_key(d.table))
        if not key:
            raise _error(
                d.position,
                f"Element table '{d.name}' has no KEY and table {d.table} has no primary key; "
                "add KEY (columns)",
            )
        return tuple(self.column(c, d.position) for c in key)

    def labels(self) -> dict[str, Label]:
        d = self.definition
        found: dict[str, Label] = {}
        written = [(label.name, label.properties, label.position) for label in d.labels]
        if not written:
            written = [(d.name, AllColumns(), d.position)]
        for name, listed, position in written:
            if name.lower() in found:
                raise _error(position, f"Label '{name}' is given twice to '{d.name}'")
            names = self.listed(listed, position)
            found[name.lower()] = Label(name, names)
        return found

    def listed(self, listed: AllColumns | tuple, position: Position | None) -> tuple[str, ...]:
        if isinstance(listed, AllColumns):
            excluded = {self.column(c, listed.position).lower() for c in listed.excluded}
            names = [c for c in self.columns if c.lower() not in excluded]
            for name in names:
                column = exp.column(name, quoted=True)
                self.declare(Property(name, column, name, self.columns[name]), position)
            return tuple(names)
        seen: set[str] = set()
        for item in listed:
            if item.name.lower() in seen:
                raise _error(item.position, f"Property '{item.name}' is listed twice in one label")
            seen.add(item.name.lower())
            self.declare(self.property(item), item.position)
        return tuple(item.name for item in listed)

    def property(self, item) -> Property:
        expression = item.expression.copy()
        for column in list(expression.find_all(exp.Column)):
            first = column.parts[0]
            # a table-qualified or struct path is left to DuckDB; its first part must be a column
            first.set("this", self.column(first.name, item.position))
            first.set("quoted", True)
        if isinstance(expression, exp.Column) and len(expression.parts) == 1:
            return Property(item.name, expression, item.text, self.columns[expression.name])
        sql = expression.sql("duckdb")
        try:
            written = self.tables.expression_type(self.definition.table, sql)
        except Exception as error:
            raise _error(
                item.position, f"Property '{item.name}': {str(error).splitlines()[0]}"
            ) from error
        kind = widened(written)
        if kind != written:
            expression = exp.cast(expression, exp.DataType.build(kind, dialect="duckdb"))
        return Property(item.name, expression, item.text, kind)

    def declare(self, prop: Property, position: Position | None) -> None:
        known = self.properties.setdefault(prop.name.lower(), prop)
        if known.expression.sql("duckdb").lower() != prop.expression.sql("duckdb").lower():
            raise _error(
                position,
                f"Property '{prop.name}' of element table '{self.definition.name}' has two "
                f"definitions: {known.text} and {prop.text}",
            )

    def ends(self, known: dict[str, ElementTable]) -> tuple[Reference, Reference]:
        d = self.definition
        for side, reference in (("SOURCE", d.source), ("DESTINATION", d.destination)):
            if reference is None:
                raise _error(d.position, f"Edge table '{d.name}' has no {side} KEY")
        return self.end(d.source, known), self.end(d.destination, known)

    def end(self, reference: NodeReference, known: dict[str, ElementTable]) -> Reference:
        node = known.get(reference.node.lower())
        if node is None or node.kind != NODE:
            nodes = [e.name for e in known.values() if e.kind == NODE]
            hint = did_you_mean(reference.node, nodes)
            raise _error(
                reference.position,
                f"Edge table '{self.definition.name}' refers to the unknown node table "
                f"'{reference.node}'{hint}",
            )
        columns = tuple(self.column(c, reference.position) for c in reference.columns)
        there = self.tables.columns(node.base)
        folded = {c.lower(): c for c in there}
        wanted = node.key if reference.node_columns is None else reference.node_columns
        for column in wanted:
            if column.lower() not in folded:
                hint = did_you_mean(column, there)
                raise _error(
                    reference.position,
                    f"Column '{column}' is not found in node table '{node.name}'{hint}",
                )
        if len(columns) != len(wanted):
            raise _error(
                reference.position,
                f"Edge table '{self.definition.name}' gives {len(columns)} key column(s) for "
                f"{len(wanted)} of node table '{node.name}'",
            )
        there_columns = tuple(folded[c.lower()] for c in wanted)
        if set(there_columns) == set(node.key):  # the same key in another order
            here = dict(zip(there_columns, columns, strict=True))
            columns, there_columns = tuple(here[c] for c in node.key), node.key
        return Reference(columns, node.name.lower(), there_columns)


def _check_labels(create: CreateGraph, graph: PropertyGraph) -> None:
    """One label has one set of properties; one property name has one type."""
    labels: dict[str, tuple[str, set[str]]] = {}
    types: dict[str, tuple[str, str]] = {}
    places = {d.name.lower(): d.position for d in create.elements}
    for folded, table in graph.elements.items():
        for name, label in table.labels.items():
            names = {p.lower() for p in label.properties}
            first, expected = labels.setdefault(name, (table.name, names))
            if names != expected:
                raise _error(
                    places[folded],
                    f"Label '{label.name}' has different properties in element tables "
                    f"'{first}' and '{table.name}'",
                )
        for name, prop in table.properties.items():
            first, kind = types.setdefault(name, (table.name, prop.type))
            if kind != prop.type:
                raise _error(
                    places[folded],
                    f"Property '{prop.name}' has type {kind} in element table '{first}' and "
                    f"{prop.type} in '{table.name}'",
                )


def _error(position: Position | None, message: str) -> GqlError:
    return GqlError(message, *(position or (None, None)))
