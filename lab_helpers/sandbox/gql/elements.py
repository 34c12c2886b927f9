"""How values travel through a lowered query.

A scalar is one SQL expression. A node or an edge comes in three forms that answer the same
questions: `TableElement`, a row of one element table in the FROM clause of a pattern;
`ColumnElement`, flat columns `v$t v$k0 v$name ...` of a relation, which DuckDB prunes and pushes
filters through as in plain SQL; and `StructElement`, one struct, for lists, paths and SQL columns.

Identity is a text `table|key|...`; an element of one known table also offers its raw key columns,
which join faster. The columns are
`$t` element table name, NULL for a null element · `$k` identity, or `$k0 $k1 ...` raw keys ·
`$s` `$d` identities of an edge's ends · `$l` labels of the row · `$p` dynamic properties.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from .schema import EDGE, ElementTable, PropertyGraph, properties_of
from .sqlnodes import (
    array,
    as_text,
    call,
    case,
    cast,
    column,
    concatenate,
    conjunction,
    equal,
    field,
    is_null,
    lambda_,
    not_null,
    null,
    struct,
    text,
)

Tables = tuple[ElementTable, ...]


@dataclass(frozen=True)
class Need:
    """What a query uses of a variable: its identity, and properties by folded name (None: all)."""

    identity: bool = True
    properties: frozenset[str] | None = None

    def covers(self, folded: str) -> bool:
        return self.properties is None or folded in self.properties


WHOLE = Need()


@dataclass(frozen=True)
class Scalar:
    expression: exp.Expression
    type: str | None = None  # DuckDB type text where it is known
    constant: exp.Expression | None = None  # the parameter or literal it must equal


@dataclass(frozen=True)
class ElementList:
    """A list of element structs: a group variable, NODES(p), ARRAY_AGG(n)."""

    graph: PropertyGraph
    kind: str
    declared: Tables
    expression: exp.Expression
    tables: Tables | None = None  # those that can occur; None: any

    def item(self, expression: exp.Expression) -> StructElement:
        tables = self.graph.tables(self.kind) if self.tables is None else self.tables
        return StructElement(self.graph, self.kind, tables, self.declared, expression)


@dataclass(frozen=True)
class Path:
    """A struct of the lists `n` of nodes and `e` of edges."""

    graph: PropertyGraph
    expression: exp.Expression
    tables: Tables | None = None  # those that can occur in it; None: any

    def list_of(self, kind: str) -> ElementList:
        part = field(self.expression.copy(), "n" if kind != EDGE else "e")
        possible = None
        if self.tables is not None:
            possible = tuple(t for t in self.tables if t.kind == kind)
        return ElementList(self.graph, kind, self.graph.tables(kind), part, possible)


class Element(ABC):
    """A node or an edge. `tables` can hold it; `declared` are the tables its pattern admits."""

    def __init__(self, graph: PropertyGraph, kind: str, tables: Tables, declared: Tables):
        self.graph = graph
        self.kind = kind
        self.tables = tables
        self.declared = declared

    @abstractmethod
    def marker(self) -> exp.Expression:
        """The name of its element table; NULL for a null element."""

    @abstractmethod
    def identity(self) -> exp.Expression: ...

    @abstractmethod
    def keys(self) -> list[exp.Expression] | None:
        """Raw key columns, where one table is known to hold it."""

    @abstractmethod
    def end(self, side: int) -> exp.Expression:
        """The identity of an edge's source (0) or destination (1) node."""

    @abstractmethod
    def stored(self, folded: str) -> exp.Expression:
        """A property that one of `tables` has."""

    @abstractmethod
    def row_labels(self) -> exp.Expression:
        """The list of dynamic labels, as written; NULL or empty where there are none."""

    @abstractmethod
    def row_properties(self) -> exp.Expression:
        """The JSON object of dynamic properties."""

    certain = False  # can it be null?

    def property(self, folded: str) -> exp.Expression:
        return self.stored(folded) if folded in properties_of(self.tables) else null()

    def is_null(self) -> exp.Expression:
        return is_null(self.marker())

    def by_table(self, answer: Callable[[ElementTable], exp.Expression]) -> exp.Expression:
        """`answer` for the table that holds the row; NULL for a null element."""
        if self.certain and len(self.tables) == 1:
            return answer(self.tables[0])
        if len(self.tables) == 1:
            return case([(not_null(self.marker()), answer(self.tables[0]))])
        if not self.tables:
            return null()
        return case([(equal(self.marker(), text(t.name)), answer(t)) for t in self.tables])

    def folded_row_labels(self) -> exp.Expression:
        lowered = call(
            "list_transform", self.row_labels(), lambda_("l", call("lower", column("l")))
        )
        return call("coalesce", lowered, cast(array([]), "VARCHAR[]"))

    def struct(self) -> exp.Expression:
        """The one struct that every element of this kind in this graph can become."""
        fields = [("$t", self.marker()), ("$k", self.identity())]
        if self.kind == EDGE:
            fields += [("$s", self.end(0)), ("$d", self.end(1))]
        mine = properties_of(self.tables)
        everything = self.graph.tables(self.kind)
        if any(t.dynamic for t in everything):
            fields += [("$l", self.row_labels()), ("$p", self.row_properties())]
        for folded, prop in properties_of(everything).items():
            value = self.stored(folded) if folded in mine else cast(null(), prop.type)
            fields.append((prop.name, value))
        packed = struct(fields)
        return packed if self.certain else case([(not_null(self.marker()), packed)])


