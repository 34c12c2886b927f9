"""Aggregate functions: vertical over rows, horizontal over an array, and over windows.

GQL aggregates an array in place when the argument names an array variable: `SUM(e.amount)` over
a group variable `e` is one value per row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from . import syntax as s
from .aggregate_syntax import NONE, VERTICAL, Aggregate, array_variable, is_call, taken_apart
from .calls import arguments_of, is_aggregate, name_of
from .elements import Element, ElementList, Path, Scalar, StructElement, Value, expression_of
from .errors import error_at, unsupported
from .scope import Scope
from .sqlnodes import (
    call,
    case,
    cast,
    column,
    equal,
    joined_set,
    lambda_,
    not_null,
    null,
    number,
    select,
    struct,
    subquery,
    text,
)
from .sqlnodes import field as member
from .typenames import is_list, item_of

if TYPE_CHECKING:
    from .expressions import Translator

_DUCKDB = {
    "ARRAY_AGG": "list",
    "COUNTIF": "count_if",
    "LOGICAL_AND": "bool_and",
    "LOGICAL_OR": "bool_or",
    "APPROX_COUNT_DISTINCT": "approx_count_distinct",
    "VARIANCE": "var_samp",
    "STDDEV": "stddev_samp",
    "ANY_VALUE": "any_value",
}
_TYPES = {
    "COUNT": "BIGINT",
    "COUNTIF": "BIGINT",
    "APPROX_COUNT_DISTINCT": "BIGINT",
    "AVG": "DOUBLE",
    "STRING_AGG": "VARCHAR",
    "LOGICAL_AND": "BOOLEAN",
    "LOGICAL_OR": "BOOLEAN",
}
_SAME_TYPE = ("SUM", "MIN", "MAX", "ANY_VALUE")
_COUNTS = ("COUNT", "COUNTIF")
_OF_ARRAYS = ("COUNT", "ANY_VALUE", "ARRAY_CONCAT_AGG")
_FIRST_OF_WINDOW = ("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "LAG", "LEAD", "ANY_VALUE")


# ------------------------------------------------------------------------------ translation


def translate(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    aggregate = taken_apart(node)
    if t.lowering.aggregation == VERTICAL:
        return _vertical(t, aggregate, scope)
    if t.lowering.aggregation == NONE:
        raise error_at(node, f"Aggregate function {aggregate.name} is not allowed here")
    variable = array_variable(node, scope)
    if variable is None:
        raise error_at(
            node,
            f"Aggregate function {aggregate.name} needs an array variable in LET, FILTER and "
            "WHERE; aggregate over rows in RETURN or WITH",
        )
    return _horizontal(t, aggregate, scope, *variable)


def translate_window(t: Translator, node: exp.Window, scope: Scope) -> Value:
    """`f(...) OVER (...)`; a graph element orders and partitions by its identity."""
    inner = node.this
    arguments = {
        key: value.copy() if isinstance(value, exp.Expression) else value
        for key, value in node.args.items()
    }
    keys = [t.value(k, scope) for k in node.args.get("partition_by") or []]
    arguments["partition_by"] = [_grouping_key(k) for k in keys]
    if node.args.get("order"):
        arguments["order"] = t.scalar(node.args["order"], scope)
    if name_of(inner) == "IS_FIRST":
        arguments["this"] = exp.RowNumber()
        limit = t.scalar(arguments_of(inner)[0], scope)
        return Scalar(
            exp.Paren(this=exp.LTE(this=exp.Window(**arguments), expression=limit)), "BOOLEAN"
        )
    value: Value
    if is_call(inner):
        value = _vertical(t, taken_apart(inner), scope, windowed=True)
    else:
        value = t.rebuilt(inner, scope)
        carried = [t.value(a, scope) for a in arguments_of(inner)[:1]]
        if name_of(inner) in _FIRST_OF_WINDOW and carried and isinstance(carried[0], Element):
            value = StructElement(
                carried[0].graph,
                carried[0].kind,
                carried[0].graph.tables(carried[0].kind),
                carried[0].declared,
                value.expression,
            )
        elif name_of(inner) in ("ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE"):
            value = Scalar(value.expression, "BIGINT")
    arguments["this"] = expression_of(value)
    over = exp.Window(**arguments)
    if isinstance(value, StructElement):
        return StructElement(value.graph, value.kind, value.tables, value.declared, over)
    if isinstance(value, ElementList):
        return ElementList(value.graph, value.kind, value.declared, over)
    if name_of(inner) == "SUM" and value.type == "BIGINT":
        return Scalar(cast(over, "BIGINT"), "BIGINT")
    return Scalar(over, value.type)


def _grouping_key(value: Value) -> exp.Expression:
    if isinstance(value, Element):
        return value.identity()
    return expression_of(value)


def _vertical(
    t: Translator,
    a: Aggregate,
    scope: Scope,
    windowed: bool = False,
    position: exp.Expression | None = None,
) -> Value:
    """The DuckDB call for an aggregate. `position` orders what is gathered from an array."""
    if a.arguments and isinstance(a.arguments[0], exp.Star):
        return Scalar(call("count", exp.Star()), "BIGINT")
    values = [t.value(x, scope) for x in a.arguments]
    first = values[0] if values else Scalar(null())
    listed = isinstance(first, ElementList) or (isinstance(first, Scalar) and is_list(first.type))
    if listed and a.name not in _OF_ARRAYS:
        raise error_at(a.node, f"No matching signature for aggregate function {a.name} of an array")
    operand = _operand(a, first)
    rest = [expression_of(v) for v in values[1:]]
    kind = first.type if isinstance(first, Scalar) else None
    if a.having is not None:
        return _with_extreme(t, a, operand, rest, kind, scope)
    order = [_ordered(t, o, scope) for o in a.order]
    if a.name == "STRING_AGG":
        rest = rest or [text(",")]
        if _is_a_set(a, kind, rest, windowed):
            return Scalar(joined_set(operand, rest[0]), kind)
    if a.name in ("ARRAY_AGG", "STRING_AGG") and not order and not windowed:
        # the services promise no order here; a stable one keeps answers repeatable
        by = operand if a.distinct else position
        order = [exp.Ordered(this=by.copy(), nulls_first=True)] if by is not None else []
    arguments = [operand, *rest]
    if a.distinct:
        arguments[0] = exp.Distinct(expressions=[arguments[0]])
    if order:
        arguments[-1] = exp.Order(this=arguments[-1], expressions=order)
    built: exp.Expression = call(_DUCKDB.get(a.name, a.name.lower()), *arguments)
    if a.ignore_nulls:
        built = exp.Filter(this=built, expression=exp.Where(this=not_null(operand.copy())))
    if a.name == "ARRAY_CONCAT_AGG":
        flat = call("list", *arguments)
        return Scalar(call("flatten", flat), kind)
    if a.limit is not None:
        built = _limited(t, a, built, operand, order, rest, scope)
    return _typed(a, built, first, kind, windowed)


def _is_a_set(a: Aggregate, kind: str | None, rest: list[exp.Expression], windowed: bool) -> bool:
    """True for the distinct strings of a group, in no order that was asked for."""
    plain = a.distinct and not (a.order or windowed or a.limit is not None)
    return plain and kind == "VARCHAR" and isinstance(rest[0], exp.Literal)


def _operand(a: Aggregate, value: Value) -> exp.Expression:
    """Counting needs an element's identity, or only whether it is there; the rest its struct."""
    if isinstance(value, Element) and a.name in ("COUNT", "APPROX_COUNT_DISTINCT"):
        keys = value.keys()
        if a.distinct or a.name == "APPROX_COUNT_DISTINCT":
            return keys[0] if keys and len(keys) == 1 else _null_safe_identity(value)
        return value.marker()
    if isinstance(value, Path) and a.name == "COUNT":
        return value.expression.copy()
    return expression_of(value)


