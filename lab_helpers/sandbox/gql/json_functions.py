"""Functions to and from JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from . import json_shape
from .calls import arguments_of, name_of
from .element_functions import labels_of
from .elements import (
    Element,
    ElementList,
    Path,
    Scalar,
    Value,
    expression_of,
)
from .errors import unsupported
from .registry import rule
from .scope import Scope
from .sqlnodes import (
    as_text,
    call,
    cast,
    text,
)

if TYPE_CHECKING:
    from .expressions import Translator


@rule("TO_JSON", "SAFE_TO_JSON", "TO_JSON_STRING")
def _to_json(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    value = t.value(arguments_of(node)[0], scope)
    if isinstance(value, Element):
        json = json_shape.element(value, labels_of)
    elif isinstance(value, ElementList):
        json = json_shape.elements(value, labels_of)
    elif isinstance(value, Path):
        json = json_shape.path(value, labels_of)
    else:
        json = json_shape.scalar(value)
    if name_of(node) != "TO_JSON_STRING":
        return Scalar(json, "JSON")
    return Scalar(call("coalesce", as_text(json), text("null")), "VARCHAR")


_JSON_READERS = {
    "STRING": ("VARCHAR", "VARCHAR"),
    "INT64": ("BIGINT", "BIGINT"),
    "FLOAT64": ("DOUBLE", "DOUBLE"),
    "DOUBLE": ("DOUBLE", "DOUBLE"),
    "BOOL": ("BOOLEAN", "BOOLEAN"),
}


@rule(*_JSON_READERS)
def _from_json(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    arguments = arguments_of(node)
    value = t.value(arguments[0], scope)
    if not isinstance(value, Scalar) or value.type not in ("JSON", None) or len(arguments) != 1:
        return None
    if value.type is None and name_of(node) == "STRING":
        return None
    _, kind = _JSON_READERS[name_of(node)]
    read = call("json_extract_string", value.expression, text("$"))
    return Scalar(read if kind == "VARCHAR" else cast(read, kind), kind)


@rule("JSON_REMOVE")
def _json_remove(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    subject, *paths = arguments_of(node)
    value = t.value(subject, scope)
    if not all(isinstance(p, exp.Literal) and p.name.startswith("$.") for p in paths):
        raise unsupported(node, "JSON_REMOVE of anything but members named by '$.name'")
    removed = {p.name[2:].strip('"') for p in paths}
    if any("." in name or "[" in name for name in removed):
        raise unsupported(node, "JSON_REMOVE below the first level")
    patch = "{" + ",".join(f'"{name}":null' for name in sorted(removed)) + "}"
    return Scalar(call("json_merge_patch", expression_of(value), cast(text(patch), "JSON")), "JSON")
