"""Small builders of DuckDB syntax trees.

Everything here hands over its arguments: a node given to a builder must not be used again
without `.copy()`. sqlglot's own builders copy by default, which made lowering several times slower.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

_parsed_types: dict[str, exp.DataType] = {}


def identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


def column(name: str, relation: str | None = None) -> exp.Column:
    return exp.Column(this=identifier(name), table=identifier(relation) if relation else None)


def star(relation: str) -> exp.Column:
    return exp.Column(this=exp.Star(), table=identifier(relation))


def call(name: str, *arguments: exp.Expression) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


_SET = ("list_sort", "list_distinct", "list")


def joined_set(value: exp.Expression, separator: exp.Expression) -> exp.Anonymous:
    """STRING_AGG(DISTINCT value, separator) in the order of the values, as a list made distinct at
    the end: cheaper than a hash table for each group. list_distinct leaves NULLs out."""
    items = value
    for step in reversed(_SET):
        items = call(step, items)
    return call("list_aggregate", items, text("string_agg"), separator)


def of_joined_set(node: exp.Expression) -> tuple[exp.Expression, exp.Expression] | None:
    """The (value, separator) that `joined_set` made `node` from; None for any other node."""
    if not is_call_of(node, "list_aggregate") or len(node.expressions) != 3:
        return None
    items, _, separator = node.expressions
    for step in _SET:
        if not is_call_of(items, step):
            return None
        items = items.expressions[0]
    return items, separator


def is_call_of(node: exp.Expression | None, name: str) -> bool:
    """True for `call(name, ...)`, whatever the case of the name."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == name


def text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def number(value: int) -> exp.Literal:
    return exp.Literal.number(value)


def null() -> exp.Null:
    return exp.Null()


def type_of(duckdb_type: str) -> exp.DataType:
    if duckdb_type not in _parsed_types:
        _parsed_types[duckdb_type] = exp.DataType.build(duckdb_type, dialect="duckdb")
    return _parsed_types[duckdb_type].copy()


def cast(value: exp.Expression, duckdb_type: str) -> exp.Cast:
    return exp.Cast(this=value, to=type_of(duckdb_type))


def as_text(value: exp.Expression) -> exp.Cast:
    return cast(value, "VARCHAR")


def concatenate(parts: list[exp.Expression]) -> exp.Expression:
    joined = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part)
    return exp.Paren(this=joined) if len(parts) > 1 else joined


def conjunction(conditions: Iterable[exp.Expression | None]) -> exp.Expression | None:
    found = [c for c in conditions if c is not None]
    return exp.and_(*found, copy=False) if found else None


def disjunction(conditions: Iterable[exp.Expression]) -> exp.Expression | None:
    found = list(conditions)
    return exp.or_(*found, copy=False) if found else None


def negation(condition: exp.Expression) -> exp.Not:
    return exp.Not(this=exp.Paren(this=condition))


def equal(left: exp.Expression, right: exp.Expression) -> exp.EQ:
    return exp.EQ(this=left, expression=right)


def is_null(value: exp.Expression) -> exp.Is:
    return exp.Is(this=value, expression=exp.Null())


def not_null(value: exp.Expression) -> exp.Not:
    return exp.Not(this=is_null(value))


def case(
    branches: list[tuple[exp.Expression, exp.Expression]], default: exp.Expression | None = None
) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=c, true=v) for c, v in branches], default=default)


def fail(message: str) -> exp.Anonymous:
    """An expression that raises when a row reaches it."""
    return call("error", text(message))


def field(struct: exp.Expression, name: str) -> exp.Anonymous:
    return call("struct_extract", struct, text(name))


def struct(fields: Iterable[tuple[str, exp.Expression]]) -> exp.Struct:
    return exp.Struct(
        expressions=[exp.PropertyEQ(this=identifier(n), expression=e) for n, e in fields]
    )


def array(items: list[exp.Expression]) -> exp.Array:
    return exp.Array(expressions=items)


def empty_array(duckdb_type: str) -> exp.Cast:
    return cast(array([]), duckdb_type)


def lambda_(variable: str, body: exp.Expression) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(variable)])


def alias(value: exp.Expression, name: str) -> exp.Alias:
    return exp.Alias(this=value, alias=identifier(name))


def select(
    items: Iterable[tuple[str, exp.Expression]], source: exp.Expression | None = None
) -> exp.Select:
    query = exp.Select(expressions=[alias(e, n) for n, e in items])
    return query.from_(source, copy=False) if source is not None else query


def subquery(query: exp.Expression, name: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(name)))


def union_all(queries: list[exp.Expression]) -> exp.Expression:
    """A balanced tree: a left-deep chain of hundreds would exhaust the recursion limit."""
    if len(queries) == 1:
        return queries[0]
    half = len(queries) // 2
    return exp.Union(
        this=union_all(queries[:half]), expression=union_all(queries[half:]), distinct=False
    )


def conjuncts(condition: exp.Expression | None) -> list[exp.Expression]:
    """The operands of a tree of ANDs."""
    if condition is None:
        return []
    inner = condition
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.And):
        return conjuncts(inner.this) + conjuncts(inner.expression)
    return [condition]