def _key_texts(keys: list[exp.Expression]) -> list[exp.Expression]:
    """Key columns as text; in a key of several, the separator inside one is escaped."""
    if len(keys) == 1:
        return [as_text(keys[0])]
    doubled = [call("replace", as_text(k), text("\\"), text("\\\\")) for k in keys]
    return [call("replace", k, text("|"), text("\\|")) for k in doubled]


class TableElement(Element):
    """A row of one element table under an alias of a FROM clause."""

    certain = True

    def __init__(self, graph: PropertyGraph, table: ElementTable, name: str, declared: Tables = ()):
        super().__init__(graph, table.kind, (table,), declared or (table,))
        self.table = table
        self.alias = name
        self.neighbours: tuple[Element, Element] | None = None  # source, destination

    def marker(self):
        return text(self.table.name)

    def keys(self):
        if not self.table.by_key:
            return None
        return [column(k, self.alias) for k in self.table.key]

    def identity(self):
        parts: list[exp.Expression] = [text(self.table.name)]
        for key in _key_texts([column(k, self.alias) for k in self.table.key]):
            parts += [text("|"), call("coalesce", key, text(""))]
        if not self.table.by_key:
            parts += [text(">"), self.end(0), text(">"), self.end(1)]
        return concatenate(parts)

    def end(self, side):
        reference = self.table.ends[side]
        node = self.graph.elements[reference.node]
        if reference.node_columns != node.key:
            return self.neighbours[side].identity()
        parts: list[exp.Expression] = [text(node.name)]
        # no coalesce: an edge without an end meets no node
        for key in _key_texts([column(c, self.alias) for c in reference.columns]):
            parts += [text("|"), key]
        return concatenate(parts)

    def stored(self, folded):
        expression = self.table.properties[folded].expression
        if isinstance(expression, exp.Column) and len(expression.parts) == 1:
            return column(expression.name, self.alias)
        return exp.Paren(this=expression.copy().transform(self._qualified, copy=False))

    def _qualified(self, node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column) or node.table == self.alias:
            return node
        first, *rest = node.parts
        value: exp.Expression = column(first.name, self.alias)
        for part in rest:
            value = field(value, part.name)
        return value

    def row_labels(self):
        if not self.table.dynamic_label:
            return cast(null(), "VARCHAR[]")
        raw: exp.Expression = column(self.table.dynamic_label, self.alias)
        if not self.table.dynamic_label_type.endswith("[]"):
            raw = array([raw])
        real = exp.NEQ(this=column("l"), expression=text(""))  # neither NULL nor empty
        return call("list_filter", raw, lambda_("l", real))

    def row_properties(self):
        if not self.table.dynamic_properties:
            return cast(null(), "JSON")
        return column(self.table.dynamic_properties, self.alias)


