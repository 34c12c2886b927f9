"""How a table lies in DuckDB: its CREATE statements, and rebuilding it after a change.

Foreign keys and interleaving are checked by `constraints`; DuckDB keeps keys, NOT NULL, sizes and
CHECK. Only unique indexes exist in DuckDB: scans are fast enough for the rest.
"""

from __future__ import annotations

import duckdb

from lab_helpers.sandbox.spanner import translate
from lab_helpers.sandbox.spanner.schema import Column, Index, Schema, Table, quote, quoted


def create_table(table: Table, name: str | None = None) -> str:
    """The CREATE TABLE of a table, under another name where one is given."""
    parts = [_column(column) for column in table.columns]
    parts += [f"CHECK ({rule})" for rule in check_expressions(table)]
    if table.key:
        parts.append(f"PRIMARY KEY ({quoted(table.key_columns)})")
    return f"CREATE TABLE {quote(name or table.name)} ({', '.join(parts)})"


def check_expressions(table: Table) -> list[str]:
    """Sizes first, then the CHECKs, in the order in which DuckDB keeps (and names) them."""
    sizes = [_size_rule(column) for column in sized_columns(table)]
    return sizes + [translate.expression(check.expression) for check in table.checks]


def sized_columns(table: Table) -> list[Column]:
    return [column for column in table.columns if column.type.size is not None]


def _size_rule(column: Column) -> str:
    measure = "octet_length" if column.type.code == "BYTES" else "length"
    name, limit = quote(column.name), column.type.size
    if column.type.array:
        return f"len(list_filter({name}, item -> {measure}(item) > {limit})) = 0"
    return f"{measure}({name}) <= {limit}"


def _column(column: Column) -> str:
    text = f"{quote(column.name)} {column.type.duckdb}"
    if column.generated is not None:
        return text + f" GENERATED ALWAYS AS ({translate.expression(column.generated)})"
    text += " NOT NULL" if column.not_null else ""
    if column.default is not None:
        text += f" DEFAULT ({translate.expression(column.default)})"
    return text


def create_unique_index(index: Index) -> str:
    columns = quoted([part.column for part in index.key])
    return f"CREATE UNIQUE INDEX {quote(index.name)} ON {quote(index.table)} ({columns})"


def rebuild(connection: duckdb.DuckDBPyConnection, old: Table, new: Table, schema: Schema) -> None:
    """Moves the rows of `old` into the shape of `new`. DuckDB cannot alter a table with indexes."""
    shadow = f"{new.name}~rebuilt"
    connection.execute(create_table(new, shadow))
    kept = [c for c in new.columns if c.generated is None and c.name.lower() in old.by_name]
    names = quoted([column.name for column in kept])
    values = ", ".join(f"CAST({quote(c.name)} AS {c.type.duckdb})" for c in kept)
    connection.execute(
        f"INSERT INTO {quote(shadow)} ({names}) SELECT {values} FROM {quote(old.name)}"
    )
    connection.execute(f"DROP TABLE {quote(old.name)}")
    connection.execute(f"ALTER TABLE {quote(shadow)} RENAME TO {quote(new.name)}")
    for index in schema.indexes.values():
        if index.unique and index.table.lower() == new.name.lower():
            connection.execute(create_unique_index(index))
