"""RETURN and WITH: which columns, how grouped, in what order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from . import syntax as s
from .aggregate_syntax import has_aggregate
from .calls import is_aggregate
from .columns import exported, rebound
from .elements import Element, Scalar, StructElement, Value, expression_of
from .errors import error_at
from .schema import properties_of
from .scope import Scope
from .sqlnodes import alias, column, null, subquery
from .working import Working

if TYPE_CHECKING:
    from .statements import Lowering


@dataclass
class Output:
    name: str
    value: Value
    node: exp.Expression | None  # None: a variable taken by `*`
    vertical: bool


def project(lowering: Lowering, statement: s.Projection, working: Working) -> Working:
    outputs = _outputs(lowering, statement, working)
    _check_names(statement, outputs)
    query = exp.Select(
        expressions=[alias(e, n) for o in outputs for n, e in exported(o.value, o.name)]
    )
    if working.relation is not None:
        query = query.from_(working.relation, copy=False)
    grouped = statement.group is not None or any(o.vertical for o in outputs)
    if grouped:
        query = _grouped(lowering, statement, outputs, working.scope, query)
    if statement.distinct:
        query = query.distinct(copy=False)
    if statement.order is not None:
        names = {o.name.lower(): o for o in outputs}
        for ordered in statement.order.expressions:
            _check_order(ordered.this, names, statement, grouped)
        keys = [
            _ordered(lowering, o, working.scope, names, statement)
            for o in statement.order.expressions
        ]
        query = query.order_by(*keys, copy=False)
    query = lowering.limited(query, statement.limit, statement.offset, working.scope)
    relation = lowering.fresh("w")
    scope = Scope(working.scope.outer, working.scope.open)
    for output in outputs:
        value = rebound(output.value, relation, output.name)
        if isinstance(value, Scalar):
            value = Scalar(value.expression, value.type, _constant(output.node, working))
        scope.set(output.name, value)
    constants = {k: v for k, v in working.constants.items() if _passes(k[0], outputs)}
    return Working(subquery(query, relation), scope, constants)


def _passes(variable: str, outputs: list[Output]) -> bool:
    """Is a variable handed on under its own name?"""
    return any(
        o.name.lower() == variable
        and (o.node is None or (isinstance(o.node, exp.Column) and o.node.name.lower() == variable))
        for o in outputs
    )


def _outputs(lowering: Lowering, statement: s.Projection, working: Working) -> list[Output]:
    found: list[Output] = []
    for item in statement.items:
        if item.value is None:
            found += [Output(n, v, None, False) for n, v in working.scope.items()]
        elif isinstance(item.value, exp.Column) and isinstance(item.value.this, exp.Star):
            found += _properties(lowering, item.value, working.scope)
        else:
            name = item.alias or _implicit_name(item.value)
            if name is None:
                raise error_at(
                    item, "A name must be explicitly defined for this column; add AS and a name"
                )
            vertical = has_aggregate(item.value)
            value = lowering.translator.value(item.value, working.scope)
            found.append(Output(name, value, item.value, vertical))
    if not found:
        raise error_at(statement, "There are no columns to return")
    return found


def _implicit_name(value: exp.Expression) -> str | None:
    if isinstance(value, exp.Column):
        return value.name
    if isinstance(value, exp.Dot) and isinstance(value.expression, exp.Identifier):
        return value.expression.name
    return None


def _properties(lowering: Lowering, node: exp.Column, scope: Scope) -> list[Output]:
    """`a.*`: every property of an element."""
    element = scope.find(node.table)
    if not isinstance(element, Element):
        raise error_at(node, f"{node.table}.* needs a graph element")
    found = []
    for prop in sorted(properties_of(element.declared).values(), key=lambda p: p.name.lower()):
        reference = exp.column(prop.name, node.table)
        value = lowering.translator.value(reference, scope)
        found.append(Output(prop.name, value, reference, False))
    return found


def _check_names(statement: s.Projection, outputs: list[Output]) -> None:
    seen: set[str] = set()
    for output in outputs:
        if output.name.lower() in seen:
            raise error_at(
                output.node or statement,
                f"Duplicate column name {output.name} in the result; give each column its own name",
            )
        seen.add(output.name.lower())


def _grouped(lowering, statement, outputs, scope, query) -> exp.Select:
    """GROUP BY what is written, or, without it, by every column that does not aggregate."""
    if statement.group is None or statement.group_all:
        keys: list[Value] = [o.value for o in outputs if not o.vertical]
        nodes = [o.node for o in outputs if not o.vertical]
    else:
        by_name = {o.name.lower(): o for o in outputs}
        keys, nodes = [], []
        for node in statement.group:
            output = by_name.get(node.name.lower()) if _is_name(node) else None
            if output is not None:
                if output.vertical:
                    raise error_at(node, f"Cannot GROUP BY the aggregated column {output.name}")
                keys.append(output.value)
            else:
                keys.append(lowering.translator.value(node, scope))
            nodes.append(node)
        _check_grouped(lowering, outputs, nodes, scope)
    columns: list[exp.Expression] = []
    for key in keys:
        for expression in _key_columns(key):
            if any(True for _ in expression.find_all(exp.Column)):
                columns.append(expression)
    if columns:
        return query.group_by(*columns, copy=False)
    if statement.group is not None and not statement.group_all and statement.group:
        return query.group_by(exp.Paren(this=null()), copy=False)
    return query


def _is_name(node: exp.Expression) -> bool:
    return isinstance(node, exp.Column) and len(node.parts) == 1


def _key_columns(value: Value) -> list[exp.Expression]:
    if isinstance(value, Element) and not isinstance(value, StructElement):
        return [e for _, e in exported(value, "k")]
    return [expression_of(value)]


def _check_grouped(lowering, outputs, keys, scope) -> None:
    """Every column that does not aggregate must be a key, or made of keys."""
    texts = {s.written(k) for k in keys}
    names = {k.name.lower() for k in keys if _is_name(k)}
    for output in outputs:
        if output.vertical or output.node is None:
            continue
        if output.name.lower() in names or _made_of(output.node, texts, scope):
            continue
        raise error_at(
            output.node,
            f"Column {output.name} is neither grouped nor aggregated; add it to GROUP BY",
        )


def _made_of(node: exp.Expression, keys: set[str], scope: Scope) -> bool:
    if s.written(node) in keys:
        return True
    if isinstance(node, exp.Query | s.GraphSubquery):
        return True
    if isinstance(node, exp.Column):
        owner = node.parts[0].name
        return owner.lower() in keys or (scope.open and scope.find(owner) is None)
    return all(_made_of(c, keys, scope) for c in node.iter_expressions())


def _check_order(key, names: dict[str, Output], statement, grouped: bool) -> None:
    """After grouping or DISTINCT, only what the result is made of can order it."""
    if not (grouped or statement.distinct):
        return
    keys = [o.node for o in names.values() if o.node is not None] + list(statement.group or ())
    texts = {s.written(k) for k in keys} | set(names)
    if not _orders(key, texts):
        rule = "neither grouped nor aggregated" if grouped else "not in the DISTINCT result"
        raise error_at(key, f"ORDER BY expression {s.written(key)} is {rule}")


def _orders(node: exp.Expression, texts: set[str]) -> bool:
    if s.written(node) in texts or is_aggregate(node):
        return True
    if isinstance(node, exp.Column):
        return node.parts[0].name.lower() in texts
    if isinstance(node, exp.Query | s.GraphSubquery):
        return True
    return all(_orders(c, texts) for c in node.iter_expressions())


def _ordered(lowering, ordered, scope, names: dict[str, Output], statement) -> exp.Ordered:
    """A result column by its name first, then any expression over the variables."""
    key = ordered.this
    if _is_name(key) and key.name.lower() in names:
        value = names[key.name.lower()].value
        if not isinstance(value, Scalar):
            raise error_at(key, "Ordering by a graph element, path or array is not allowed")
        found = ordered.copy()
        found.set("this", column(names[key.name.lower()].name))
        return found
    inner = scope.child()
    for folded, output in names.items():
        if folded not in scope.names:
            inner.set(output.name, output.value)
    return lowering.ordered(ordered, inner)


def _constant(node: exp.Expression | None, working: Working) -> exp.Expression | None:
    """The parameter or literal that a column is known to equal."""
    if isinstance(node, exp.Column) and len(node.parts) == 2:
        return working.constants.get((node.table.lower(), node.name.lower()))
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        value = working.scope.names.get(node.name.lower())
        return value.constant if isinstance(value, Scalar) else None
    if node is not None and isinstance(node, exp.Parameter | exp.Literal):
        return node
    return None


__all__ = ["project"]
