"""Scalar expressions: GQL's names and values to DuckDB's.

`Translator.value` gives a typed value, `Translator.scalar` one SQL expression. Both build new
trees and leave the parsed ones alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from . import (
    aggregates,
    array_functions,
    choice_functions,
    functions,
    labels,
    path_functions,
    time_functions,
)
from . import syntax as s
from .calls import is_aggregate, name_of
from .elements import (
    Element,
    ElementList,
    Path,
    Scalar,
    Value,
    expression_of,
    same,
)
from .errors import did_you_mean, error_at, unsupported
from .schema import properties_of
from .scope import Scope
from .sqlnodes import (
    call,
    case,
    cast,
    disjunction,
    equal,
    fail,
    field,
    negation,
    number,
    text,
)
from .typenames import described, googlesql, item_of

if TYPE_CHECKING:
    from .statements import Lowering

LARGEST_INT64 = 2**63 - 1
_BOOLEAN = (exp.Predicate, exp.Not, exp.And, exp.Or, exp.Between, exp.In, exp.Is)
# types that compare with one another; a string literal may also stand for a date or a time
_FAMILIES = {
    "BIGINT": "number",
    "DOUBLE": "number",
    "FLOAT": "number",
    "BOOLEAN": "boolean",
    "VARCHAR": "string",
}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul)


class Translator:
    """Translates expressions for one lowering, which it asks to lower subqueries."""

    def __init__(self, lowering: Lowering):
        self.lowering = lowering

    # ---------------------------------------------------------------------------- entry

    def scalar(self, node: exp.Expression, scope: Scope) -> exp.Expression:
        return expression_of(self.value(node, scope))

    def value(self, node: exp.Expression, scope: Scope) -> Value:
        for kind, rule in _RULES.items():
            if isinstance(node, kind):
                return rule(self, node, scope)
        if is_aggregate(node):
            return aggregates.translate(self, node, scope)
        rule = functions.RULES.get(name_of(node))
        if rule is not None:
            found = rule(self, node, scope)
            if found is not None:
                return found
        return self.rebuilt(node, scope)

    def condition(self, node: exp.Expression, scope: Scope) -> exp.Expression:
        """The expression of WHERE or FILTER, which must be a BOOL."""
        found = self.value(node, scope)
        if not isinstance(found, Scalar):
            raise error_at(node, "WHERE clause should return type BOOL, not a graph value")
        if found.type not in ("BOOLEAN", None):
            shown = googlesql(found.type)
            raise error_at(node, f"WHERE clause should return type BOOL, but returns {shown}")
        return found.expression.copy()

    def element(self, node: exp.Expression, scope: Scope, role: str) -> Element:
        found = self.value(node, scope)
        if isinstance(found, Element):
            return found
        raise error_at(node, f"{role} needs a graph element, but {s.written(node)} is not one")

    def path(self, node: exp.Expression, scope: Scope, role: str) -> Path:
        found = self.value(node, scope)
        if isinstance(found, Path):
            return found
        raise error_at(node, f"{role} needs a graph path, but {s.written(node)} is not one")

    # ------------------------------------------------------------------- the plain rule

    def rebuilt(self, node: exp.Expression, scope: Scope) -> Scalar:
        """The same node over translated children, with its type where a rule knows it."""
        children: dict[str, Value] = {}

        def translated(child: exp.Expression) -> exp.Expression:
            return self.scalar(child, scope)

        arguments: dict = {}
        for key, child in node.args.items():
            if isinstance(child, list):
                arguments[key] = [
                    translated(c) if isinstance(c, exp.Expression) else c for c in child
                ]
            elif isinstance(child, exp.Expression):
                children[key] = self.value(child, scope)
                arguments[key] = expression_of(children[key])
            else:
                arguments[key] = child
        return Scalar(type(node)(**arguments), _type_of(node, children))

    # ------------------------------------------------------------------------ node rules

    def column(self, node: exp.Column, scope: Scope) -> Value:
        parts = [p.name for p in node.parts]
        if isinstance(node.this, exp.Star):
            return Scalar(node.copy())
        found = scope.find(parts[0])
        rest = parts[1:]
        if found is None and len(parts) > 1 and (table := scope.find_table(parts[0])) is not None:
            found, rest = table.get(parts[1].lower()), parts[2:]
        if found is None:
            if scope.open:
                return Scalar(node.copy())
            hint = did_you_mean(parts[0], scope.visible())
            raise error_at(node, f"Unrecognized name: {parts[0]}{hint}")
        return self.dotted(found, rest, node)

    def dotted(self, value: Value, names: list[str], node: exp.Expression) -> Value:
        for name in names:
            value = self.member(value, name, node)
        return value

    def member(self, value: Value, name: str, node: exp.Expression) -> Value:
        if isinstance(value, Element):
            return self.property(value, name, node)
        if isinstance(value, ElementList | Path):
            shown = "an array of graph elements" if isinstance(value, ElementList) else "a path"
            raise error_at(node, f"Cannot access property '{name}' on {shown}")
        if value.type == "JSON":
            return Scalar(json_member(value.expression.copy(), name), "JSON")
        if value.type is not None and not value.type.upper().startswith("STRUCT"):
            kind = googlesql(value.type)
            raise error_at(node, f"Cannot access field {name} on a value with type {kind}")
        return Scalar(field(value.expression.copy(), name))

    def property(self, element: Element, name: str, node: exp.Expression) -> Scalar:
        folded = name.lower()
        declared = properties_of(element.declared)
        if folded in declared:
            prop = declared[folded]
            return Scalar(element.property(folded), prop.type)
        if any(t.dynamic_properties for t in element.declared):
            return Scalar(dynamic_property(element, name), "JSON")
        hint = did_you_mean(name, [p.name for p in declared.values()])
        raise error_at(
            node, f"Property {name} is not exposed by the element type of this {element.kind}{hint}"
        )

    def dot(self, node: exp.Dot, scope: Scope) -> Value:
        if isinstance(node.expression, exp.Func):
            return self.rebuilt(node, scope)
        return self.member(self.value(node.this, scope), node.expression.name, node)

    def paren(self, node: exp.Paren, scope: Scope) -> Value:
        found = self.value(node.this, scope)
        if isinstance(found, Scalar):
            return Scalar(exp.Paren(this=found.expression), found.type)
        return found

    def literal(self, node: exp.Literal, scope: Scope) -> Scalar:
        if node.is_string:
            return Scalar(node.copy(), "VARCHAR")
        shown = str(node.this)
        if shown.lstrip("-").isdigit():
            if int(shown) > LARGEST_INT64 + isinstance(node.parent, exp.Neg):
                raise error_at(node.parent, f"Invalid INT64 literal: {shown} is out of range")
            if isinstance(node.parent, (*_ARITHMETIC, exp.Neg, exp.Array)):
                return Scalar(cast(node.copy(), "BIGINT"), "BIGINT")
            return Scalar(node.copy(), "BIGINT")
        exponent = "" if "e" in shown.lower() else "e0"
        return Scalar(exp.Literal.number(shown + exponent), "DOUBLE")

    def bracket(self, node: exp.Bracket, scope: Scope) -> Value:
        base = self.value(node.this, scope)
        index = node.expressions[0]
        if isinstance(base, Scalar) and base.type == "JSON":
            return Scalar(
                call("json_extract", base.expression, _json_subscript(self, index, scope)), "JSON"
            )
        if isinstance(base, Element | Path):
            raise error_at(node, "Subscript is not supported on a graph element or path")
        position = self.scalar(index, scope)
        if not node.args.get("offset"):
            position = exp.Add(this=exp.Paren(this=position), expression=number(1))
        items = base.expression
        item = call("list_extract", items.copy(), position)
        if not node.args.get("safe"):
            past = exp.GT(this=position.copy(), expression=call("len", items.copy()))
            early = exp.LT(this=position.copy(), expression=number(1))
            item = case([(disjunction([past, early]), fail("Array index is out of bounds"))], item)
        if isinstance(base, ElementList):
            return base.item(item)
        return Scalar(item, item_of(base.type))

    def equality(self, node: exp.Binary, scope: Scope) -> Scalar:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        negative = isinstance(node, exp.NEQ)
        if isinstance(left, Element) and isinstance(right, Element):
            if left.kind != right.kind:
                raise error_at(node, "A node compares only with a node, an edge with an edge")
            found = same(left, right)
        elif isinstance(left, Path) and isinstance(right, Path):
            found = path_functions.same_path(left, right)
        elif isinstance(left, Element | Path) or isinstance(right, Element | Path):
            raise error_at(node, "A graph element or path compares only with another one")
        else:
            return self.comparison(node, scope)
        return Scalar(negation(found) if negative else exp.Paren(this=found), "BOOLEAN")

    def comparison(self, node: exp.Binary, scope: Scope) -> Scalar:
        """DuckDB would compare across types by casting; GoogleSQL refuses."""
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        for side in (left, right):
            if not isinstance(side, Scalar):
                raise error_at(node, "Order is not defined for graph elements, paths and arrays")
            if side.type == "JSON":
                raise error_at(
                    node,
                    "Comparison is not defined for arguments of type JSON; "
                    "use STRING(), INT64(), FLOAT64() or BOOL() around the value",
                )
        families = {_FAMILIES.get(side.type or "") for side in (left, right)} - {None}
        if len(families) > 1:
            kinds = ", ".join(googlesql(side.type) for side in (left, right))
            raise error_at(node, f"No matching signature for comparison of argument types: {kinds}")
        sides = {"this": expression_of(left), "expression": expression_of(right)}
        return Scalar(type(node)(**sides), "BOOLEAN")

    def is_(self, node: exp.Is, scope: Scope) -> Scalar:
        if not isinstance(node.expression, exp.Null | exp.Boolean):
            raise error_at(
                node.expression,
                "Syntax error: Expected NULL, TRUE, FALSE, LABELED, SOURCE or DESTINATION after IS",
            )
        found = self.value(node.this, scope)
        if isinstance(found, Element):
            return Scalar(exp.Is(this=found.marker(), expression=node.expression.copy()), "BOOLEAN")
        plain = exp.Is(this=expression_of(found), expression=node.expression.copy())
        return Scalar(plain, "BOOLEAN")

    def divide(self, node: exp.Div, scope: Scope) -> Scalar:
        """Division by zero is an error in GoogleSQL; DuckDB answers with infinity."""
        top, bottom = self.scalar(node.this, scope), self.scalar(node.expression, scope)
        result = exp.Div(this=top, expression=bottom, typed=False, safe=False)
        return Scalar(_guarded(result, bottom, node), "DOUBLE")

    def modulo(self, node: exp.Mod, scope: Scope) -> Scalar:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        bottom = expression_of(right)
        result = exp.Mod(
            this=exp.Paren(this=expression_of(left)), expression=exp.Paren(this=bottom)
        )
        return Scalar(exp.Paren(this=_guarded(result, bottom, node)), getattr(left, "type", None))

    def cast_(self, node: exp.Cast, scope: Scope) -> Scalar:
        inner = self.value(node.this, scope)
        target = node.to.copy()
        if isinstance(inner, Element | Path | ElementList):
            raise error_at(node, "A graph element, path or array of elements cannot be cast")
        if inner.type == "JSON" and not node.to.is_type("json"):
            raise error_at(
                node, f"Invalid cast from JSON to {node.to.sql('bigquery')}; use STRING(), INT64()"
            )
        kind = described(target.sql("duckdb"))
        value = inner.expression
        if kind == "BIGINT" and inner.type in ("DOUBLE", "FLOAT"):
            value = call("round", value)  # halves away from zero; DuckDB's cast rounds to even
        result: exp.Expression = type(node)(this=value, to=target)
        if kind == "VARCHAR" and inner.type in ("DOUBLE", "FLOAT"):
            result = call("regexp_replace", result, text(r"\.0$"), text(""))  # 1.0 shows as 1
        return Scalar(result, kind)

    def array_(self, node: exp.Array, scope: Scope) -> Value:
        if node.expressions and isinstance(node.expressions[0], exp.Query):
            return self.rebuilt(node, scope)
        items = [self.value(x, scope) for x in node.expressions]
        if items and isinstance(items[0], Element):
            first = items[0]
            packed = exp.Array(expressions=[expression_of(i) for i in items])
            return ElementList(first.graph, first.kind, first.declared, packed)
        kinds = {i.type for i in items if isinstance(i, Scalar)} - {None}
        known = f"{kinds.pop()}[]" if len(kinds) == 1 else None
        return Scalar(exp.Array(expressions=[expression_of(i) for i in items]), known)

    def lambda_(self, node: exp.Lambda, scope: Scope) -> Scalar:
        inner = scope.child()
        for variable in node.expressions:
            inner.set(variable.name, Scalar(exp.Column(this=exp.to_identifier(variable.name))))
        body = self.scalar(node.this, inner)
        return Scalar(exp.Lambda(this=body, expressions=[v.copy() for v in node.expressions]))

    def identifier(self, node: exp.Identifier, scope: Scope) -> Value:
        """A bare identifier stands where sqlglot read a lambda's variable."""
        return scope.find(node.name) or Scalar(node.copy())

    def interval(self, node: exp.Expression, scope: Scope) -> Scalar:
        return time_functions.shifted_timestamp(self, node, scope)

    def window(self, node: exp.Window, scope: Scope) -> Value:
        return aggregates.translate_window(self, node, scope)

    def null_treatment(self, node: exp.Expression, scope: Scope) -> Value:
        """`f(x IGNORE NULLS)`: sqlglot wraps the call; only aggregates come here."""
        return aggregates.translate(self, node, scope)

    def with_(self, node: s.WithExpression, scope: Scope) -> Value:
        inner = scope.child()
        for name, bound in zip(node.args["names"], node.expressions, strict=True):
            inner.set(name, self.value(bound, inner))
        return self.value(node.this, inner)

    def graph_predicate(self, node: s.GraphPredicate, scope: Scope) -> Scalar:
        kind, negated = node.args["kind"], node.args.get("negated")
        if kind == "LABELED":
            element = self.element(node.this, scope, "IS LABELED")
            self.lowering.check_labels(node.args["label"], element.graph, element.kind)
            rows = element.folded_row_labels
            found = element.by_table(
                lambda table: labels.condition(node.args["label"], table, rows())
            )
        else:
            found = self._end_test(node, scope, kind)
        return Scalar(negation(found) if negated else exp.Paren(this=found), "BOOLEAN")

    def _end_test(self, node: s.GraphPredicate, scope: Scope, kind: str) -> exp.Expression:
        role = f"IS {kind}"
        end = self.element(node.this, scope, role)
        edge = self.element(node.expression, scope, role)
        if end.kind == edge.kind or end.kind == "edge":
            raise error_at(node, f"{role} OF needs a node on its left and an edge on its right")
        side = 0 if kind == "SOURCE" else 1
        test = equal(end.identity(), edge.end(side)) if end.graph is edge.graph else exp.false()
        if end.certain and edge.certain:
            return test
        missing = disjunction([end.is_null(), edge.is_null()])
        shown = "SOURCE" if side == 0 else "DEST"
        complaint = fail(f"Input to the operator {shown} must not be null")
        return case([(missing, complaint)], test)

    def graph_subquery(self, node: s.GraphSubquery, scope: Scope) -> Value:
        return self.lowering.subquery(node, scope)

    def in_(self, node: exp.In, scope: Scope) -> Scalar:
        query = node.args.get("query")
        if isinstance(query, s.GraphSubquery):
            rows = self.lowering.rows(query, scope)
            return Scalar(
                exp.In(this=self.scalar(node.this, scope), query=exp.Subquery(this=rows)),
                "BOOLEAN",
            )
        value = self.value(node.this, scope)
        if isinstance(value, Scalar) and value.type == "JSON":
            raise error_at(node, "IN is not defined for arguments of type JSON")
        if isinstance(value, Element):
            return self._element_in(node, value, scope)
        return self.rebuilt(node, scope)

    def _element_in(self, node: exp.In, element: Element, scope: Scope) -> Scalar:
        """`a IN UNNEST(NODES(p))` and `a IN (b, c)` compare identities."""
        unnest = node.args.get("unnest")
        if unnest is not None:
            items = self.value(unnest.expressions[0], scope)
            if isinstance(items, ElementList):
                found = array_functions.contains(items, element)
                return Scalar(found, "BOOLEAN")
        others = [self.element(x, scope, "IN") for x in node.expressions]
        if not others:
            raise unsupported(node, "IN over a query of graph elements")
        return Scalar(exp.Paren(this=disjunction(same(element, x) for x in others)), "BOOLEAN")

    def query(self, node: exp.Expression, scope: Scope) -> Value:
        return self.lowering.sql_subquery(node, scope)

    def safe(self, node: exp.Expression, scope: Scope) -> Value:
        return choice_functions.safe(self, node, scope)

    def collation(self, node: exp.Collate, scope: Scope) -> Scalar:
        raise unsupported(node.this if node.this.meta else node, "COLLATE")

    def concatenation(self, node: exp.Expression, scope: Scope) -> Value:
        operands = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
        values = [self.value(x, scope) for x in operands]
        if values and isinstance(values[0], Path):
            return path_functions.joined_paths(node, values)
        if any(isinstance(v, ElementList) for v in values):
            return array_functions.joined_lists(values)
        kinds = {v.type for v in values if isinstance(v, Scalar)} - {None}
        result = self.rebuilt(node, scope)
        return Scalar(result.expression, kinds.pop() if len(kinds) == 1 else None)


