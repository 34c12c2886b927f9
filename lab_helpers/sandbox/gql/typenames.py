"""Names of types: DuckDB's, which values carry here, and GoogleSQL's, which people read."""

from __future__ import annotations

import re

_GOOGLESQL = {
    "BIGINT": "INT64",
    "INTEGER": "INT64",
    "SMALLINT": "INT64",
    "TINYINT": "INT64",
    "HUGEINT": "INT64",
    "VARCHAR": "STRING",
    "TEXT": "STRING",
    "DOUBLE": "FLOAT64",
    "FLOAT": "FLOAT32",
    "BOOLEAN": "BOOL",
    "BLOB": "BYTES",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIMESTAMP": "DATETIME",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "TIMESTAMPTZ": "TIMESTAMP",
    "JSON": "JSON",
    "INTERVAL": "INTERVAL",
    "UUID": "UUID",
}
_SMALL_INTEGERS = {"INTEGER", "SMALLINT", "TINYINT", "UTINYINT", "USMALLINT", "UINTEGER"}


def googlesql(duckdb_type: str) -> str:
    """The GoogleSQL name of a DuckDB type: `BIGINT[]` is `ARRAY<INT64>`."""
    text = duckdb_type.strip()
    if text.endswith("[]"):
        return f"ARRAY<{googlesql(text[:-2])}>"
    if text.upper().startswith("DECIMAL"):
        return "NUMERIC"
    if text.upper().startswith("STRUCT"):
        return re.sub(r"\w+", lambda m: _GOOGLESQL.get(m.group().upper(), m.group()), text)
    return _GOOGLESQL.get(text.upper(), text)


def widened(duckdb_type: str) -> str:
    """INT64 is the only integer type of the services; DuckDB literals are narrower."""
    if duckdb_type.endswith("[]"):
        return widened(duckdb_type[:-2]) + "[]"
    return "BIGINT" if duckdb_type.upper() in _SMALL_INTEGERS else duckdb_type


def described(duckdb_type: str) -> str:
    """DuckDB's own description of a type that sqlglot spells another way."""
    if duckdb_type.endswith("[]"):
        return described(duckdb_type[:-2]) + "[]"
    return {"TEXT": "VARCHAR", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}.get(
        duckdb_type, duckdb_type
    )


def is_list(duckdb_type: str | None) -> bool:
    return duckdb_type is not None and duckdb_type.endswith("[]")


def item_of(duckdb_type: str | None) -> str | None:
    """The type of a list's items; None when it is not known."""
    return duckdb_type[:-2] if is_list(duckdb_type) else None
