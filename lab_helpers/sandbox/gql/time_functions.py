"""Arithmetic of timestamps and dates, where DuckDB's differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from .elements import (
    Scalar,
    Value,
)
from .errors import unsupported
from .registry import rule
from .scope import Scope
from .sqlnodes import (
    call,
    cast,
    number,
    text,
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
    if isinstance(node, exp.DateTrunc) and _unit(node) == "WEEK":
        return Scalar(cast(_sunday(subject.expression), "DATE"), "DATE")
    return Scalar(cast(t.rebuilt(node, scope).expression, "DATE"), "DATE")


def _sunday(moment: exp.Expression) -> exp.Expression:
    """The start of the week: Sunday here, Monday in DuckDB."""
    monday = call(
        "date_trunc",
        text("week"),
        exp.Add(this=exp.Paren(this=moment), expression=call("to_days", number(1))),
    )
    return exp.Paren(this=exp.Sub(this=monday, expression=call("to_days", number(1))))


@rule("TIMESTAMP_TRUNC")
def _timestamp_trunc(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    if _unit(node) != "WEEK":
        return None
    return Scalar(_sunday(t.scalar(node.this, scope)), "TIMESTAMP WITH TIME ZONE")


@rule("EXTRACT")
def _extract(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    part = node.this.name.upper()
    if part == "DAYOFWEEK":  # Sunday is 1 here, 0 in DuckDB
        zero_based = call("date_part", text("dow"), t.scalar(node.expression, scope))
        return Scalar(exp.Paren(this=exp.Add(this=zero_based, expression=number(1))), "BIGINT")
    if part == "WEEK":
        raise unsupported(node.expression, "EXTRACT(WEEK ...)")
    return None


@rule("TIME_TO_STR")
def _formatted(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    zone = node.args.get("zone")
    if zone is None or not isinstance(node.this, exp.TsOrDsToTimestamp):
        return None
    local = exp.AtTimeZone(this=t.scalar(node.this.this, scope), zone=t.scalar(zone, scope))
    return Scalar(call("strftime", local, t.scalar(node.args["format"], scope)), "VARCHAR")


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
