"""TO_JSON of graph values, in the shape the notebook visualisers read.

A node is `{identifier, kind: "node", labels, properties}`; an edge adds `source_node_identifier`
and `destination_node_identifier`; a path is the array node, edge, node, ... Labels and properties
are sorted, NULL properties are present, timestamps are RFC 3339 in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlglot import exp

from .elements import Element, ElementList, Path, Scalar
from .schema import EDGE, NODE, ElementTable
from .sqlnodes import (
    array,
    as_text,
    call,
    case,
    cast,
    column,
    concatenate,
    empty_array,
    equal,
    field,
    lambda_,
    negation,
    not_null,
    number,
    struct,
    text,
)

Labels = Callable[[Element], exp.Expression]


def opaque(identity: exp.Expression) -> exp.Expression:
    """Identifiers are opaque to the reader: base64 of the identity."""
    return call("to_base64", call("encode", identity))


def scalar(value: Scalar) -> exp.Expression:
    if value.type == "JSON":
        return value.expression.copy()
    return call(
        "coalesce", call("to_json", _shown(value.expression.copy(), value.type)), _json("null")
    )


def _json(document: str) -> exp.Expression:
    return cast(text(document), "JSON")


def _shown(value: exp.Expression, kind: str | None) -> exp.Expression:
    if kind in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"):
        return _utc(value)
    return value


def _utc(value: exp.Expression) -> exp.Expression:
    moment = exp.AtTimeZone(this=value, zone=text("UTC"))
    shown = call("strftime", moment, text("%Y-%m-%dT%H:%M:%S.%fZ"))
    return call("regexp_replace", shown, text(r"\.?0*Z$"), text("Z"))


def element(value: Element, labels_of: Labels) -> exp.Expression:
    labels = labels_of(value)
    return value.by_table(lambda table: _element_of(value, table, labels.copy()))


def _element_of(value: Element, table: ElementTable, labels: exp.Expression) -> exp.Expression:
    members = [
        text("identifier"),
        opaque(value.identity()),
        text("kind"),
        text(value.kind),
        text("labels"),
        labels,
        text("properties"),
        _properties(value, table),
    ]
    if value.kind == EDGE:
        members += [
            text("source_node_identifier"),
            opaque(value.end(0)),
            text("destination_node_identifier"),
            opaque(value.end(1)),
        ]
    return call("json_object", *members)


def _properties(value: Element, table: ElementTable) -> exp.Expression:
    declared = sorted(table.properties, key=lambda f: table.properties[f].name.lower())
    shown = [
        (table.properties[f].name, _shown(value.stored(f), table.properties[f].type))
        for f in declared
    ]
    if not table.dynamic_properties:
        return call("json_object", *(x for name, v in shown for x in (text(name), v)))
    return _merged_properties(shown, value.row_properties())


def _merged_properties(
    declared: list[tuple[str, exp.Expression]], dynamic: exp.Expression
) -> exp.Expression:
    """Declared members and those of the row's JSON, sorted by name; the declared ones win."""
    fixed = [
        _member(text(name.lower()), text(json.dumps(name) + ":"), call("to_json", value))
        for name, value in declared
    ]
    names = array([text(name.lower()) for name, _ in declared])
    key = column("k")
    extra = call(
        "list_filter",
        call("json_keys", dynamic),
        lambda_("k", negation(call("list_contains", names, call("lower", key.copy())))),
    )
    path = concatenate([text('$."'), key.copy(), text('"')])
    quoted = exp.DPipe(this=as_text(call("to_json", key.copy())), expression=text(":"))
    rest = call(
        "list_transform",
        call("coalesce", extra, empty_array("VARCHAR[]")),
        lambda_(
            "k",
            _member(call("lower", key.copy()), quoted, call("json_extract", dynamic.copy(), path)),
        ),
    )
    members = call("list_sort", call("list_concat", array(fixed), rest))
    written = call("list_transform", members, lambda_("m", field(column("m"), "json")))
    joined = call("array_to_string", written, text(","))
    return cast(concatenate([text("{"), joined, text("}")]), "JSON")


def _member(order: exp.Expression, key: exp.Expression, value: exp.Expression) -> exp.Struct:
    value = call("coalesce", as_text(value), text("null"))
    return struct([("order", order), ("json", exp.DPipe(this=key, expression=value))])


def elements(value: ElementList, labels_of: Labels) -> exp.Expression:
    one = element(value.item(column("x")), labels_of)
    return call("to_json", call("list_transform", value.expression.copy(), lambda_("x", one)))


def path(value: Path, labels_of: Labels) -> exp.Expression:
    """Nodes and edges in turn: offset i is node i/2 or edge (i-1)/2."""
    nodes, edges = value.list_of(NODE), value.list_of(EDGE)
    at = exp.Add(this=exp.IntDiv(this=column("i"), expression=number(2)), expression=number(1))
    node = element(nodes.item(call("list_extract", nodes.expression.copy(), at)), labels_of)
    edge = element(edges.item(call("list_extract", edges.expression.copy(), at.copy())), labels_of)
    even = equal(exp.Mod(this=column("i"), expression=number(2)), number(0))
    length = exp.Add(
        this=call("len", nodes.expression.copy()), expression=call("len", edges.expression.copy())
    )
    members = call(
        "list_transform", call("range", length), lambda_("i", case([(even, node)], edge))
    )
    return case([(not_null(value.expression.copy()), call("to_json", members))])
