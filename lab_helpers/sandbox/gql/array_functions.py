"""Functions of arrays, also arrays of graph elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from .calls import arguments_of, name_of
from .elements import (
    Element,
    ElementList,
    Scalar,
    Value,
    expression_of,
)
from .errors import error_at, unsupported
from .path_functions import distinct, identities
from .registry import only, rule
from .scope import Scope
from .sqlnodes import (
    call,
    case,
    cast,
    column,
    disjunction,
    equal,
    fail,
    is_null,
    lambda_,
    null,
    number,
    text,
)
from .typenames import item_of

if TYPE_CHECKING:
    from .expressions import Translator


@rule("FLATTEN")
def _flatten(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    (argument,) = only(node, 1)
    if not isinstance(argument, exp.Column) or len(argument.parts) != 2:
        raise unsupported(node, "FLATTEN of anything but one property of a group variable")
    items = scope.find(argument.parts[0].name)
    if not isinstance(items, ElementList):
        raise unsupported(node, "FLATTEN of anything but one property of a group variable")
    prop = t.property(items.item(column("x")), argument.name, argument)
    mapped = call("list_transform", items.expression.copy(), lambda_("x", prop.expression))
    return Scalar(mapped, f"{prop.type}[]" if prop.type else None)


@rule("ARRAY_IS_DISTINCT")
def _array_is_distinct(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    value = t.value(only(node, 1)[0], scope)
    items = identities(value) if isinstance(value, ElementList) else expression_of(value)
    return Scalar(exp.Paren(this=distinct(items)), "BOOLEAN")


@rule("ARRAY_FIRST", "ARRAY_LAST")
def _array_end(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    value = t.value(only(node, 1)[0], scope)
    at = number(1) if name == "ARRAY_FIRST" else exp.Neg(this=number(1))
    items = expression_of(value)
    item = call("list_extract", items, at)
    empty = equal(call("len", items.copy()), number(0))
    checked = case([(empty, fail(f"{name} cannot get an element of an empty array"))], item)
    if isinstance(value, ElementList):
        return value.item(checked)
    return Scalar(checked, item_of(value.type) if isinstance(value, Scalar) else None)


_ARRAY_REDUCTIONS = {
    "ARRAY_SUM": "sum",
    "ARRAY_AVG": "avg",
    "ARRAY_MIN": "min",
    "ARRAY_MAX": "max",
}


@rule(*_ARRAY_REDUCTIONS)
def _array_reduction(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    value = t.value(only(node, 1)[0], scope)
    if not isinstance(value, Scalar):
        raise error_at(node, f"{name} takes an array of numbers")
    kind = item_of(value.type)
    found: exp.Expression = call("list_aggregate", value.expression, text(_ARRAY_REDUCTIONS[name]))
    if name == "ARRAY_SUM" and kind == "BIGINT":
        found = cast(found, "BIGINT")
    return Scalar(found, "DOUBLE" if name == "ARRAY_AVG" else kind)


@rule("ARRAY_CONCAT")
def _array_concat(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    values = [t.value(a, scope) for a in arguments_of(node)]
    if any(isinstance(v, ElementList) for v in values):
        return joined_lists(values)
    kinds = {v.type for v in values if isinstance(v, Scalar)} - {None}
    joined = expression_of(values[0])
    for value in values[1:]:
        joined = call("list_concat", joined, expression_of(value))
    if len(values) > 1:  # DuckDB skips a NULL array, GoogleSQL answers NULL
        missing = disjunction(is_null(expression_of(v)) for v in values)
        joined = case([(missing, null())], joined)
    return Scalar(joined, kinds.pop() if len(kinds) == 1 else None)


def joined_lists(values: list[Value]) -> ElementList:
    lists = [v for v in values if isinstance(v, ElementList)]
    declared = tuple(dict.fromkeys(t for v in lists for t in v.declared))
    joined = expression_of(values[0])
    for value in values[1:]:
        joined = call("list_concat", joined, expression_of(value))
    return ElementList(lists[0].graph, lists[0].kind, declared, joined)


@rule("ARRAY_TRANSFORM", "ARRAY_FILTER")
def _array_lambda(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    """The lambda's second variable is an offset: from 0 here, from 1 in DuckDB."""
    items, function = only(node, 2)
    if not isinstance(function, exp.Lambda):
        return None
    value = t.value(items, scope)
    variables = [v.name for v in function.expressions]
    inner = scope.child()
    if isinstance(value, ElementList):
        inner.set(variables[0], value.item(column(variables[0])))
    else:
        inner.set(variables[0], Scalar(column(variables[0]), item_of(value.type)))
    if len(variables) > 1:
        offset = exp.Paren(this=exp.Sub(this=column(variables[1]), expression=number(1)))
        inner.set(variables[1], Scalar(offset, "BIGINT"))
    body = t.value(function.this, inner)
    mapping = exp.Lambda(
        this=expression_of(body), expressions=[exp.to_identifier(v, quoted=True) for v in variables]
    )
    if name_of(node) == "ARRAY_FILTER":
        kept = call("list_filter", expression_of(value), mapping)
        if isinstance(value, ElementList):
            return ElementList(value.graph, value.kind, value.declared, kept)
        return Scalar(kept, value.type)
    mapped = call("list_transform", expression_of(value), mapping)
    if isinstance(body, Element):
        return ElementList(body.graph, body.kind, body.declared, mapped)
    return Scalar(mapped, f"{body.type}[]" if isinstance(body, Scalar) and body.type else None)


@rule("ARRAY_INCLUDES")
def _array_includes(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    items, target = only(node, 2)
    if isinstance(target, exp.Lambda):
        filtered = exp.Anonymous(this="ARRAY_FILTER", expressions=[items.copy(), target.copy()])
        kept = t.scalar(filtered, scope)
        return Scalar(
            exp.Paren(this=exp.GT(this=call("len", kept), expression=number(0))), "BOOLEAN"
        )
    value, wanted = t.value(items, scope), t.value(target, scope)
    if isinstance(value, ElementList) and isinstance(wanted, Element):
        return Scalar(contains(value, wanted), "BOOLEAN")
    return Scalar(call("list_contains", expression_of(value), expression_of(wanted)), "BOOLEAN")


def contains(items: ElementList, element: Element) -> exp.Expression:
    return call("list_contains", identities(items), element.identity())


@rule("ARRAY_REVERSE")
def _array_reverse(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    value = t.value(only(node, 1)[0], scope)
    found = call("list_reverse", expression_of(value))
    if isinstance(value, ElementList):
        return ElementList(value.graph, value.kind, value.declared, found)
    return Scalar(found, value.type if isinstance(value, Scalar) else None)
