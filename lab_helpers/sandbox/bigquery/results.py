"""Running DuckDB SQL and describing its columns as BigQuery does."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from bqemulator.api.dependencies import AppContext
from bqemulator.jobs.error_mapper import translate_runtime_error

Field = dict[str, Any]

# By DuckDB's name for a type; what is absent here travels as a STRING.
_REST_TYPES = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "INTEGER",
    "SMALLINT": "INTEGER",
    "INTEGER": "INTEGER",
    "BIGINT": "INTEGER",
    "HUGEINT": "INTEGER",
    "UTINYINT": "INTEGER",
    "USMALLINT": "INTEGER",
    "UINTEGER": "INTEGER",
    "UBIGINT": "INTEGER",
    "UHUGEINT": "INTEGER",
    "FLOAT": "FLOAT",
    "DOUBLE": "FLOAT",
    "BLOB": "BYTES",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIMESTAMP": "DATETIME",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "JSON": "JSON",
    "INTERVAL": "INTERVAL",
    "GEOMETRY": "GEOGRAPHY",
}
_NUMERIC_SCALE = 9


@dataclass(frozen=True)
class Result:
    """Rows, and the schema BigQuery's REST API gives them."""

    rows: pa.Table
    fields: list[Field]


def run(context: AppContext, sql: str, values: dict[str, Any]) -> Result:
    """Run one DuckDB statement; raises bqemulator's DomainError with BigQuery's reason."""
    try:
        cursor = context.engine.connection.execute(sql, values)
        described = cursor.description
        return Result(cursor.to_arrow_table(), rest_fields(described))
    except Exception as error:
        raise translate_runtime_error(error, duckdb_sql=sql) from error


def rest_fields(described: Iterable[tuple[Any, ...]]) -> list[Field]:
    """The REST schema of a DuckDB cursor's description."""
    return [_field(name, kind) for name, kind, *_ in described]


def _field(name: str, kind: Any) -> Field:
    mode = "NULLABLE"
    if kind.id in ("list", "array"):
        mode, kind = "REPEATED", kind.children[0][1]
    field = {"name": name, "type": _rest_type(kind), "mode": mode}
    if kind.id == "struct":
        field["fields"] = [_field(*child) for child in kind.children]
    return field


def _rest_type(kind: Any) -> str:
    if kind.id == "struct":
        return "RECORD"
    if kind.id == "decimal":
        scale = dict(kind.children)["scale"]
        return "NUMERIC" if scale <= _NUMERIC_SCALE else "BIGNUMERIC"
    return _REST_TYPES.get(str(kind), "STRING")
