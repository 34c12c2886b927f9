"""What DuckDB says went wrong -> what Spanner would say."""

from __future__ import annotations

import re
from collections.abc import Callable

import duckdb

from lab_helpers.sandbox.spanner import physical
from lab_helpers.sandbox.spanner.codec import key_text
from lab_helpers.sandbox.spanner.errors import (
    SpannerError,
    aborted,
    already_exists,
    failed_precondition,
    first_line,
    invalid,
    out_of_range,
    storage_failed,
)
from lab_helpers.sandbox.spanner.schema import Schema, Table

# The CHECK constraints of a table as DuckDB words them, in the order of physical.check_expressions.
CheckTexts = Callable[[str], list[str]]

_DUPLICATE = re.compile(r'[Dd]uplicate key "(?P<key>.*)"', re.DOTALL)
_NOT_NULL = re.compile(r"NOT NULL constraint failed: (?P<table>.+)\.(?P<column>[^.\n]+)")
_CHECK = re.compile(r"on table (?P<table>.+?) with expression (?P<text>CHECK.*)", re.DOTALL)
_NO_TABLE = re.compile(r"Table with name (\S+) does not exist")
_NO_COLUMN = re.compile(r'(?:Referenced column|column named) "([^"]+)"')
_NO_FUNCTION = re.compile(r"Function with name (\S+) does not exist")

_STORAGE = (
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.FatalException,
)


# A commit that could not reach the disk comes as an error of the transaction.
_NOT_WRITTEN = re.compile(r"Could not (write|sync|truncate)|No space left|IO Error")


def needs_reopening(error: duckdb.Error) -> bool:
    """True after errors that leave DuckDB at odds with its file."""
    fatal = (duckdb.FatalException, duckdb.InternalException, duckdb.IOException)
    return isinstance(error, fatal) or _NOT_WRITTEN.search(str(error)) is not None


def explain(
    error: duckdb.Error, schema: Schema, table: Table | None, check_texts: CheckTexts
) -> SpannerError:
    """The status to answer with. `table` is the one being written, where there is one."""
    text = str(error)
    if isinstance(error, duckdb.ConstraintException) and table is not None:
        return _constraint(text, schema, table, check_texts)
    if isinstance(error, _STORAGE) or _NOT_WRITTEN.search(text):
        return storage_failed(error)
    for classes, respond in _RESPONSES:
        if isinstance(error, classes):
            return respond(text)
    return invalid(first_line(text))


def _aborted(text: str) -> SpannerError:
    return aborted(f"Transaction was aborted: {first_line(text)}")


def _catalog(text: str) -> SpannerError:
    if found := _NO_TABLE.search(text):
        return invalid(f"Table not found: {found[1]}")
    if found := _NO_FUNCTION.search(text):
        return invalid(f"Function not found in the local Spanner sandbox: {found[1].upper()}")
    return invalid(first_line(text))


def _binder(text: str) -> SpannerError:
    if found := _NO_COLUMN.search(text):
        return invalid(f"Unrecognized name: {found[1]}")
    return invalid(first_line(text).removeprefix("Binder Error: "))


def _out_of_range(text: str) -> SpannerError:
    return out_of_range(first_line(text).split(": ", 1)[-1])


_RESPONSES: tuple[tuple[type | tuple[type, ...], Callable[[str], SpannerError]], ...] = (
    (duckdb.TransactionException, _aborted),
    (duckdb.CatalogException, _catalog),
    (duckdb.BinderException, _binder),
    (
        (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException),
        _out_of_range,
    ),
    (duckdb.ConstraintException, lambda text: failed_precondition(first_line(text))),
)


# ---------------------------------------------------------------- constraints


def _constraint(text: str, schema: Schema, table: Table, check_texts: CheckTexts) -> SpannerError:
    if found := _DUPLICATE.search(text):
        return _duplicate(found["key"], schema, table)
    if found := _NOT_NULL.search(text):
        column = f"{table.name}.{found['column']}"
        return failed_precondition(
            f"Cannot specify a null value for column: {column} in table: {table.name}"
        )
    if found := _CHECK.search(text):
        return _check(found["text"], table, check_texts)
    return failed_precondition(first_line(text))


def _duplicate(key: str, schema: Schema, table: Table) -> SpannerError:
    columns, values = _split_key(key, table)
    if {name.lower() for name in columns} == table.key_set:
        return already_exists(f"Table {table.name}: Row {key_text(values)} already exists.")
    for index in schema.indexes.values():
        names = {part.column.lower() for part in index.key}
        if index.unique and names == {name.lower() for name in columns}:
            return already_exists(
                f"UNIQUE violation on index {index.name},  duplicate key: {key_text(values)} in "
                "this transaction."
            )
    return already_exists(f"Table {table.name}: a row with {key} already exists.")


def _split_key(key: str, table: Table) -> tuple[list[str], list[object]]:
    """DuckDB's 'id: 1, name: a' -> names and values, numbers where the columns are numbers."""
    starts = []
    for column in table.columns:
        pattern = rf"(?:^|, ){re.escape(column.name)}: "
        if found := re.search(pattern, key, re.IGNORECASE):
            starts.append((found.start(), found.end(), column))
    starts.sort(key=lambda start: start[0])
    names, values = [], []
    for place, (_, begin, column) in enumerate(starts):
        end = starts[place + 1][0] if place + 1 < len(starts) else len(key)
        names.append(column.name)
        value = key[begin:end]
        values.append(int(value) if column.type.code == "INT64" and _is_int(value) else value)
    return names, values


def _is_int(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _check(text: str, table: Table, check_texts: CheckTexts) -> SpannerError:
    texts = [known.strip() for known in check_texts(table.name)]
    sized = physical.sized_columns(table)
    place = texts.index(text.strip()) if text.strip() in texts else -1
    if 0 <= place < len(sized):
        column = sized[place]
        return failed_precondition(
            f"New value exceeds the maximum size limit for this column: {table.name}."
            f"{column.name}, limit: {column.type.size}."
        )
    check = table.checks[place - len(sized)].name if place >= 0 else text
    return out_of_range(f"Check constraint `{table.name}`.`{check}` is violated")
