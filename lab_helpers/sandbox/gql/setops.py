"""UNION, INTERSECT and EXCEPT of linear queries; columns are matched by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from . import syntax as s
from .columns import flat_nulls, flatten, rebound
from .elements import WHOLE, ColumnElement, Element, ElementList, Path, Scalar, Value, expression_of
from .errors import error_at
from .scope import Scope
from .sqlnodes import column, null, select, subquery
from .typenames import googlesql
from .working import Working

if TYPE_CHECKING:
    from .statements import Lowering

_CLASSES = {"UNION": exp.Union, "INTERSECT": exp.Intersect, "EXCEPT": exp.Except}


def combine(lowering: Lowering, operator: s.SetOperator, left: Working, right: Working) -> Working:
    names = _names(operator, left, right)
    relation = lowering.fresh("w")
    scope = Scope(left.scope.outer, left.scope.open)
    left_items: list[tuple[str, exp.Expression]] = []
    right_items: list[tuple[str, exp.Expression]] = []
    for written in names:
        folded = written.lower()
        a, b = left.scope.names.get(folded), right.scope.names.get(folded)
        known = a if a is not None else b
        assert known is not None
        if isinstance(known, Element):
            merged = _merged(written, a, b, relation, operator)
            left_items += _flat(merged, a, written)
            right_items += _flat(merged, b, written)
            scope.set(written, merged)
            continue
        if a is not None and b is not None and type(a) is not type(b):
            raise error_at(operator, f"Column {written} has different types in the two queries")
        _check_types(operator, written, a, b)
        left_items.append((written, expression_of(a) if a is not None else null()))
        right_items.append((written, expression_of(b) if b is not None else null()))
        scope.set(written, _carried(known, a, b, relation, written))
    query = _CLASSES[operator.kind](
        this=select(left_items, left.relation),
        expression=select(right_items, right.relation),
        distinct=operator.distinct,
    )
    return Working(subquery(query, relation), scope)


def _check_types(operator: s.SetOperator, written: str, a, b) -> None:
    kinds = [x.type for x in (a, b) if isinstance(x, Scalar) and x.type is not None]
    if len(set(kinds)) > 1 and not set(kinds) <= {"BIGINT", "DOUBLE"}:
        shown = ", ".join(map(googlesql, kinds))
        raise error_at(
            operator, f"Column {written} in {operator.kind} has incompatible types: {shown}"
        )


def _names(operator: s.SetOperator, left: Working, right: Working) -> list[str]:
    """The result's columns, in the order of the first query."""
    mine = dict(left.scope.written)
    mine = {k: mine[k] for k in left.scope.names}
    theirs = {k: right.scope.written[k] for k in right.scope.names}
    common = [w for k, w in mine.items() if k in theirs]
    if operator.side == "FULL":
        return [*mine.values(), *(w for k, w in theirs.items() if k not in mine)]
    if operator.side == "LEFT":
        if not common:
            raise error_at(operator, "The queries of a set operation share no column")
        return list(mine.values())
    if operator.side == "INNER":
        if not common:
            raise error_at(operator, "The queries of a set operation share no column")
        return common
    if set(mine) != set(theirs):
        missing = sorted(set(mine) ^ set(theirs))
        raise error_at(
            operator,
            f"The queries of a {operator.kind} must return the same column names; "
            f"{', '.join(missing)} is in one of them only",
        )
    return list(mine.values())


def _carried(known: Value, a, b, relation: str, written: str) -> Value:
    value = rebound(known, relation, written)
    if isinstance(value, Scalar):
        kinds = {x.type for x in (a, b) if isinstance(x, Scalar)}
        return Scalar(column(written, relation), kinds.pop() if len(kinds) == 1 else None)
    assert isinstance(value, ElementList | Path)
    return value


def _merged(written, a, b, relation, operator) -> ColumnElement:
    """The layout that both sides' elements fit."""
    present = [x for x in (a, b) if x is not None]
    if not all(isinstance(x, Element) for x in present) or len({x.kind for x in present}) > 1:
        raise error_at(operator, f"Column {written} has different types in the two queries")
    first = present[0]
    tables = tuple(t for t in first.graph.tables(first.kind) if any(t in x.tables for x in present))
    declared = tuple(dict.fromkeys(t for x in present for t in x.declared))
    return ColumnElement(first.graph, first.kind, tables, declared, relation, written, False, WHOLE)


def _flat(merged: ColumnElement, value: Element | None, written: str):
    if value is None:
        return flat_nulls(merged.graph, merged.kind, written, merged.tables, False, WHOLE)
    return flatten(value, written, merged.tables, False, WHOLE)
