"""tabledata.insertAll for a few rows of plain columns, as one INSERT.

bqemulator makes an Arrow table of them, registers it, copies from it and drops it again, behind a
web framework and a count of the table's rows: five milliseconds for one row, and a turn of the lab
writes four times. What is not plain takes that way, and so does everything that would be an error.
"""

import json
import re
from typing import Any

import duckdb
import pyarrow as pa
from bqemulator.api.dependencies import AppContext
from bqemulator.catalog.models import TableMeta
from bqemulator.storage.arrow_bridge import bq_rows_to_arrow
from bqemulator.storage.sql_identifiers import quoted_table_ref

_PATH = re.compile(r"/bigquery/v2/projects/([^/]+)/datasets/([^/]+)/tables/([^/]+)/insertAll")
_PLAIN_TYPES = {
    "STRING": pa.string(),
    "INTEGER": pa.int64(),
    "INT64": pa.int64(),
    "FLOAT": pa.float64(),
    "FLOAT64": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "BOOL": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}
_MOST_ROWS = 50
_DONE = {"kind": "bigquery#tableDataInsertAllResponse", "insertErrors": []}


class Inserts:
    """Knows bqemulator's tables; one call at a time, as for the rest of it."""

    def __init__(self, context: AppContext) -> None:
        self._context = context

    async def answer(self, method: str, path: str, body: bytes) -> dict[str, Any] | None:
        """The reply, after the rows are stored; None where bqemulator has to do it."""
        named = _PATH.fullmatch(path) if method == "POST" else None
        if named is None:
            return None
        table = self._context.catalog.get_table(*named.groups())
        try:
            rows = json.loads(body)["rows"]
            schema = _plain_schema(table) if table and 0 < len(rows) <= _MOST_ROWS else None
            if schema is None:
                return None
            values = bq_rows_to_arrow(rows, schema).to_pylist()
            async with self._context.engine.write_lock():
                self._insert(named.groups(), schema.names, values)
        except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException, duckdb.Error):
            return None
        # Stored: from here on nothing may send the rows bqemulator's way as well.
        self._context.snapshots.record_change(*named.groups())
        return _DONE

    def _insert(
        self, table: tuple[str, ...], names: list[str], values: list[dict[str, Any]]
    ) -> None:
        columns = ", ".join(f'"{name}"' for name in names)
        row = f"({', '.join('?' * len(names))})"
        self._context.engine.execute(
            f"INSERT INTO {quoted_table_ref(*table)} ({columns}) VALUES "
            + ", ".join([row] * len(values)),
            [value[name] for value in values for name in names],
        )


def _plain_schema(table: TableMeta) -> pa.Schema | None:
    """The table's columns; None where one of them is not plain."""
    fields = table.schema_.fields
    if table.table_type != "TABLE" or not fields:
        return None
    if any(f.mode == "REPEATED" or f.type.upper() not in _PLAIN_TYPES for f in fields):
        return None
    return pa.schema([(f.name, _PLAIN_TYPES[f.type.upper()]) for f in fields])
