"""Functions that ask about one node or edge."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from sqlglot import exp

from . import json_shape
from .calls import arguments_of, name_of
from .elements import (
    Element,
    Scalar,
    Value,
    same,
)
from .errors import error_at, unsupported
from .registry import only, rule
from .schema import EDGE, ElementTable, properties_of
from .scope import Scope
from .sqlnodes import (
    array,
    call,
    case,
    cast,
    column,
    conjunction,
    disjunction,
    empty_array,
    fail,
    field,
    lambda_,
    negation,
    not_null,
    struct,
    text,
)
from .typenames import googlesql

if TYPE_CHECKING:
    from .expressions import Translator


@rule("SAME", "ALL_DIFFERENT")
def _identity_test(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    if len(arguments_of(node)) < 2:
        raise error_at(node, f"{name} takes at least two graph elements")
    elements = [t.element(a, scope, name) for a in arguments_of(node)]
    if len({e.kind for e in elements}) > 1:
        raise error_at(node, f"{name} takes nodes or edges, not both")
    if name == "SAME":
        test = conjunction(same(elements[0], e) for e in elements[1:])
    else:
        test = conjunction(negation(same(a, b)) for a, b in combinations(elements, 2))
    test = exp.Paren(this=test)
    return Scalar(_refusing_nulls(elements, test, f"the function {name}"), "BOOLEAN")


def _refusing_nulls(elements: list[Element], test: exp.Expression, what: str) -> exp.Expression:
    uncertain = [e.is_null() for e in elements if not e.certain]
    if not uncertain:
        return test
    return case([(disjunction(uncertain), fail(f"Input to {what} must not be null"))], test)


@rule("PROPERTY_EXISTS")
def _property_exists(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    subject, prop = only(node, 2)
    element = t.element(subject, scope, "PROPERTY_EXISTS")
    name = prop.name

    def answer(table: ElementTable) -> exp.Expression:
        if name.lower() in table.properties:
            return exp.true()
        if not table.dynamic_properties:
            return exp.false()
        names = call("json_keys", element.row_properties())
        lowered = call("list_transform", names, lambda_("p", call("lower", column("p"))))
        found = call("list_contains", lowered, text(name.lower()))
        return call("coalesce", found, exp.false())

    return Scalar(element.by_table(answer), "BOOLEAN")


def _sorted_names(names: list[str]) -> list[str]:
    return sorted(names, key=str.lower)


def _with_row_names(names: list[str], more: exp.Expression) -> exp.Expression:
    """Declared names and those of the row, once each, sorted in any case."""
    both = call(
        "list_concat",
        cast(array([text(n) for n in names]), "VARCHAR[]"),
        call("coalesce", more, empty_array("VARCHAR[]")),
    )
    keyed = call(
        "list_transform",
        call("list_distinct", both),
        lambda_("n", struct([("f", call("lower", column("n"))), ("n", column("n"))])),
    )
    return call("list_transform", call("list_sort", keyed), lambda_("n", field(column("n"), "n")))


def labels_of(element: Element) -> exp.Expression:
    def answer(table: ElementTable) -> exp.Expression:
        names = _sorted_names([label.name for label in table.labels.values()])
        if table.dynamic_label:
            return _with_row_names(names, element.row_labels())
        return cast(array([text(n) for n in names]), "VARCHAR[]")

    return element.by_table(answer)


@rule("LABELS")
def _labels(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    return Scalar(labels_of(t.element(only(node, 1)[0], scope, "LABELS")), "VARCHAR[]")


@rule("PROPERTY_NAMES")
def _property_names(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    element = t.element(only(node, 1)[0], scope, "PROPERTY_NAMES")

    def answer(table: ElementTable) -> exp.Expression:
        names = _sorted_names([p.name for p in table.properties.values()])
        if not table.dynamic_properties:
            return cast(array([text(n) for n in names]), "VARCHAR[]")
        declared = array([text(n.lower()) for n in names])
        extra = call(
            "list_filter",
            call("json_keys", element.row_properties()),
            lambda_("p", negation(call("list_contains", declared, call("lower", column("p"))))),
        )
        return _with_row_names(names, extra)

    return Scalar(element.by_table(answer), "VARCHAR[]")


@rule("ELEMENT_DEFINITION_NAME")
def _definition_name(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    element = t.element(only(node, 1)[0], scope, "ELEMENT_DEFINITION_NAME")
    return Scalar(element.marker(), "VARCHAR")


def _opaque(identity: exp.Expression, element: Element) -> exp.Expression:
    shown = json_shape.opaque(identity)
    return shown if element.certain else case([(not_null(element.marker()), shown)])


@rule("ELEMENT_ID")
def _element_id(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    element = t.element(only(node, 1)[0], scope, "ELEMENT_ID")
    return Scalar(_opaque(element.identity(), element), "VARCHAR")


@rule("SOURCE_NODE_ID", "DESTINATION_NODE_ID")
def _end_id(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    element = t.element(only(node, 1)[0], scope, name)
    if element.kind != EDGE:
        raise error_at(node, f"{name} takes an edge, not a node")
    return Scalar(_opaque(element.end(0 if name[0] == "S" else 1), element), "VARCHAR")


@rule("TYPEOF")
def _type_name(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    value = t.value(only(node, 1)[0], scope)
    if isinstance(value, Scalar):
        return Scalar(text(googlesql(value.type)), "VARCHAR") if value.type else None
    if not isinstance(value, Element):
        raise unsupported(node, "TYPEOF of a path or an array of graph elements")
    props = sorted(properties_of(value.declared).values(), key=lambda p: p.name.lower())
    shown = [f"{p.name} {googlesql(p.type)}" for p in props]
    if any(x.dynamic_properties for x in value.declared):
        shown.append("DYNAMIC")
    return Scalar(
        text(f"GRAPH_{value.kind.upper()}({value.graph.name})<{', '.join(shown)}>"), "VARCHAR"
    )
