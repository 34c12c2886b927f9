"""Flat columns: how an element is written into a relation and read back from it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from .elements import (
    WHOLE,
    ColumnElement,
    Element,
    Need,
    StructElement,
    TableElement,
    Tables,
    Value,
    expression_of,
)
from .schema import EDGE, PropertyGraph, properties_of
from .sqlnodes import cast, column, null


def can_key(tables: Tables) -> bool:
    """Can elements of these tables travel with raw keys?"""
    return len(tables) == 1 and tables[0].by_key


def flatten(
    element: Element,
    prefix: str,
    tables: Tables | None = None,
    keyed: bool | None = None,
    need: Need = WHOLE,
) -> list[tuple[str, exp.Expression]]:
    """The flat columns of an element: (name, expression), for a target of `tables`."""
    tables = element.tables if tables is None else tables
    keyed = element.keys() is not None and can_key(tables) if keyed is None else keyed
    found = [("t", element.marker())]
    if need.identity:
        if keyed:
            found += [(f"k{i}", k) for i, k in enumerate(element.keys())]
        else:
            found.append(("k", element.identity()))
        if element.kind == EDGE:
            found += [("s", element.end(0)), ("d", element.end(1))]
        if any(t.dynamic_label for t in tables):
            found.append(("l", element.row_labels()))
    mine = properties_of(element.tables)
    declared = properties_of(tables)
    dynamic = need.properties is None or bool(need.properties - set(declared))
    if dynamic and any(t.dynamic_properties for t in tables):
        found.append(("p", element.row_properties()))
    for folded, prop in declared.items():
        if need.covers(folded):
            value = element.stored(folded) if folded in mine else cast(null(), prop.type)
            found.append((folded, value))
    return [(f"{prefix}${suffix}", value) for suffix, value in found]


def flat_nulls(
    graph: PropertyGraph, kind: str, prefix: str, tables: Tables, keyed: bool, need: Need
) -> list[tuple[str, exp.Expression]]:
    """The flat columns of a null element of the same layout."""
    nothing = StructElement(graph, kind, tables, tables, null())
    if keyed:
        keys = [null() for _ in tables[0].key]
        nothing.keys = lambda: keys  # type: ignore[method-assign]
    empty = []
    for name, value in flatten(nothing, prefix, tables, keyed, need):
        suffix = name[len(prefix) + 1 :]
        typed = value if isinstance(value, exp.Cast) else null()
        if suffix in properties_of(tables):
            typed = cast(null(), properties_of(tables)[suffix].type)
        elif suffix in ("t", "k", "s", "d"):
            typed = cast(null(), "VARCHAR")
        empty.append((name, typed))
    return empty


def exported(value: Value, name: str) -> list[tuple[str, exp.Expression]]:
    """The columns that carry a value under a name."""
    if isinstance(value, ColumnElement):
        return flatten(value, name, need=value.need)
    if isinstance(value, TableElement):
        return flatten(value, name)
    return [(name, expression_of(value))]


def rebound(value: Value, relation: str, name: str) -> Value:
    """The same value, read from the columns that `exported` wrote into a relation."""
    if isinstance(value, StructElement):
        return StructElement(
            value.graph, value.kind, value.tables, value.declared, column(name, relation)
        )
    if isinstance(value, Element):
        return ColumnElement(
            value.graph,
            value.kind,
            value.tables,
            value.declared,
            relation,
            name,
            value.keys() is not None and can_key(value.tables),
            value.need if isinstance(value, ColumnElement) else WHOLE,
        )
    return replace(value, expression=column(name, relation))
