"""Where a GoogleSQL expression means something else in DuckDB than sqlglot writes by itself.

`rewrite` walks a parsed tree once, inner expressions first, and replaces what `_BY_TYPE` names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import sqlglot
from sqlglot import exp

NOW = "spanner__now"
COMMIT_TIME = "spanner__commit_time"

# Macros of every database file. DuckDB binds each branch for each type, hence the detours by text.
TEXT = "googlesql_text"
JSON = "googlesql_json"
MACROS = f"""
CREATE OR REPLACE MACRO {TEXT}(x) AS CASE
    WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN regexp_replace(CAST(x AS VARCHAR), '\\.0$', '')
    WHEN typeof(x) LIKE 'DECIMAL%'
        THEN regexp_replace(regexp_replace(CAST(x AS VARCHAR), '(\\.\\d*?)0+$', '\\1'), '\\.$', '')
    ELSE CAST(x AS VARCHAR) END;
CREATE OR REPLACE MACRO {JSON}(x) AS CASE
    WHEN typeof(x) = 'TIMESTAMP WITH TIME ZONE'
        THEN to_json(replace(CAST(
            TRY_CAST(CAST(x AS VARCHAR) AS TIMESTAMPTZ) AT TIME ZONE 'UTC' AS VARCHAR
        ), ' ', 'T') || 'Z')
    ELSE to_json(x) END;
"""

Rewriter = Callable[[exp.Expression], exp.Expression | None]

_MICROS = {
    "NANOSECOND": 0.001,
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
}


def rewrite(tree: exp.Expression) -> exp.Expression:
    """The tree with DuckDB's meaning; changes it in place."""
    for node in reversed(list(tree.find_all(*_BY_TYPE))):
        rewriter = _BY_TYPE.get(type(node))  # a subclass (SAFE_CAST) has a meaning of its own
        new = rewriter(node) if rewriter is not None else None
        if new is None:
            continue
        if node is tree:
            tree = new
        else:
            node.replace(new)
    return tree


def bind_request_time(tree: exp.Expression) -> exp.Expression:
    """Only the clock: for trees that have DuckDB's meaning already."""
    for node in list(tree.find_all(exp.CurrentTimestamp, exp.CurrentDate)):
        node.replace(_BY_TYPE[type(node)](node))
    return tree


# ---------------------------------------------------------------- templates


@cache
def _parsed(template: str) -> exp.Expression:
    return sqlglot.parse_one(template, read="duckdb")


def fill(template: str, **parts: exp.Expression | int) -> exp.Expression:
    """A DuckDB expression with `:name` replaced by the parts."""
    tree = _parsed(template).copy()
    for hole in list(tree.find_all(exp.Placeholder)):
        part = parts[hole.name]
        node = exp.Literal.number(part) if isinstance(part, int) else part.copy()
        if not isinstance(node, exp.Literal | exp.Column | exp.Cast | exp.Paren | exp.Lambda):
            node = exp.Paren(this=node)
        if hole is tree:
            return node
        hole.replace(node)
    return tree


def _templated(template: str, *arguments: str) -> Rewriter:
    """Rewrites a node by a template over the named arguments of the node."""

    def rewriter(node: exp.Expression) -> exp.Expression:
        return fill(template, **{name: node.args[name] for name in arguments})

    return rewriter


# ---------------------------------------------------------------- time


def _unit(node: exp.Expression) -> int | None:
    micros = _MICROS.get(node.text("unit").upper())
    return int(micros) if micros and micros >= 1 else None


def _timestamp_diff(node: exp.Expression) -> exp.Expression | None:
    """Whole units between two instants, cut towards zero: DuckDB counts calendar boundaries."""
    unit = _unit(node)
    if unit is None:
        return None
    template = "CAST((epoch_us(:later) - epoch_us(:earlier)) // :unit AS BIGINT)"
    return fill(template, later=node.this, earlier=node.expression, unit=unit)