def _null_safe_identity(element: Element) -> exp.Expression:
    if element.certain or element.keys() is None:
        return element.identity()
    return case([(not_null(element.marker()), element.identity())])


def _ordered(t: Translator, ordered: exp.Ordered, scope: Scope) -> exp.Ordered:
    found = ordered.copy()
    found.set("this", _grouping_key(t.value(ordered.this, scope)))
    return found


def _limited(t, a, built, operand, order, rest, scope) -> exp.Expression:
    limit = t.scalar(a.limit, scope)
    if a.name == "ARRAY_AGG":
        return call("list_slice", built, number(1), limit)
    if a.name != "STRING_AGG":
        raise unsupported(a.node, f"LIMIT in {a.name}")
    items: exp.Expression = exp.Distinct(expressions=[operand]) if a.distinct else operand
    if order:
        items = exp.Order(this=items, expressions=order)
    kept = exp.Filter(this=call("list", items), expression=exp.Where(this=not_null(operand.copy())))
    return call("array_to_string", call("list_slice", kept, number(1), limit), *rest)


def _with_extreme(t, a, operand, rest, kind, scope) -> Value:
    """`f(x HAVING MAX y)`: f over the rows where y is the greatest.

    The rows are listed as structs, filtered, and aggregated as a list.
    """
    by = t.scalar(a.having.expression, scope)
    extreme = call("max" if a.having.args.get("max") else "min", by.copy())
    rows: exp.Expression = struct([("v", operand), ("by", by)])
    if a.order:
        rows = exp.Order(this=rows, expressions=[_ordered(t, o, scope) for o in a.order])
    at_extreme = exp.NullSafeEQ(this=member(column("r"), "by"), expression=extreme)
    kept = call("list_filter", call("list", rows), lambda_("r", at_extreme))
    items = call("list_transform", kept, lambda_("r", member(column("r"), "v")))
    if a.distinct:
        items = call("list_sort", call("list_distinct", items))
    if a.name == "ANY_VALUE":
        return Scalar(call("list_extract", items, number(1)), kind)
    if a.ignore_nulls:
        items = call("list_filter", items, lambda_("v", not_null(column("v"))))
    if a.limit is not None:
        items = call("list_slice", items, number(1), t.scalar(a.limit, scope))
    return _list_aggregate(a.name, items, rest, kind)


