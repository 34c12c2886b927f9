"""Values on the wire (google.protobuf.Value) <-> values of DuckDB, by Spanner type."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import decimal
import json
import math
import uuid
from collections.abc import Callable
from typing import Any

from google.cloud.spanner_v1 import Type as ProtoPlusType
from google.cloud.spanner_v1 import TypeCode
from google.protobuf.struct_pb2 import Value

from lab_helpers.sandbox.spanner.errors import failed_precondition, out_of_range
from lab_helpers.sandbox.spanner.schema import DUCKDB_TYPES, ColumnType, quote

Type = ProtoPlusType.pb()
Encoder = Callable[[Any, Value], None]
Decoder = Callable[[Value], Any]

COMMIT_TIMESTAMP_TEXT = "spanner.commit_timestamp()"
MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1


class CommitTimestamp:
    """Stands in a row for the timestamp that the commit will have."""


COMMIT_TIMESTAMP = CommitTimestamp()


# ---------------------------------------------------------------- types

_INTEGERS = frozenset(
    f"{sign}{size}"
    for sign in ("", "u")
    for size in ("tinyint", "smallint", "integer", "bigint", "hugeint")
)
_FROM_DUCKDB = {
    "double": TypeCode.FLOAT64,
    "float": TypeCode.FLOAT32,
    "boolean": TypeCode.BOOL,
    "varchar": TypeCode.STRING,
    "blob": TypeCode.BYTES,
    "date": TypeCode.DATE,
    "uuid": TypeCode.UUID,
    "decimal": TypeCode.NUMERIC,
    "timestamp": TypeCode.TIMESTAMP,
    "timestamp with time zone": TypeCode.TIMESTAMP,
    '"null"': TypeCode.INT64,  # SELECT NULL is an INT64 in GoogleSQL
}


def type_of_column(column: ColumnType) -> Any:
    scalar = Type(code=TypeCode[column.code])
    return Type(code=TypeCode.ARRAY, array_element_type=scalar) if column.array else scalar


def type_from_duckdb(duckdb_type: Any) -> Any:
    """The Spanner type of a DuckDB result column."""
    kind = duckdb_type.id
    if str(duckdb_type) == "JSON":
        return Type(code=TypeCode.JSON)
    if kind in _INTEGERS:
        return Type(code=TypeCode.INT64)
    if kind in ("list", "array"):
        element = type_from_duckdb(duckdb_type.children[0][1])
        return Type(code=TypeCode.ARRAY, array_element_type=element)
    if kind == "struct":
        struct = Type(code=TypeCode.STRUCT)
        struct.struct_type.SetInParent()
        for name, child in duckdb_type.children:
            field = struct.struct_type.fields.add(name=name)
            field.type_.CopyFrom(type_from_duckdb(child))
        return struct
    return Type(code=_FROM_DUCKDB.get(kind, TypeCode.STRING))


def duckdb_type(spanner_type: Any) -> str | None:
    """How DuckDB spells a Spanner type; None where the client left it open."""
    code = spanner_type.code
    if code == TypeCode.ARRAY:
        element = duckdb_type(spanner_type.array_element_type)
        return None if element is None else f"{element}[]"
    if code == TypeCode.STRUCT:
        fields = [
            f"{quote(name)} {duckdb_type(field.type_) or 'VARCHAR'}"
            for name, field in _named_fields(spanner_type)
        ]
        return f"STRUCT({', '.join(fields)})"
    return DUCKDB_TYPES.get(TypeCode(code).name) if code else None


def _named_fields(struct: Any) -> list[tuple[str, Any]]:
    """Fields of a STRUCT; DuckDB wants every field named, Spanner does not."""
    fields = struct.struct_type.fields
    return [(field.name or f"_{i}", field) for i, field in enumerate(fields, 1)]


# ---------------------------------------------------------------- to the wire


def encoder(spanner_type: Any) -> Encoder:
    """A function that writes one DuckDB value of that type into a Value."""
    return _nullable(_not_null_encoder(spanner_type))


def _nullable(encode: Encoder) -> Encoder:
    def write(value: Any, out: Value) -> None:
        if value is None:
            out.null_value = 0
        else:
            encode(value, out)

    return write


def _not_null_encoder(spanner_type: Any) -> Encoder:
    code = spanner_type.code
    if code == TypeCode.ARRAY:
        return _list_encoder(encoder(spanner_type.array_element_type))
    if code == TypeCode.STRUCT:
        return _struct_encoder([encoder(f.type_) for f in spanner_type.struct_type.fields])
    return _SCALAR_ENCODERS.get(code, _write_text)


def _list_encoder(element: Encoder) -> Encoder:
    def write(value: Any, out: Value) -> None:
        out.list_value.SetInParent()
        for item in value:
            element(item, out.list_value.values.add())

    return write


def _struct_encoder(fields: list[Encoder]) -> Encoder:
    def write(value: Any, out: Value) -> None:
        out.list_value.SetInParent()
        items = value.values() if isinstance(value, dict) else value
        for field, item in zip(fields, items, strict=True):
            field(item, out.list_value.values.add())

    return write


def _write_text(value: Any, out: Value) -> None:
    out.string_value = value if isinstance(value, str) else str(value)


def _write_int(value: Any, out: Value) -> None:
    number = int(value)
    if not MIN_INT64 <= number <= MAX_INT64:  # DuckDB adds INT64 values in 128 bits
        raise out_of_range("int64 overflow")
    out.string_value = str(number)


def _write_float(value: float, out: Value) -> None:
    if math.isfinite(value):
        out.number_value = value
    elif math.isnan(value):
        out.string_value = "NaN"
    else:
        out.string_value = "Infinity" if value > 0 else "-Infinity"


def _write_bool(value: bool, out: Value) -> None:
    out.bool_value = value


def _write_bytes(value: bytes, out: Value) -> None:
    out.string_value = base64.b64encode(value).decode("ascii")


def _write_timestamp(value: dt.datetime, out: Value) -> None:
    out.string_value = timestamp_text(value)


def timestamp_text(value: dt.datetime) -> str:
    """RFC 3339 in UTC, as timestamps travel; a value without a zone is UTC."""
    utc = value.astimezone(dt.UTC) if value.tzinfo else value
    fraction = f".{utc.microsecond:06d}" if utc.microsecond else ""
    return f"{utc.year:04d}-{utc:%m-%dT%H:%M:%S}{fraction}Z"


def _write_date(value: dt.date, out: Value) -> None:
    if isinstance(value, dt.datetime):
        value = value.date()
    out.string_value = value.isoformat()


def _write_numeric(value: decimal.Decimal, out: Value) -> None:
    text = format(value, "f")
    out.string_value = text.rstrip("0").rstrip(".") if "." in text else text


def _write_json(value: str, out: Value) -> None:
    """Spanner keeps JSON without spaces and with sorted keys."""
    parsed = json.loads(value)
    out.string_value = json.dumps(parsed, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


_SCALAR_ENCODERS: dict[int, Encoder] = {
    TypeCode.INT64: _write_int,
    TypeCode.FLOAT64: _write_float,
    TypeCode.FLOAT32: _write_float,
    TypeCode.BOOL: _write_bool,
    TypeCode.BYTES: _write_bytes,
    TypeCode.TIMESTAMP: _write_timestamp,
    TypeCode.DATE: _write_date,
    TypeCode.NUMERIC: _write_numeric,
    TypeCode.JSON: _write_json,
}


# ---------------------------------------------------------------- from the wire


def decoder(spanner_type: Any) -> Decoder:
    """A function that reads one Value of that type. Raises FAILED_PRECONDITION naming the value."""
    code = spanner_type.code
    if code == TypeCode.ARRAY:
        element = decoder(spanner_type.array_element_type)
        return _checked("ARRAY", lambda value: [element(item) for item in _items(value)])
    if code == TypeCode.STRUCT:
        fields = [(name, decoder(f.type_)) for name, f in _named_fields(spanner_type)]
        return _checked(
            "STRUCT",
            lambda value: {
                name: read(item) for (name, read), item in zip(fields, _items(value), strict=True)
            },
        )
    if code not in _SCALAR_DECODERS:
        return _read_untyped
    return _checked(TypeCode(code).name, _SCALAR_DECODERS[code])


def _checked(type_name: str, read: Decoder) -> Decoder:
    def checked(value: Value) -> Any:
        if value.WhichOneof("kind") in (None, "null_value"):
            return None
        try:
            return read(value)
        except (ValueError, TypeError, decimal.InvalidOperation, binascii.Error) as error:
            shown = str(value).strip()
            raise failed_precondition(f"Could not parse {shown} as {type_name}") from error

    return checked


def _items(value: Value) -> Any:
    if value.WhichOneof("kind") != "list_value":
        raise ValueError("not a list")
    return value.list_value.values


def _text(value: Value) -> str:
    if value.WhichOneof("kind") != "string_value":
        raise ValueError("not a string")
    return value.string_value


def _read_int(value: Value) -> int:
    if value.WhichOneof("kind") == "number_value" and value.number_value.is_integer():
        return int(value.number_value)
    number = int(_text(value))
    if not MIN_INT64 <= number <= MAX_INT64:
        raise ValueError("beyond 64 bits")
    return number


def _read_float(value: Value) -> float:
    if value.WhichOneof("kind") == "number_value":
        return value.number_value
    text = _text(value)
    if text not in ("NaN", "Infinity", "-Infinity"):
        raise ValueError("not a number")
    return float(text)


def _read_bool(value: Value) -> bool:
    if value.WhichOneof("kind") != "bool_value":
        raise ValueError("not a bool")
    return value.bool_value


def _read_bytes(value: Value) -> bytes:
    return base64.b64decode(_text(value), validate=True)


def _read_timestamp(value: Value) -> dt.datetime | CommitTimestamp:
    text = _text(value)
    if text == COMMIT_TIMESTAMP_TEXT:
        return COMMIT_TIMESTAMP
    if not text.endswith("Z"):
        raise ValueError("not in UTC")
    whole, _, fraction = text[:-1].partition(".")
    micros = (fraction + "000000")[:6]  # DuckDB keeps microseconds; the rest of nine digits is cut
    return dt.datetime.fromisoformat(f"{whole}.{micros}+00:00")


def _read_numeric(value: Value) -> decimal.Decimal:
    number = decimal.Decimal(_text(value))
    if not number.is_finite() or abs(number) >= decimal.Decimal(10) ** 29:
        raise ValueError("beyond NUMERIC")
    return number


def _read_json(value: Value) -> str:
    text = _text(value)
    json.loads(text)
    return text


def _read_uuid(value: Value) -> uuid.UUID:
    return uuid.UUID(_text(value))


def _read_date(value: Value) -> dt.date:
    return dt.date.fromisoformat(_text(value))


def _read_untyped(value: Value) -> Any:
    """A parameter without a type: the value as JSON would have it."""
    kind = value.WhichOneof("kind")
    if kind in (None, "null_value"):
        return None
    if kind == "list_value":
        return [_read_untyped(item) for item in value.list_value.values]
    return getattr(value, kind)


_SCALAR_DECODERS: dict[int, Decoder] = {
    TypeCode.INT64: _read_int,
    TypeCode.FLOAT64: _read_float,
    TypeCode.FLOAT32: _read_float,
    TypeCode.BOOL: _read_bool,
    TypeCode.STRING: _text,
    TypeCode.BYTES: _read_bytes,
    TypeCode.TIMESTAMP: _read_timestamp,
    TypeCode.DATE: _read_date,
    TypeCode.NUMERIC: _read_numeric,
    TypeCode.JSON: _read_json,
    TypeCode.UUID: _read_uuid,
}


def key_text(values: list[Any] | tuple[Any, ...]) -> str:
    """A key as Spanner's messages show it: {Int64(1), String("a")}."""
    return "{" + ", ".join(map(_key_part, values)) + "}"


def _key_part(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return f"Bool({str(value).lower()})"
    if isinstance(value, int):
        return f"Int64({value})"
    if isinstance(value, float):
        return f"Double({value})"
    if isinstance(value, dt.datetime):
        return f"Timestamp({timestamp_text(value)})"
    if isinstance(value, dt.date):
        return f"Date({value.isoformat()})"
    return f'String("{value}")'