def _timestamp_shift(sign: str) -> Rewriter:
    """A day is 24 hours here: DuckDB's interval of a day follows the clock through summer time."""
    template = (
        f"CAST(:start AS TIMESTAMPTZ) {sign} to_microseconds(CAST(:amount AS BIGINT) * :unit)"
    )

    def rewriter(node: exp.Expression) -> exp.Expression | None:
        unit = _unit(node)
        if unit is None:
            return None
        amount = node.expression
        amount = amount.this if isinstance(amount, exp.Interval) else amount
        if isinstance(amount, exp.Literal):
            amount = exp.Literal.number(amount.this)
        return fill(template, start=node.this, amount=amount, unit=unit)

    return rewriter


def _in_zone(template_with_zone: str) -> Rewriter:
    """Rewrites only where a time zone is given; without one DuckDB uses the session's."""

    def rewriter(node: exp.Expression) -> exp.Expression | None:
        zone = node.args.get("zone")
        if zone is None:
            return None
        parts = {"this": node.this, "zone": zone}
        if node.args.get("format") is not None:
            parts["format"] = node.args["format"]
        return fill(template_with_zone, **parts)

    return rewriter


def _week(template: str, otherwise: str | None = None, *arguments: str) -> Rewriter:
    """Weeks begin on Sunday; DuckDB's on Monday."""

    def rewriter(node: exp.Expression) -> exp.Expression | None:
        unit = node.text("unit").upper() or node.args["unit"].name.upper()
        if unit == "WEEK":
            return fill(template, **{name: node.args[name] for name in ("this", *arguments)})
        return fill(otherwise, node=node) if otherwise else None

    return rewriter


def _parse_timestamp(node: exp.Expression) -> exp.Expression:
    template = "CAST(:plain AS TIMESTAMPTZ)"
    zone = node.args.get("zone")
    plain = exp.StrToTime(this=node.this.copy(), format=node.args["format"].copy())
    if zone is not None:
        return fill("(:plain) AT TIME ZONE :zone", plain=plain, zone=zone)
    return fill(template, plain=plain)


def _format_time(node: exp.Expression) -> exp.Expression | None:
    zone = node.args.get("zone")
    if zone is None:
        return None
    local = fill("CAST(:this AS TIMESTAMPTZ) AT TIME ZONE :zone", this=_plain(node.this), zone=zone)
    return exp.TimeToStr(this=local, format=node.args["format"].copy())


def _plain(node: exp.Expression) -> exp.Expression:
    """Without the type that sqlglot notes around a formatted value (TsOrDsToTimestamp and kin)."""
    wrappers = (exp.TsOrDsToTimestamp, exp.TsOrDsToDate, exp.TsOrDsToDatetime)
    return node.this if isinstance(node, wrappers) else node


def _string(node: exp.Expression) -> exp.Expression:
    zone = node.args.get("zone")
    if zone is None:  # a timestamp or a JSON string: TO_JSON leaves JSON alone and quotes the rest
        return fill("json_extract_string(to_json(:this), '$')", this=node.this)
    template = "strftime(CAST(:this AS TIMESTAMPTZ) AT TIME ZONE :zone, '%Y-%m-%d %H:%M:%S')"
    return fill(template, this=node.this, zone=zone)


def _epoch_to_timestamp(node: exp.Expression) -> exp.Expression:
    scale = node.args.get("scale")
    factor = 10 ** (6 - int(scale.name)) if scale is not None else 1_000_000
    return fill("make_timestamptz(CAST(:this AS BIGINT) * :factor)", this=node.this, factor=factor)


_EXTRACTED = {
    "DATE": "CAST(:this AS DATE)",
    "DAYOFWEEK": "date_part('dow', :this) + 1",
    "DAYOFYEAR": "date_part('doy', :this)",
    "ISOWEEK": "date_part('week', :this)",
    "ISOYEAR": "date_part('isoyear', :this)",
    "WEEK": "CAST(strftime(:this, '%U') AS BIGINT)",
    "MILLISECOND": "date_part('millisecond', :this) % 1000",
    "MICROSECOND": "date_part('microsecond', :this) % 1000000",
}


