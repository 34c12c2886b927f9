"""Aggregate calls as written: their modifiers taken apart, and which kind each one is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from . import syntax as s
from .calls import arguments_of, is_aggregate, name_of
from .elements import ElementList, Scalar, Value
from .scope import Scope
from .typenames import is_list

# what an aggregate function means in a clause
VERTICAL, HORIZONTAL, NONE = "over rows", "over an array", "nothing"


@dataclass
class Aggregate:
    """One aggregate call, its modifiers taken apart."""

    node: exp.Expression
    name: str
    arguments: list[exp.Expression]
    distinct: bool = False
    ignore_nulls: bool = False
    having: exp.HavingMax | None = None
    order: list[exp.Ordered] = field(default_factory=list)
    limit: exp.Expression | None = None

    @property
    def plain(self) -> bool:
        return not (self.distinct or self.ignore_nulls or self.having or self.order or self.limit)

    def operands(self) -> list[exp.Expression]:
        having = [self.having.expression] if self.having else []
        return [*self.arguments, *having, *(o.this for o in self.order)]


def taken_apart(node: exp.Expression) -> Aggregate:
    ignore = isinstance(node, exp.IgnoreNulls)
    inner = node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node
    found = Aggregate(node, name_of(inner), [], ignore_nulls=ignore)
    rest = arguments_of(inner)
    if isinstance(inner, exp.GroupConcat):
        separator = inner.args.get("separator")
        rest = [inner.this, *([separator] if separator is not None else [])]
    found.arguments = [_unwrapped(argument, found) for argument in rest]
    return found


def _unwrapped(node: exp.Expression, found: Aggregate) -> exp.Expression:
    """Peels LIMIT, ORDER BY, HAVING, IGNORE NULLS and DISTINCT off an argument."""
    while True:
        if isinstance(node, exp.Limit):
            found.limit = node.expression
        elif isinstance(node, exp.Order):
            found.order = list(node.expressions)
        elif isinstance(node, exp.HavingMax):
            found.having = node
        elif isinstance(node, exp.IgnoreNulls):
            found.ignore_nulls = True
        elif isinstance(node, exp.Distinct):
            found.distinct = True
            if len(node.expressions) != 1:
                return node
            node = node.expressions[0]
            continue
        elif not isinstance(node, exp.RespectNulls):
            return node
        node = node.this


def is_call(node: exp.Expression) -> bool:
    inner = node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node
    return isinstance(inner, exp.Expression) and is_aggregate(inner)


# ------------------------------------------------------------------------- which kind is it?


def array_variable(node: exp.Expression, scope: Scope) -> tuple[str, Value] | None:
    """The array variable that a horizontal aggregate ranges over, if its arguments name one.

    A variable of unknown type, such as one bound to a parameter, is taken for an array.
    """
    for column in _outer_columns(taken_apart(node).operands()):
        if isinstance(column.this, exp.Star):
            continue
        found = scope.find(column.parts[0].name)
        if isinstance(found, ElementList):
            return column.parts[0].name, found
        whole = isinstance(found, Scalar) and len(column.parts) == 1
        if whole and (found.type is None or is_list(found.type)):
            return column.name, found
    return None


def _outer_columns(nodes: list[exp.Expression]) -> Iterator[exp.Column]:
    """Columns, but not those of nested queries and aggregates, nor those that are subscripted."""
    for node in nodes:
        if isinstance(node, exp.Column):
            yield node
        elif isinstance(node, exp.Query | s.GraphSubquery | exp.Lambda) or is_call(node):
            continue
        elif isinstance(node, exp.Bracket):
            yield from _outer_columns(list(node.expressions))
        else:
            yield from _outer_columns(list(node.iter_expressions()))


def has_aggregate(node: exp.Expression) -> bool:
    """Does an expression of RETURN or WITH aggregate over rows?"""
    if isinstance(node, exp.Query | s.GraphSubquery):
        return False
    if isinstance(node, exp.Window):
        inner = [x for x in node.iter_expressions() if x is not node.this]
        return any(map(has_aggregate, [*inner, *node.this.iter_expressions()]))
    return is_call(node) or any(map(has_aggregate, node.iter_expressions()))
