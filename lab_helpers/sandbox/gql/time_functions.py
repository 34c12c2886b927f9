"""Arithmetic of timestamps and dates, where DuckDB's differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from .elements import (
    Scalar,
    Value,
)
from .registry import rule
from .scope import Scope
from .sqlnodes import (
    call,
    cast,
    number,
)

if TYPE_CHECKING:
    from .expressions import Translator


_MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
}


def _unit(node: exp.Expression) -> str:
    unit = node.args.get("unit")
    return unit.name.upper() if unit is not None else ""


@rule("TIMESTAMP_DIFF")
def _timestamp_diff(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    """Whole units of exact length; DuckDB's date_diff counts calendar boundaries."""
    unit = _unit(node)
    if unit not in _MICROSECONDS:
        return None
    later, earlier = t.scalar(node.this, scope), t.scalar(node.expression, scope)
    difference = exp.Paren(
        this=exp.Sub(this=call("epoch_us", later), expression=call("epoch_us", earlier))
    )
    return Scalar(
        exp.Paren(this=exp.IntDiv(this=difference, expression=number(_MICROSECONDS[unit]))),
        "BIGINT",
    )


@rule("DATE_ADD", "DATE_SUB", "DATE_TRUNC")
def _date(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    """A DATE stays a DATE; DuckDB makes a timestamp of it."""
    subject = t.value(node.this, scope)
    if not isinstance(subject, Scalar) or subject.type not in ("DATE", None):
        return None
    return Scalar(cast(t.rebuilt(node, scope).expression, "DATE"), "DATE")


def shifted_timestamp(t: Translator, node: exp.Expression, scope: Scope) -> Scalar:
    """TIMESTAMP_ADD and TIMESTAMP_SUB: a day is 24 hours, also across a clock change."""
    unit = _unit(node)
    if unit not in _MICROSECONDS:
        return t.rebuilt(node, scope)
    amount = node.expression
    if isinstance(amount, exp.Interval):
        amount = amount.this
    moment = t.scalar(node.this, scope)
    if isinstance(amount, exp.Literal):
        count: exp.Expression = number(int(str(amount.this)))
    else:
        count = exp.Paren(this=cast(t.scalar(amount, scope), "BIGINT"))
    shift = call("to_microseconds", exp.Mul(this=count, expression=number(_MICROSECONDS[unit])))
    kind = exp.Add if isinstance(node, exp.TimestampAdd) else exp.Sub
    return Scalar(exp.Paren(this=kind(this=moment, expression=shift)), "TIMESTAMP WITH TIME ZONE")
