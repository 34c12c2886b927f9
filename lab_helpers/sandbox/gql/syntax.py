"""Syntax of patterns and statements, as the parser leaves it.

Scalar expressions stay sqlglot trees. The four Expression classes at the end carry GQL inside a
sqlglot tree; their payload is immutable and shared between copies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from .errors import Position

# ---------------------------------------------------------------------------------- labels


@dataclass(frozen=True)
class LabelName:
    name: str
    position: Position | None = None


@dataclass(frozen=True)
class LabelWildcard:
    """`%`: has any label."""


@dataclass(frozen=True)
class LabelNot:
    operand: LabelExpression


@dataclass(frozen=True)
class LabelAnd:
    left: LabelExpression
    right: LabelExpression


@dataclass(frozen=True)
class LabelOr:
    left: LabelExpression
    right: LabelExpression


LabelExpression = LabelName | LabelWildcard | LabelNot | LabelAnd | LabelOr

# -------------------------------------------------------------------------------- patterns


@dataclass(frozen=True)
class ElementPattern:
    variable: str | None = None
    label: LabelExpression | None = None
    where: exp.Expression | None = None
    properties: tuple[tuple[exp.Identifier, exp.Expression], ...] = ()
    cost: exp.Expression | None = None
    position: Position | None = None


@dataclass(frozen=True)
class NodePattern(ElementPattern):
    pass


@dataclass(frozen=True)
class EdgePattern(ElementPattern):
    direction: str = "-"  # '>' as written, '<' against, '-' either way


@dataclass(frozen=True)
class SubPath:
    terms: tuple[Term, ...]
    where: exp.Expression | None = None
    mode: str | None = None
    position: Position | None = None


@dataclass(frozen=True)
class Quantified:
    term: SubPath
    low: int
    high: int | None  # None: unbounded
    position: Position | None = None


Term = NodePattern | EdgePattern | SubPath | Quantified


@dataclass(frozen=True)
class Selector:
    """ANY, SHORTEST or CHEAPEST, with how many paths to keep for each pair of ends."""

    kind: str
    count: exp.Expression


@dataclass(frozen=True)
class PathPattern:
    terms: tuple[Term, ...]
    variable: str | None = None
    mode: str | None = None
    selector: Selector | None = None
    position: Position | None = None


def pattern_elements(terms: Iterable[Term]) -> Iterable[ElementPattern]:
    for term in terms:
        if isinstance(term, Quantified):
            yield from pattern_elements(term.term.terms)
        elif isinstance(term, SubPath):
            yield from pattern_elements(term.terms)
        else:
            yield term


def pattern_filters(terms: Iterable[Term]) -> Iterable[tuple[exp.Expression, set[str]]]:
    """Every condition written inside a path, with the folded variables it may name."""
    for term in terms:
        if isinstance(term, Quantified):
            yield from pattern_filters((term.term,))
        elif isinstance(term, SubPath):
            if term.where is not None:
                inside = pattern_elements(term.terms)
                yield term.where, {e.variable.lower() for e in inside if e.variable}
            yield from pattern_filters(term.terms)
        else:
            own = {term.variable.lower()} if term.variable else set()
            conditions = (term.where, term.cost, *(value for _, value in term.properties))
            yield from ((c, own) for c in conditions if c is not None)


# ------------------------------------------------------------------------------ statements


@dataclass(frozen=True)
class Match:
    paths: tuple[PathPattern, ...]
    where: exp.Expression | None = None
    optional: bool = False
    position: Position | None = None


@dataclass(frozen=True)
class Let:
    items: tuple[tuple[str, exp.Expression], ...]
    position: Position | None = None


@dataclass(frozen=True)
class Filter:
    condition: exp.Expression
    position: Position | None = None


@dataclass(frozen=True)
class For:
    variable: str
    array: exp.Expression
    offset: str | None
    position: Position | None = None


@dataclass(frozen=True)
class OrderBy:
    order: exp.Order
    position: Position | None = None


@dataclass(frozen=True)
class Limit:
    limit: exp.Expression | None = None
    offset: exp.Expression | None = None
    position: Position | None = None


@dataclass(frozen=True)
class Item:
    """One item of RETURN or WITH; `value` is None for `*`."""

    value: exp.Expression | None
    alias: str | None = None
    position: Position | None = None


@dataclass(frozen=True)
class Projection:
    """RETURN (which ends a linear query) or WITH (which does not)."""

    items: tuple[Item, ...]
    distinct: bool = False
    group: tuple[exp.Expression, ...] | None = None
    group_all: bool = False
    order: exp.Order | None = None
    limit: exp.Expression | None = None
    offset: exp.Expression | None = None
    final: bool = True
    columns: bool = False  # written as GRAPH_TABLE's COLUMNS clause
    position: Position | None = None


@dataclass(frozen=True)
class Call:
    optional: bool
    variables: tuple[str, ...]
    query: Query
    position: Position | None = None


Statement = Match | Let | Filter | For | OrderBy | Limit | Projection | Call


@dataclass(frozen=True)
class SetOperator:
    kind: str  # UNION, INTERSECT, EXCEPT
    distinct: bool
    side: str = ""  # LEFT, FULL, INNER or nothing: how columns are matched by name
    position: Position | None = None


@dataclass(frozen=True)
class Composite:
    """Linear queries joined by set operators: `first`, then (operator, linear query) pairs."""

    first: tuple[Statement, ...]
    rest: tuple[tuple[SetOperator, tuple[Statement, ...]], ...] = ()


Query = tuple[Composite, ...]  # joined by NEXT


# ------------------------------------------------------------- GQL inside a sqlglot tree


class GraphQuery(exp.Expression):
    """A top-level `GRAPH g ...` statement."""

    arg_types: ClassVar = {"graph": True, "query": True}


class GraphTable(exp.Expression):
    """`GRAPH_TABLE(g ...)` in a FROM clause."""

    arg_types: ClassVar = {"graph": True, "query": True, "alias": False, "position": False}


class GraphSubquery(exp.Expression):
    """`EXISTS { }`, `ARRAY { }`, `VALUE { }` and the `{ }` of `IN`."""

    arg_types: ClassVar = {"kind": True, "query": True, "graph": False}


class GraphPredicate(exp.Expression):
    """`x IS [NOT] LABELED l`, `x IS [NOT] SOURCE OF y`, `x IS [NOT] DESTINATION OF y`."""

    arg_types: ClassVar = {
        "this": True,
        "kind": True,
        "label": False,
        "expression": False,
        "negated": False,
    }


class WithExpression(exp.Expression):
    """`WITH(a AS x, b AS y, result)`: names for parts of one expression."""

    arg_types: ClassVar = {"this": True, "names": True, "expressions": True}


def written(node: exp.Expression) -> str:
    """A scalar expression as text, in lower case: for messages and for comparing two of them."""
    try:
        return node.sql("bigquery").lower()
    except ValueError:  # it holds GQL, which sqlglot does not print
        return repr(node).lower()
