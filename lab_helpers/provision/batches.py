"""Rows into Spanner, in commits it takes, tried again where it stumbles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.api_core.exceptions import (
    Aborted,
    DeadlineExceeded,
    InternalServerError,
    ResourceExhausted,
    ServiceUnavailable,
)
from google.api_core.retry import Retry, if_exception_type

# A commit takes 80,000 mutations: rows times columns, and the indexes on them.
BATCH_ROWS = 2_500
# A batch says insert-or-update: sent twice, it is the same rows.
_PATIENTLY = Retry(
    predicate=if_exception_type(
        Aborted, DeadlineExceeded, InternalServerError, ResourceExhausted, ServiceUnavailable
    ),
    initial=0.5,
    maximum=10.0,
    timeout=180.0,
)


def write(
    database: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert or update rows. Raises the service's error after three minutes of trying."""
    for start in range(0, len(rows), BATCH_ROWS):
        _commit(database, table, columns, rows[start : start + BATCH_ROWS])


@_PATIENTLY
def _commit(database: Any, table: str, columns: Sequence[str], rows: Sequence[Any]) -> None:
    with database.batch() as batch:
        batch.insert_or_update(table, columns, rows)