def _typed(a: Aggregate, built: exp.Expression, first: Value, kind: str | None, windowed: bool):
    if a.name == "ARRAY_AGG" and isinstance(first, Element):
        return ElementList(first.graph, first.kind, first.declared, built)
    if a.name == "ANY_VALUE" and isinstance(first, Element):
        tables = first.graph.tables(first.kind)
        return StructElement(first.graph, first.kind, tables, first.declared, built)
    if a.name == "ANY_VALUE" and isinstance(first, ElementList):
        return ElementList(first.graph, first.kind, first.declared, built)
    if a.name == "ANY_VALUE" and isinstance(first, Path):
        return Path(first.graph, built)
    if isinstance(first, Element | Path) and a.name not in (*_COUNTS, "APPROX_COUNT_DISTINCT"):
        raise error_at(a.node, f"{a.name} does not take a graph element or path")
    if a.name == "SUM" and kind == "BIGINT" and not windowed:
        # DuckDB widens the sum; the cast brings back INT64 and its overflow error
        return Scalar(cast(built, "BIGINT"), "BIGINT")
    if a.name == "ARRAY_AGG":
        return Scalar(built, f"{kind}[]" if kind else None)
    return Scalar(built, kind if a.name in _SAME_TYPE else _TYPES.get(a.name))


# ------------------------------------------------------------------------ horizontal


def _horizontal(t: Translator, a: Aggregate, scope: Scope, name: str, array: Value) -> Value:
    source = array.expression.copy()
    simple = a.plain and not any(_needs_rows(x) for x in a.arguments)
    if simple and a.name in ("SUM", "AVG", "MIN", "MAX", *_COUNTS, "STRING_AGG", "ARRAY_AGG"):
        variable = t.lowering.fresh("i")
        inner = _bound(scope, name, array, column(variable))
        body = t.value(a.arguments[0], inner)
        kind = body.type if isinstance(body, Scalar) else None
        item = _operand(a, body)
        items = (
            source
            if isinstance(item, exp.Column) and item.name == variable
            else call("list_transform", source, lambda_(variable, item))
        )
        rest = [t.scalar(x, scope) for x in a.arguments[1:]]
        found = _list_aggregate(a.name, items, rest, kind)
        if a.name == "ARRAY_AGG" and isinstance(body, Element):
            return ElementList(body.graph, body.kind, body.declared, found.expression)
        return found
    return _over_rows(t, a, scope, name, array)


