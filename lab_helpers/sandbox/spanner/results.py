"""Outcomes -> ResultSet and PartialResultSet messages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud import spanner_v1

from lab_helpers.sandbox.spanner.codec import encoder
from lab_helpers.sandbox.spanner.statements import Field, Row
from lab_helpers.sandbox.spanner.transactions import Mode, Transaction

ResultSet = spanner_v1.ResultSet.pb()
ResultSetMetadata = spanner_v1.ResultSetMetadata.pb()
PartialResultSet = spanner_v1.PartialResultSet.pb()
TransactionMessage = spanner_v1.Transaction.pb()

# Clients accept 4 MB a message unless told otherwise.
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Result:
    """Rows in batches; `begun` is the transaction that the request opened, if it did."""

    fields: tuple[Field, ...]
    batches: Iterable[list[Row]]
    count: int | None = None
    count_is_lower_bound: bool = False
    begun: Transaction | None = None
    read_time: dt.datetime | None = None


def transaction(begun: Transaction) -> Any:
    message = TransactionMessage(id=begun.id.encode())
    if begun.mode is Mode.READ_ONLY:
        _set_time(message, begun.begun_at)
    return message


def whole(result: Result) -> Any:
    """Everything in one message."""
    message = ResultSet(metadata=_metadata(result))
    encoders = [encoder(field.type) for field in result.fields]
    for batch in result.batches:
        for row in batch:
            values = message.rows.add().values
            for value, encode in zip(row, encoders, strict=True):
                encode(value, values.add())
    _add_count(result, message)
    return message


def stream(result: Result) -> Iterator[Any]:
    """Messages of about CHUNK_BYTES. A longer text is cut into pieces that the client joins."""
    encoders = [encoder(field.type) for field in result.fields]
    message, size = PartialResultSet(metadata=_metadata(result)), 0
    for batch in result.batches:
        for row in batch:
            for value, encode in zip(row, encoders, strict=True):
                encoded = message.values.add()
                encode(value, encoded)
                size += encoded.ByteSize()
                while size > CHUNK_BYTES:
                    rest = _cut(message, size)
                    yield message
                    message, size = PartialResultSet(), 0
                    if rest is not None:
                        message.values.add(string_value=rest)
                        size = len(rest)
    _add_count(result, message)
    message.last = True
    yield message


def _cut(message: Any, size: int) -> str | None:
    """Takes from the last value what is too much for the message, where it is one long text."""
    last = message.values[-1]
    if last.WhichOneof("kind") != "string_value" or len(last.string_value) <= CHUNK_BYTES:
        return None
    text = last.string_value
    last.string_value = text[:CHUNK_BYTES]
    message.chunked_value = True
    return text[CHUNK_BYTES:]


def _metadata(result: Result) -> Any:
    metadata = ResultSetMetadata()
    metadata.row_type.SetInParent()
    for field in result.fields:
        metadata.row_type.fields.add(name=field.name).type_.CopyFrom(field.type)
    if result.begun is not None:
        metadata.transaction.CopyFrom(transaction(result.begun))
    elif result.read_time is not None:
        _set_time(metadata.transaction, result.read_time)
    return metadata


def _set_time(message: Any, moment: dt.datetime) -> None:
    message.read_timestamp.FromDatetime(moment.astimezone(dt.UTC).replace(tzinfo=None))


def _add_count(result: Result, message: Any) -> None:
    if result.count is not None:
        kind = "row_count_lower_bound" if result.count_is_lower_bound else "row_count_exact"
        setattr(message.stats, kind, result.count)