def json_member(json: exp.Expression, name: str) -> exp.Expression:
    return call("json_extract", json, text(f'$."{name}"'))


def _json_subscript(t: Translator, index: exp.Expression, scope: Scope) -> exp.Expression:
    if isinstance(index, exp.Literal) and index.is_string:
        return text(f'$."{index.name}"')
    return t.scalar(index, scope)


def dynamic_property(element: Element, name: str) -> exp.Expression:
    """Names of dynamic properties match in any case; they are stored in lower case as a rule."""
    exact = json_member(element.row_properties(), name)
    if name == name.lower():
        return exact
    return call("coalesce", json_member(element.row_properties(), name.lower()), exact)


def _guarded(
    result: exp.Expression, divisor: exp.Expression, node: exp.Expression
) -> exp.Expression:
    plain = divisor.this if isinstance(divisor, exp.Cast) else divisor
    if isinstance(plain, exp.Literal) and not plain.is_string and float(plain.this) != 0:
        return result
    zero = equal(exp.Paren(this=divisor.copy()), number(0))
    return case([(zero, fail(f"division by zero: {s.written(node)}"))], result)


def _type_of(node: exp.Expression, children: dict[str, Value]) -> str | None:
    def kind(key: str) -> str | None:
        child = children.get(key)
        return child.type if isinstance(child, Scalar) else None

    if isinstance(node, _BOOLEAN):
        return "BOOLEAN"
    if isinstance(node, _ARITHMETIC):
        sides = {kind("this"), kind("expression")}
        if "DOUBLE" in sides and None not in sides:
            return "DOUBLE"
        return sides.pop() if len(sides) == 1 else None
    if isinstance(node, exp.Neg | exp.Abs | exp.Order | exp.Limit | exp.Distinct):
        return kind("this")
    if isinstance(node, exp.Boolean):
        return "BOOLEAN"
    return functions.RESULT_TYPES.get(name_of(node))


