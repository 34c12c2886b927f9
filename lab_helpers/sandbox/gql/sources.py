"""What the FROM clause of a pattern reads: a plain table, or the union of several."""

from __future__ import annotations

from sqlglot import exp

from .columns import flatten
from .elements import Need, TableElement
from .schema import EDGE, ElementTable, PropertyGraph
from .sqlnodes import column, conjunction, equal, select, union_all


def table_source(table: ElementTable, name: str) -> exp.Expression:
    source = table.source.copy()
    source.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
    return source


def union_of(
    graph: PropertyGraph, tables: tuple[ElementTable, ...], need: Need, both_ways: bool
) -> exp.Expression:
    """The rows of several element tables in one layout; edges can be read both ways."""
    members = []
    for table in tables:
        for backwards in (False, True) if both_ways else (False,):
            members.append(_member(graph, table, tables, need, both_ways, backwards))
    return union_all(members)


def _member(graph, table, tables, need, both_ways, backwards) -> exp.Select:
    element = TableElement(graph, table, "t")
    source: exp.Expression = table_source(table, "t")
    joined = []
    if table.kind == EDGE and not table.by_key:
        ends = []
        for name, reference in zip("ab", table.ends, strict=True):
            node = graph.elements[reference.node]
            on = conjunction(
                equal(column(mine, "t"), column(theirs, name))
                for mine, theirs in zip(reference.columns, reference.node_columns, strict=True)
            )
            joined.append((table_source(node, name), on))
            ends.append(TableElement(graph, node, name))
        element.neighbours = (ends[0], ends[1])
    items = flatten(element, "", tables, False, need)
    if both_ways:
        start, stop = (1, 0) if backwards else (0, 1)
        items += [("$from", element.end(start)), ("$to", element.end(stop))]
    query = select(items, source)
    for other, on in joined:
        query = query.join(other, on=on, copy=False)
    if backwards:
        query = query.where(exp.NEQ(this=element.end(0), expression=element.end(1)), copy=False)
    return query