def _extract(node: exp.Expression) -> exp.Expression | None:
    template = _EXTRACTED.get(node.name.upper())
    return fill(template, this=node.expression) if template else None


def _now(node: exp.Expression) -> exp.Expression:
    return parameter(NOW)


def _today(node: exp.Expression) -> exp.Expression:
    zone = node.args.get("this")
    if zone is None:
        return fill("CAST(:now AS DATE)", now=parameter(NOW))
    return fill("CAST(:now AT TIME ZONE :zone AS DATE)", now=parameter(NOW), zone=zone)


def parameter(name: str) -> exp.Expression:
    return exp.Parameter(this=exp.Var(this=name))


# ---------------------------------------------------------------- numbers


def _literal(node: exp.Expression) -> exp.Expression | None:
    """1.5 is a FLOAT64, not a decimal; the integers of 1 + 2 have 64 bits, not 32."""
    if node.is_string:
        return None
    if not node.this.lstrip("-").isdigit():
        return exp.Cast(this=node.copy(), to=exp.DataType.build("DOUBLE", dialect="duckdb"))
    if isinstance(node.parent, exp.Add | exp.Sub | exp.Mul) and isinstance(
        node.parent.left, exp.Literal | exp.Cast
    ):
        return exp.Cast(this=node.copy(), to=exp.DataType.build("BIGINT", dialect="duckdb"))
    return None


def _checked_division(template: str) -> Rewriter:
    """x / 0 is an error in GoogleSQL; DuckDB answers infinity or NULL."""
    checked = f"CASE WHEN :by = 0 THEN error('division by zero') ELSE {template} END"

    def rewriter(node: exp.Expression) -> exp.Expression | None:
        by = node.expression
        number = by.this if isinstance(by, exp.Cast | exp.Paren) else by
        nonzero = isinstance(number, exp.Literal) and number.name.strip("0.") != ""
        chosen = template if nonzero else checked
        return exp.Paren(this=fill(chosen, this=node.this, by=by))

    return rewriter


def _text_cast(node: exp.Expression) -> exp.Expression | None:
    """A number without its trailing zeros, as GoogleSQL writes it."""
    if not node.to.is_type(exp.DataType.Type.TEXT) or node.this.is_string:
        return None
    return fill(f"{TEXT}(:this)", this=node.this)


def _numeric_type(node: exp.Expression) -> exp.Expression | None:
    is_numeric = node.this in (exp.DataType.Type.DECIMAL, exp.DataType.Type.BIGDECIMAL)
    if is_numeric and not node.expressions:
        return exp.DataType.build("DECIMAL(38,9)", dialect="duckdb")
    return None


# ---------------------------------------------------------------- text, JSON, lists


_FORMAT_SPECIFIER = re.compile(r"%(?:%|[-+ #0'*.\d]*[a-zA-Z])")


def _format(node: exp.Expression) -> exp.Expression:
    """printf, which has no %t and %T: there the argument is turned into text first."""
    pattern, arguments = node.this.copy(), list(node.expressions)
    if isinstance(pattern, exp.Literal):
        specifiers = [s for s in _FORMAT_SPECIFIER.findall(pattern.name) if s != "%%"]
        for place, specifier in enumerate(specifiers[: len(arguments)]):
            if specifier[-1] in "tT":
                arguments[place] = fill(f"{TEXT}(:this)", this=arguments[place])
        text = re.sub(r"(%[^%a-zA-Z]*)[tT]", r"\1s", pattern.name)
        pattern = exp.Literal.string(text)
    return exp.Anonymous(this="printf", expressions=[pattern, *arguments])


def _json(node: exp.Expression) -> exp.Expression:
    value = fill(f"{JSON}(:this)", this=node.this)
    return value if node.args.get("to_json") else fill("CAST(:this AS VARCHAR)", this=value)