class ColumnElement(Element):
    """Flat columns of a relation, written by `flatten`."""

    def __init__(
        self,
        graph: PropertyGraph,
        kind: str,
        tables: Tables,
        declared: Tables,
        relation: str,
        prefix: str,
        keyed: bool,
        need: Need = WHOLE,
    ):
        super().__init__(graph, kind, tables, declared)
        self.relation = relation
        self.prefix = prefix
        self.keyed = keyed
        self.need = need

    def _column(self, suffix: str) -> exp.Column:
        return column(f"{self.prefix}${suffix}", self.relation)

    def marker(self):
        return self._column("t")

    def keys(self):
        if not self.keyed:
            return None
        return [self._column(f"k{i}") for i in range(len(self.tables[0].key))]

    def identity(self):
        if not self.keyed:
            return self._column("k")
        parts: list[exp.Expression] = [self.marker()]
        for key in _key_texts(self.keys()):
            parts += [text("|"), call("coalesce", key, text(""))]
        return concatenate(parts)

    def end(self, side):
        return self._column("sd"[side])

    def stored(self, folded):
        return self._column(folded)

    def row_labels(self):
        if not any(t.dynamic_label for t in self.tables):
            return cast(null(), "VARCHAR[]")
        return self._column("l")

    def row_properties(self):
        if not any(t.dynamic_properties for t in self.tables):
            return cast(null(), "JSON")
        return self._column("p")

    def narrowed(self, tables: Tables, declared: Tables) -> ColumnElement:
        return ColumnElement(
            self.graph,
            self.kind,
            tables,
            declared,
            self.relation,
            self.prefix,
            self.keyed,
            self.need,
        )


class StructElement(Element):
    """One expression of the struct type of `Element.struct`."""

    def __init__(self, graph, kind, tables, declared, expression: exp.Expression):
        super().__init__(graph, kind, tables, declared)
        self.expression = expression

    def _field(self, name: str) -> exp.Expression:
        return field(self.expression.copy(), name)

    def marker(self):
        return self._field("$t")

    def identity(self):
        return self._field("$k")

    def keys(self):
        return None

    def end(self, side):
        return self._field("$" + "sd"[side])

    def stored(self, folded):
        return self._field(folded)

    def row_labels(self):
        if not any(t.dynamic for t in self.graph.tables(self.kind)):
            return cast(null(), "VARCHAR[]")
        return self._field("$l")

    def row_properties(self):
        if not any(t.dynamic for t in self.graph.tables(self.kind)):
            return cast(null(), "JSON")
        return self._field("$p")

    def struct(self):
        return self.expression.copy()


Value = Scalar | ElementList | Path | Element


def struct_type(graph: PropertyGraph, kind: str) -> str:
    """The DuckDB type of `Element.struct`."""
    fields = ['"$t" VARCHAR', '"$k" VARCHAR']
    if kind == EDGE:
        fields += ['"$s" VARCHAR', '"$d" VARCHAR']
    tables = graph.tables(kind)
    if any(t.dynamic for t in tables):
        fields += ['"$l" VARCHAR[]', '"$p" JSON']
    fields += [f'"{p.name}" {p.type}' for p in properties_of(tables).values()]
    return f"STRUCT({', '.join(fields)})"


def same(left: Element, right: Element) -> exp.Expression:
    """Are two non-null elements the same one?"""
    shared = {t.name for t in left.tables} & {t.name for t in right.tables}
    if left.graph is not right.graph or left.kind != right.kind or not shared:
        return exp.false()
    keys, others = left.keys(), right.keys()
    if keys and others and left.tables == right.tables:
        return exp.Paren(this=conjunction(equal(a, b) for a, b in zip(keys, others, strict=True)))
    return equal(left.identity(), right.identity())


def expression_of(value: Value) -> exp.Expression:
    """A value as one expression: an element as its struct."""
    return value.struct() if isinstance(value, Element) else value.expression.copy()
