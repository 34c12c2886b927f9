"""A lowered query as GoogleSQL, for a service that has tables and no graphs.

The lowered tree is DuckDB's. What it shares with GoogleSQL is printed as it is, what has another
name there is renamed, and the rest (paths, lists, JSON of elements) is refused by name rather than
printed wrong.
"""

from __future__ import annotations

from sqlglot import exp

from .errors import Unsupported
from .lower import Lowered
from .sqlnodes import call, is_call_of, of_joined_set

# DuckDB's function to GoogleSQL's. A function that is not here has no plain twin.
_FUNCTIONS = {
    "avg": "AVG",
    "coalesce": "COALESCE",
    "count": "COUNT",
    "epoch_us": "UNIX_MICROS",
    "lower": "LOWER",
    "max": "MAX",
    "min": "MIN",
    "string_agg": "STRING_AGG",
    "sum": "SUM",
    "upper": "UPPER",
}
_SHIFTS = {exp.Add: "TIMESTAMP_ADD", exp.Sub: "TIMESTAMP_SUB"}
_WITHOUT_A_TWIN = (exp.Lambda, exp.Struct, exp.Bracket, exp.List, exp.With, exp.AtTimeZone)


def googlesql(lowered: Lowered, *, ordered_aggregates: bool = True) -> str:
    """The same rows as plain SQL that BigQuery and Spanner run. Raises Unsupported.

    Spanner takes no ORDER BY inside an aggregate: without `ordered_aggregates` it is left out.
    """
    tree = lowered.tree.copy()
    for kind in _WITHOUT_A_TWIN:
        if tree.find(kind):
            raise Unsupported(f"{kind.__name__.lower()} values have no plain SQL here")
    tree = tree.transform(_translated, copy=False)
    if not ordered_aggregates:
        tree = tree.transform(_unordered, copy=False)
    for name in tree.find_all(exp.Identifier):
        # The services keep `$` out of the names of columns.
        name.set("this", name.this.replace("$", "__"))
    return tree.sql("bigquery", pretty=True)


def _translated(node: exp.Expression) -> exp.Expression:
    if type(node) in _SHIFTS and is_call_of(node.expression, "to_microseconds"):
        span = exp.Interval(
            this=exp.Paren(this=node.expression.expressions[0]), unit=exp.Var(this="MICROSECOND")
        )
        return exp.Anonymous(this=_SHIFTS[type(node)], expressions=[node.this, span])
    if isinstance(node, exp.Anonymous) and node.name not in _SHIFTS.values():
        return _set_of_strings(node) or _function(node)
    return node


def _set_of_strings(node: exp.Anonymous) -> exp.Expression | None:
    """STRING_AGG(DISTINCT …) where DuckDB gathers a list in its place, else None."""
    found = of_joined_set(node)
    if found is None:
        return None
    value, separator = found
    by = exp.Ordered(this=value.copy(), nulls_first=True)
    within = exp.Order(this=separator, expressions=[by])
    return call("STRING_AGG", exp.Distinct(expressions=[value]), within)


def _function(node: exp.Anonymous) -> exp.Expression:
    known = _FUNCTIONS.get(node.name.lower(), node.name if node.name in _SPELT else None)
    if known is None:
        raise Unsupported(f"{node.name.upper()} has no plain SQL here")
    node.set("this", known)
    return node


_SPELT = frozenset(_FUNCTIONS.values())


def _unordered(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Order) and isinstance(node.parent, exp.Anonymous):
        return node.this
    return node
