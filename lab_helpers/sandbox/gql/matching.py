"""MATCH and OPTIONAL MATCH: a pattern joined to the working table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from . import syntax as s
from .columns import exported, rebound
from .elements import ColumnElement, Element, Scalar, StructElement, Value, same
from .errors import error_at
from .patterns import Matched, Pattern
from .scope import Scope
from .sqlnodes import alias, conjunction, conjuncts, equal, number, subquery
from .working import Constants, Working, carried

if TYPE_CHECKING:
    from .statements import Lowering


def match(lowering: Lowering, statement: s.Match, working: Working) -> Working:
    written = _declare(lowering, statement, working)
    patterns = _grouped(lowering, statement, working)
    pushed, deferred = _placed(lowering, conjuncts(statement.where), patterns, working)
    matched = [p.relation(w) for p, w in zip(patterns, pushed, strict=True)]
    found = _joined(lowering, matched)
    if working.relation is None and not statement.optional and not deferred:
        result = Working(found.relation, Scope(working.scope.outer, working.scope.open))
        for name, value in found.names.items():
            result.scope.set(written.get(name, name), value)
    else:
        result = _attached(lowering, statement, working, found, deferred, written)
    result.constants = {k: v for k, v in working.constants.items() if k[0] in working.scope.names}
    if not statement.optional:
        result.constants |= _constants(statement)
    return result


def _declare(lowering: Lowering, statement: s.Match, working: Working) -> dict[str, str]:
    """Variables as written; refuses names that an outer query or a scalar already has."""
    written: dict[str, str] = {}
    for path in statement.paths:
        if path.variable:
            if working.scope.names.get(path.variable.lower()) is not None:
                raise error_at(path, f"Variable name: {path.variable} already exists")
            written.setdefault(path.variable.lower(), path.variable)
        for element in s.pattern_elements(path.terms):
            if not element.variable:
                continue
            folded = element.variable.lower()
            written.setdefault(folded, element.variable)
            known = working.scope.names.get(folded)
            if known is not None and not isinstance(known, Element):
                raise error_at(
                    element,
                    f"The name '{element.variable}' is already defined and is not a graph element",
                )
            outer = working.scope.outer
            if known is None and outer and isinstance(outer.find(folded), Element):
                raise error_at(
                    element,
                    f"The name '{element.variable}' is already defined; redefining graph element "
                    "variables in a subquery is not allowed. To refer to the same graph element, "
                    "use a different name and add an explicit filter that checks for equality",
                )
        for element in _inside_quantifiers(path.terms):
            if element.variable:
                patterns = lowering.group_patterns.setdefault(element.variable.lower(), [])
                patterns.append(element)
                if element.variable.lower() in working.scope.names:
                    raise error_at(element, f"Variable name: {element.variable} already exists")
    return written


def _inside_quantifiers(terms: tuple[s.Term, ...]):
    for term in terms:
        if isinstance(term, s.Quantified):
            yield from s.pattern_elements(term.term.terms)
        elif isinstance(term, s.SubPath):
            yield from _inside_quantifiers(term.terms)


def _grouped(lowering: Lowering, statement: s.Match, working: Working) -> list[Pattern]:
    plain = tuple(p for p in statement.paths if p.selector is None)
    groups = [(p,) for p in statement.paths if p.selector is not None]
    if plain:
        groups.insert(0, plain)
    return [Pattern(lowering, g, lowering.graph, working.scope) for g in groups]


def _placed(
    lowering: Lowering, conditions: list[exp.Expression], patterns: list[Pattern], working: Working
) -> tuple[list[list[exp.Expression]], list[exp.Expression]]:
    """Each condition goes into the one pattern it speaks of, or stays outside."""
    pushed: list[list[exp.Expression]] = [[] for _ in patterns]
    outside: list[exp.Expression] = []
    everything = {name for p in patterns for name in p.kinds}
    for condition in conditions:
        names = lowering.references(condition)
        mine = names & everything
        incoming = (names - everything) & set(working.scope.names)
        homes = [
            i
            for i, p in enumerate(patterns)
            if mine <= set(p.kinds) and (p.selector is None or mine <= _ends(p))
        ]
        if incoming or not homes or (len(patterns) > 1 and not mine):
            outside.append(condition)
        else:
            pushed[homes[0]].append(condition)
    return pushed, outside


def _ends(pattern: Pattern) -> set[str]:
    """Variables of the first and the last node; filters on them commute with a path search."""
    terms = pattern.paths[0].terms
    return {
        t.variable.lower()
        for t in (terms[0], terms[-1])
        if isinstance(t, s.NodePattern) and t.variable
    }


def _joined(lowering: Lowering, matched: list[Matched]) -> Matched:
    """The comma-separated patterns as one relation, equal on the variables they share."""
    if len(matched) == 1:
        return matched[0]
    names: dict[str, Value] = dict(matched[0].names)
    query = exp.Select().from_(matched[0].relation, copy=False)
    for other in matched[1:]:
        on = [same(names[n], v) for n, v in other.names.items() if n in names]
        for name, value in other.names.items():
            if name in names:
                names[name] = _narrowed(names[name], value)
            names.setdefault(name, value)
        if on:
            query = query.join(other.relation, on=conjunction(on), copy=False)
        else:
            query = query.join(other.relation, join_type="CROSS", copy=False)
    items = [item for name, value in names.items() for item in exported(value, name)]
    query.set("expressions", [alias(e, n) for n, e in items] or [alias(number(1), "$one")])
    relation = lowering.fresh("m")
    return Matched(
        subquery(query, relation),
        {n: rebound(v, relation, n) for n, v in names.items()},
    )


def _narrowed(known: Element, again: Element) -> Element:
    """An element that two patterns share: the tables both allow."""
    tables = tuple(t for t in known.tables if t in again.tables) or known.tables
    declared = tuple(dict.fromkeys((*known.declared, *again.declared)))
    if isinstance(known, ColumnElement):
        return known.narrowed(tables, declared)
    assert isinstance(known, StructElement)
    return StructElement(known.graph, known.kind, known.tables, declared, known.expression)


def _attached(
    lowering: Lowering,
    statement: s.Match,
    working: Working,
    found: Matched,
    deferred: list[exp.Expression],
    written: dict[str, str],
) -> Working:
    """The working table joined to a pattern on shared variables and deferred conditions."""
    before = working.scope
    shared = [n for n in found.names if n in before.names]
    new = [n for n in found.names if n not in before.names]
    scope = before.child()
    for name in new:
        scope.set(name, found.names[name])
    conditions = [same(before.names[n], found.names[n]) for n in shared]
    conditions += [exp.Paren(this=lowering.translator.condition(c, scope)) for c in deferred]
    conditions += _implied(conditions, before)
    source = working.one_row(lowering.fresh("w"))
    items = [item for n in new for item in exported(found.names[n], n)]
    query = exp.Select(
        expressions=[*working.columns(), *(alias(e, n) for n, e in items)]
        or [alias(number(1), "$one")]
    ).from_(source, copy=False)
    on = conjunction(conditions)
    if statement.optional:
        query = query.join(found.relation, on=on or exp.true(), join_type="LEFT", copy=False)
    elif on is not None:
        query = query.join(found.relation, on=on, copy=False)
    else:
        query = query.join(found.relation, join_type="CROSS", copy=False)
    relation = lowering.fresh("w")
    result = Working(subquery(query, relation), Scope(before.outer, before.open))
    for name, value in before.items():
        kept = value
        if name.lower() in shared and not statement.optional:
            kept = _narrowed(value, found.names[name.lower()])
        result.scope.set(name, carried(kept, relation, name))
    for name in new:
        result.scope.set(written.get(name, name), rebound(found.names[name], relation, name))
    return result


def _constants(statement: s.Match) -> Constants:
    """Properties that a MATCH forces to equal a parameter or a literal."""
    found: Constants = {}
    for path in statement.paths:
        for element in path.terms:
            if isinstance(element, s.NodePattern | s.EdgePattern) and element.variable:
                for name, value in element.properties:
                    if isinstance(value, exp.Parameter | exp.Literal):
                        found[(element.variable.lower(), name.name.lower())] = value
    for condition in conjuncts(statement.where):
        if isinstance(condition, exp.EQ):
            for side, other in (
                (condition.this, condition.expression),
                (condition.expression, condition.this),
            ):
                if (
                    isinstance(side, exp.Column)
                    and len(side.parts) == 2
                    and isinstance(other, exp.Parameter | exp.Literal)
                ):
                    found[(side.table.lower(), side.name.lower())] = other
    return found


def _implied(conditions: list[exp.Expression], scope: Scope) -> list[exp.Expression]:
    """`x = column` and `column` known to be @p: also `x = @p`.

    DuckDB does not carry the constant through an aggregate by itself, and would scan whole tables.
    """
    known = {
        (v.expression.table, v.expression.name): v.constant
        for v in scope.names.values()
        if isinstance(v, Scalar) and v.constant is not None and isinstance(v.expression, exp.Column)
    }
    found = []
    for condition in conditions:
        inner = condition
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if not isinstance(inner, exp.EQ):
            continue
        for side, other in ((inner.this, inner.expression), (inner.expression, inner.this)):
            if isinstance(other, exp.Column) and (other.table, other.name) in known:
                constant = known[(other.table, other.name)]
                found.append(equal(side.copy(), constant.copy()))
    return found