_RULES: dict[type | tuple, Callable[[Translator, exp.Expression, Scope], Value]] = {
    exp.Column: Translator.column,
    exp.Dot: Translator.dot,
    exp.Paren: Translator.paren,
    exp.Literal: Translator.literal,
    exp.Bracket: Translator.bracket,
    (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ): Translator.equality,
    (exp.LT, exp.LTE, exp.GT, exp.GTE): Translator.comparison,
    exp.Is: Translator.is_,
    exp.Div: Translator.divide,
    exp.Mod: Translator.modulo,
    exp.Cast: Translator.cast_,
    exp.Array: Translator.array_,
    exp.Lambda: Translator.lambda_,
    exp.Identifier: Translator.identifier,
    (exp.IgnoreNulls, exp.RespectNulls): Translator.null_treatment,
    exp.Window: Translator.window,
    exp.In: Translator.in_,
    exp.Collate: Translator.collation,
    exp.SafeFunc: Translator.safe,
    (exp.DPipe, exp.Concat): Translator.concatenation,
    (exp.TimestampAdd, exp.TimestampSub): Translator.interval,
    s.WithExpression: Translator.with_,
    s.GraphPredicate: Translator.graph_predicate,
    s.GraphSubquery: Translator.graph_subquery,
    exp.Query: Translator.query,
}

__all__ = ["Translator", "dynamic_property", "json_member"]