def _over_rows(t: Translator, a: Aggregate, scope: Scope, name: str, array: Value) -> Value:
    """The array as a relation, aggregated by a subquery."""
    source = array.expression.copy()
    relation = t.lowering.fresh("u")
    inner = _bound(scope, name, array, column("item", relation))
    rows = select(
        [
            ("item", call("unnest", source)),
            ("at", call("generate_subscripts", source.copy(), number(1))),
        ]
    )
    having, a.having = a.having, None
    value = _vertical(t, a, inner, position=column("at", relation))
    source_rows: exp.Expression = subquery(rows, relation)
    if having is not None:
        source_rows = _at_extreme(t, having, inner, source_rows, relation)
    query = exp.Select(expressions=[expression_of(value)]).from_(source_rows, copy=False)
    result = exp.Paren(this=exp.Subquery(this=query))
    if isinstance(value, ElementList):
        return ElementList(value.graph, value.kind, value.declared, result)
    if isinstance(value, StructElement):
        return StructElement(value.graph, value.kind, value.tables, value.declared, result)
    if a.name in _COUNTS:
        return Scalar(call("coalesce", result, number(0)), "BIGINT")
    return Scalar(result, value.type)


def _at_extreme(t, having: exp.HavingMax, inner: Scope, rows, relation: str) -> exp.Subquery:
    """HAVING MAX over an array: keep its rows where the expression is the greatest."""
    by = t.scalar(having.expression, inner)
    if not any(c.table == relation for c in by.find_all(exp.Column)):
        return rows  # the same for every item: nothing to choose
    extreme = call("max" if having.args.get("max") else "min", by.copy())
    greatest = exp.Window(this=extreme)
    query = exp.Select(expressions=[exp.Star()]).from_(rows, copy=False)
    query = query.qualify(exp.NullSafeEQ(this=by, expression=greatest), copy=False)
    return subquery(query, relation)


def _needs_rows(node: exp.Expression) -> bool:
    """A lambda cannot hold a query or another aggregate."""
    return any(
        isinstance(n, exp.Query | s.GraphSubquery | exp.Window) or is_aggregate(n)
        for n in node.walk()
    )


def _bound(scope: Scope, name: str, array: Value, item: exp.Expression) -> Scope:
    inner = scope.child()
    if isinstance(array, ElementList):
        inner.set(name, array.item(item))
    else:
        inner.set(name, Scalar(item, item_of(array.type)))
    return inner


def _list_aggregate(
    name: str, items: exp.Expression, rest: list[exp.Expression], kind: str | None
) -> Scalar:
    """An aggregate over a list expression; NULL over an empty list, except for counts."""
    if name == "ARRAY_AGG":
        empty = equal(call("len", items.copy()), number(0))
        return Scalar(case([(empty, null())], items), f"{kind}[]" if kind else None)
    if name == "COUNTIF":
        true = call("list_filter", items, lambda_("b", column("b")))
        return Scalar(call("coalesce", call("len", true), number(0)), "BIGINT")
    if name == "STRING_AGG":
        kept = call("list_filter", items, lambda_("v", not_null(column("v"))))
        separator = rest[0] if rest else text(",")
        joined = call("array_to_string", kept, separator)
        empty = equal(call("len", kept.copy()), number(0))
        return Scalar(case([(empty, null())], joined), "VARCHAR")
    found = call("list_aggregate", items, text(_DUCKDB.get(name, name.lower())))
    if name == "COUNT":
        return Scalar(call("coalesce", found, number(0)), "BIGINT")
    if name == "SUM" and kind in ("BIGINT", None):
        integral = kind == "BIGINT"
        return Scalar(cast(found, "BIGINT") if integral else found, kind)
    return Scalar(found, kind if name in _SAME_TYPE else _TYPES.get(name))


__all__ = ["translate", "translate_window"]
