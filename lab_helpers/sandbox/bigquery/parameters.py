"""BigQuery query parameters as DuckDB ones.

A value travels as text with its BigQuery type beside it. It stays text until DuckDB casts it, so
the type DuckDB sees, and the column type BigQuery answers, is the declared one, also for NULL.
"""

import base64
from dataclasses import dataclass
from typing import Any

from bqemulator.domain.errors import InvalidQueryError
from sqlglot import exp

_DUCKDB_TYPES = {
    "BOOL": "BOOLEAN",
    "BOOLEAN": "BOOLEAN",
    "INT64": "BIGINT",
    "INTEGER": "BIGINT",
    "FLOAT64": "DOUBLE",
    "FLOAT": "DOUBLE",
    "NUMERIC": "DECIMAL(38, 9)",
    "BIGNUMERIC": "DECIMAL(38, 18)",
    "STRING": "VARCHAR",
    "BYTES": "BLOB",
    "DATE": "DATE",
    "TIME": "TIME",
    "DATETIME": "TIMESTAMP",
    "TIMESTAMP": "TIMESTAMPTZ",
    "JSON": "JSON",
}


@dataclass(frozen=True)
class Bound:
    """A tree whose parameters are DuckDB's, and their values by name."""

    tree: exp.Expression
    values: dict[str, Any]


def bind(tree: exp.Expression, parameters: list[dict[str, Any]]) -> Bound:
    """Give every @name in `tree` its value.

    `parameters` is the REST API's list of QueryParameter. Raises InvalidQueryError when a name has
    no value or a type the sandbox does not know. The tree given is changed.
    """
    known = {str(p.get("name", "")).lower(): p for p in parameters}
    values: dict[str, Any] = {}

    def bound(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Parameter):
            return node
        name = node.name.lower()
        if name not in known:
            raise InvalidQueryError(f"Query parameter '{node.name}' not found", location="query")
        kind = known[name].get("parameterType", {})
        values[name] = _value(kind, known[name].get("parameterValue", {}))
        return exp.cast(exp.Placeholder(this=name), _duckdb_type(kind), dialect="duckdb")

    return Bound(tree.transform(bound, copy=False), values)


def _duckdb_type(kind: dict[str, Any]) -> str:
    name = str(kind.get("type", "")).upper()
    if name == "ARRAY":
        return f"{_duckdb_type(kind['arrayType'])}[]"
    if name == "STRUCT":
        fields = (
            f"{exp.to_identifier(f['name'], quoted=True).sql('duckdb')} {_duckdb_type(f['type'])}"
            for f in kind["structTypes"]
        )
        return f"STRUCT({', '.join(fields)})"
    if name not in _DUCKDB_TYPES:
        raise InvalidQueryError(
            f"The local BigQuery takes no query parameter of type {name or 'unknown'}",
            location="query",
        )
    return _DUCKDB_TYPES[name]


def _value(kind: dict[str, Any], given: dict[str, Any]) -> Any:
    """The text DuckDB will cast; bytes for BYTES; lists and dictionaries of these."""
    name = str(kind.get("type", "")).upper()
    if name == "ARRAY":
        return [_value(kind["arrayType"], item) for item in given.get("arrayValues", [])]
    if name == "STRUCT":
        fields = given.get("structValues", {})
        return {
            f["name"]: _value(f["type"], fields.get(f["name"], {})) for f in kind["structTypes"]
        }
    text = given.get("value")
    if text is None:
        return None
    return base64.b64decode(text) if name == "BYTES" else str(text)
