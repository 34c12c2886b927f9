"""Functions that choose among values or swallow errors; the choice keeps its graph type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from .calls import arguments_of, is_aggregate, name_of
from .elements import (
    ElementList,
    Path,
    Scalar,
    StructElement,
    Value,
    expression_of,
    same,
)
from .errors import error_at, unsupported
from .registry import only, rule
from .scope import Scope
from .sqlnodes import as_text, call, case, disjunction, null, text

if TYPE_CHECKING:
    from .expressions import Translator


@rule("COALESCE", "IFNULL", "NULLIF", "IF", "CASE")
def _choice(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    parts = _results(node)
    values = [t.value(p, scope) for p in parts]
    rebuilt = t.rebuilt(node, scope).expression
    graph_values = [v for v in values if not isinstance(v, Scalar)]
    if not graph_values:
        kinds = {v.type for v in values if isinstance(v, Scalar)} - {None}
        return Scalar(rebuilt, kinds.pop() if len(kinds) == 1 else None)
    first = graph_values[0]
    if isinstance(first, Path):
        return Path(first.graph, rebuilt)
    if name_of(node) == "NULLIF":
        left, right = values
        equality = same(left, right)
        missing = disjunction([left.is_null(), right.is_null()])
        kept = case([(missing, left.struct()), (equality, null())], left.struct())
        return StructElement(
            first.graph, first.kind, first.graph.tables(first.kind), first.declared, kept
        )
    declared = tuple(dict.fromkeys(x for v in graph_values for x in v.declared))
    if isinstance(first, ElementList):
        return ElementList(first.graph, first.kind, declared, rebuilt)
    return StructElement(first.graph, first.kind, first.graph.tables(first.kind), declared, rebuilt)


def _results(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.If):
        found = [node.args.get("true"), node.args.get("false")]
    elif isinstance(node, exp.Case):
        found = [i.args.get("true") for i in node.args.get("ifs") or []] + [
            node.args.get("default")
        ]
    else:
        found = arguments_of(node)
    return [x for x in found if isinstance(x, exp.Expression)]


def safe(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    """SAFE.f(...): NULL instead of an error."""
    inner = node.this
    value = t.value(inner, scope)
    if not isinstance(value, Scalar):
        raise unsupported(inner, f"SAFE.{name_of(inner)} of a graph value")
    if any(isinstance(n, exp.Query) for n in value.expression.walk()):
        raise unsupported(inner, f"SAFE.{name_of(inner)} over a query")
    if is_aggregate(inner) and isinstance(value.expression, exp.Cast):
        plain = value.expression
        return Scalar(exp.TryCast(this=plain.this, to=plain.to), value.type)
    return Scalar(_without_errors(value.expression), value.type)


def _without_errors(expression: exp.Expression) -> exp.Expression:
    """Our own error() calls become NULL; what DuckDB may raise itself goes through TRY."""
    cleaned = expression.transform(
        lambda node: null() if _raises(node) else node,
        copy=False,
    )
    if any(is_aggregate(n) or isinstance(n, exp.Window) for n in cleaned.walk()):
        return cleaned
    return call("try", cleaned)


def _raises(node: exp.Expression) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this) == "error"


_NEVER_RAISES = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Parameter, exp.Paren)


@rule("IFERROR")
def _if_error(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    """`IFERROR(x, y)`: where x can fail in one place only, its own check chooses y."""
    attempt, otherwise = only(node, 2)
    value, other = t.value(attempt, scope), t.value(otherwise, scope)
    if not isinstance(value, Scalar):
        return value  # reading a graph value cannot fail
    if isinstance(attempt, _NEVER_RAISES):
        return value
    tree = exp.Paren(this=value.expression.copy())
    guard = tree.this
    while isinstance(guard, exp.Paren):
        guard = guard.this
    if isinstance(guard, exp.Case) and all(_raises(i.args["true"]) for i in guard.args["ifs"]):
        for branch in guard.args["ifs"]:
            branch.set("true", expression_of(other))
        return Scalar(tree, value.type)
    if _raises(guard) or name_of(attempt) == "ERROR":
        return other
    raise unsupported(attempt, "IFERROR of this expression")


_FORMAT = re.compile(r"%%|%([-+ 0#]*\d*(?:\.\d+)?)([a-zA-Z])")


@rule("FORMAT")
def _format(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    """GoogleSQL's FORMAT is printf, save for %t and %T, which take any value."""
    pattern = node.this
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise unsupported(node, "FORMAT with a pattern that is not a literal")
    values = [t.value(x, scope) for x in node.expressions]
    kinds = [m.group(2) for m in _FORMAT.finditer(pattern.name) if m.group(2)]
    if any(k not in "dixXofFeEgGst" for k in kinds) or "*" in pattern.name:
        raise unsupported(pattern, f"FORMAT({pattern.name!r})")
    if len(kinds) != len(values):
        raise error_at(node, f"FORMAT has {len(kinds)} placeholders and {len(values)} values")
    shown = [
        as_text(expression_of(v)) if k == "t" else expression_of(v)
        for k, v in zip(kinds, values, strict=True)
    ]
    plain = re.sub(r"(%[-+ 0#]*\d*(?:\.\d+)?)t", r"\1s", pattern.name)
    return Scalar(call("printf", text(plain), *shown), "VARCHAR")
