"""COST expressions of CHEAPEST path searches: each is checked, and so is their sum."""

from __future__ import annotations

from sqlglot import exp

from .sqlnodes import call, case, cast, fail, is_null, number


def checked_cost(value: exp.Expression) -> exp.Expression:
    """A COST must be a positive, finite number."""

    def bad(condition: exp.Expression, rule: str) -> tuple[exp.Expression, exp.Expression]:
        return condition, fail(f"Graph cost expression must {rule}")

    as_double = cast(value.copy(), "DOUBLE")
    return case(
        [
            bad(is_null(value.copy()), "not be NULL"),
            bad(call("isnan", as_double), "not be NaN"),
            bad(call("isinf", as_double.copy()), "not be Inf"),
            bad(exp.LTE(this=exp.Paren(this=value.copy()), expression=number(0)), "be positive"),
        ],
        value,
    )


def checked_total(total: exp.Expression) -> exp.Expression:
    """The sum of costs; DuckDB raises for integers, an infinite double is caught here."""
    infinite = call("isinf", cast(total.copy(), "DOUBLE"))
    return case([(infinite, fail("Graph cost overflow: the total cost is out of range"))], total)