def _safe(node: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="try", expressions=[node.this.copy()])


_BY_NAME: dict[str, str] = {
    # name: template over :a0, :a1, ...
    "ARRAY_INCLUDES": "list_contains(:a0, :a1)",
    "ARRAY_MAX": "list_max(:a0)",
    "ARRAY_MIN": "list_min(:a0)",
    "ARRAY_REVERSE": "list_reverse(:a0)",
    "ARRAY_TRANSFORM": "list_transform(:a0, :a1)",
    "ARRAY_FILTER": "list_filter(:a0, :a1)",
    "IEEE_DIVIDE": "CAST(:a0 AS DOUBLE) / CAST(:a1 AS DOUBLE)",
    "LAX_BOOL": "TRY_CAST(:a0 ->> '$' AS BOOLEAN)",
}


def _named(node: exp.Expression) -> exp.Expression | None:
    if node.name.upper() == "PENDING_COMMIT_TIMESTAMP":
        return parameter(COMMIT_TIME)
    template = _BY_NAME.get(node.name.upper())
    if template is None:
        return None
    return fill(template, **{f"a{i}": part for i, part in enumerate(node.expressions)})


# ---------------------------------------------------------------- the table

_BY_TYPE: dict[type[exp.Expression], Rewriter] = {
    exp.Anonymous: _named,
    exp.ArrayFirst: _templated("(:this)[1]", "this"),
    exp.ArrayLast: _templated("(:this)[-1]", "this"),
    exp.ByteLength: _templated("octet_length(encode(:this))", "this"),
    exp.Cast: _text_cast,
    exp.CurrentDate: _today,
    exp.CurrentTimestamp: _now,
    exp.DataType: _numeric_type,
    exp.Date: _in_zone("CAST(CAST(:this AS TIMESTAMPTZ) AT TIME ZONE :zone AS DATE)"),
    exp.DateAdd: lambda node: fill("CAST(:sum AS DATE)", sum=node),
    exp.DateSub: lambda node: fill("CAST(:sum AS DATE)", sum=node),
    exp.DateDiff: _week("date_diff('week', :expression + 1, :this + 1)", None, "expression"),
    exp.DateFromUnixDate: lambda node: fill("CAST(:start AS DATE)", start=node),
    exp.DateTrunc: _week("CAST(date_trunc('week', :this + 1) AS DATE) - 1", "CAST(:node AS DATE)"),
    exp.Div: _checked_division(":this / :by"),
    exp.DotProduct: _templated("list_inner_product(:this, :expression)", "this", "expression"),
    exp.Extract: _extract,
    exp.Float64: _templated("CAST(:this AS DOUBLE)", "this"),
    exp.Format: _format,
    exp.IntDiv: _checked_division(":this // :by"),
    exp.JSONBool: _templated("CAST(:this AS BOOLEAN)", "this"),
    exp.JSONFormat: _json,
    exp.LaxString: _templated(":this ->> '$'", "this"),
    exp.LaxInt64: _templated("TRY_CAST(:this ->> '$' AS BIGINT)", "this"),
    exp.LaxFloat64: _templated("TRY_CAST(:this ->> '$' AS DOUBLE)", "this"),
    exp.Literal: _literal,
    exp.Mod: _checked_division(":this % :by"),
    exp.SafeFunc: _safe,
    exp.StrToTime: _parse_timestamp,
    exp.String: _string,
    exp.TimestampAdd: _timestamp_shift("+"),
    exp.TimestampDiff: _timestamp_diff,
    exp.TimestampSub: _timestamp_shift("-"),
    exp.TimestampTrunc: _week("date_trunc('week', :this + INTERVAL 1 DAY) - INTERVAL 1 DAY"),
    exp.TimeToStr: _format_time,
    exp.UnixToTime: _epoch_to_timestamp,
    exp.Uuid: lambda node: fill("CAST(uuid() AS VARCHAR)"),
}
