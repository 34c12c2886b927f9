"""BigQuery: the trail. Writes a turn's rows, reads them back, delivers what an outage left.

A row's key is also its insert id; a retry may still store a row twice, so every reader here and
in data/gql/lineage counts or selects distinct keys.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from google.api_core.exceptions import BadRequest, Forbidden, GoogleAPICallError, NotFound
from google.cloud import bigquery

from lab_helpers.errors import scrubbed
from lab_helpers.stores import schema
from lab_helpers.stores.outage import CALL_LIMIT_S, GIVE_UP_S, Revive, supervised

# Table to key column, in the order a walk of the graph meets them.
TABLES = {
    "agent_sessions": "trace_id",
    "workflow_nodes": "node_exec_id",
    "policy_evaluations": "eval_id",
    "agent_actions": "action_id",
}
# When each row was written. A row that was streamed is not deleted before it has settled.
MOMENTS = {
    "agent_sessions": "started_at",
    "workflow_nodes": "executed_at",
    "policy_evaluations": "evaluated_at",
    "agent_actions": "created_at",
}
SETTLED_MINUTES = 90
PATIENCE = bigquery.DEFAULT_RETRY.with_timeout(GIVE_UP_S)
ATTEMPTS = 3
FIRST_PAUSE_S = 0.1
INSERT_TIMEOUT_S = 10.0
# Turns whose rows travel in one request a table. Google advises at most 500 rows a request.
MOST_TOGETHER = 10

Rows = dict[str, list[dict[str, Any]]]


class DeliveryFailed(Exception):
    """BigQuery did not take every row; `left` holds those it did not."""

    def __init__(self, left: Rows, cause: str) -> None:
        super().__init__(cause)
        self.left = left


@dataclass(eq=False)
class _Parcel:
    """One turn's rows on their way; `left` is what the first attempt did not get in."""

    rows: Rows
    left: Rows
    cause: str = "the delivery was broken off"
    sent: bool = False


class Plain(Protocol):
    """What turns a query of the trail into SQL without a graph, or without its older turns."""

    def __call__(self, text: str, dataset: str, since: dt.datetime | None) -> str | None: ...


class LineageStore:
    """The four tables and the graph over them in one dataset. `client` is a BigQuery client.

    Where the service refuses a graph query, `plain` is asked for the same question as SQL;
    `plain_because` then holds what the service said. Turns before `since` are not shown.
    """

    def __init__(
        self,
        client: bigquery.Client,
        dataset: str,
        pause: Callable[[float], None] = time.sleep,
        revive: Revive | None = None,
        plain: Plain | None = None,
    ) -> None:
        self.client, self.dataset, self._pause, self._revive = client, dataset, pause, revive
        self._plain = plain
        self.plain_because: str | None = None
        self.since: dt.datetime | None = None
        self._waiting, self._sending = deque[_Parcel](), threading.Lock()

    def write(self, rows: Rows) -> None:
        """Insert a turn's rows: three attempts with doubling pauses; only what failed is resent.

        Turns that end while another's rows are on their way travel together at the first attempt.
        What it leaves is resent alone: a row that stops a whole request costs no other turn.
        Raises DeliveryFailed with the rows BigQuery did not take.
        """
        if not any(rows.values()):
            return
        left, cause = self._with_others(rows)
        for attempt in range(1, ATTEMPTS):
            if not left:
                return
            self._pause(FIRST_PAUSE_S * 2**attempt)
            left, cause = supervised(lambda rest=left: self._insert(rest), self._revive)
        if left:
            raise DeliveryFailed(left, cause)

    def _with_others(self, rows: Rows) -> tuple[Rows, str]:
        parcel = _Parcel(rows, left=rows)
        self._waiting.append(parcel)
        try:
            with self._sending:
                # Not in the queue and not sent: whoever took it was stopped, so it is all left.
                while not parcel.sent and self._waiting:
                    together = min(MOST_TOGETHER, len(self._waiting))
                    self._send([self._waiting.popleft() for _ in range(together)])
        except BaseException:  # this thread is stopped, and nobody is to send its rows later
            with contextlib.suppress(ValueError):
                self._waiting.remove(parcel)
            raise
        return parcel.left, parcel.cause

    def _send(self, parcels: Sequence[_Parcel]) -> None:
        together = {t: [row for p in parcels for row in p.rows.get(t, [])] for t in TABLES}
        left, cause = supervised(lambda: self._insert(together), self._revive)
        lost = {id(row) for batch in left.values() for row in batch}
        for p in parcels:
            mine = {t: [row for row in batch if id(row) in lost] for t, batch in p.rows.items()}
            p.left = {t: batch for t, batch in mine.items() if batch}
            p.cause, p.sent = cause, True

    def _insert(self, rows: Rows) -> tuple[Rows, str]:
        left: Rows = {}
        cause = ""
        for table in TABLES:
            batch = rows.get(table, [])
            if not batch:
                continue
            try:
                errors = self.client.insert_rows_json(
                    f"{self.client.project}.{self.dataset}.{table}",
                    batch,
                    row_ids=[row[TABLES[table]] for row in batch],
                    # The published lab's tables lack the columns this kit adds.
                    ignore_unknown_values=True,
                    retry=None,
                    timeout=INSERT_TIMEOUT_S,
                )
            except Exception as error:
                # Quota, connection, a missing table: the outbox keeps the rows whatever it was.
                left[table], cause = batch, f"{type(error).__name__}: {scrubbed(str(error))}"
                continue
            bad = sorted({e["index"] for e in errors})
            if bad:
                left[table], cause = [batch[i] for i in bad], scrubbed(str(errors[0]))
        return left, cause

    def missing(self, rows: Rows) -> Rows:
        """Those of `rows` whose keys BigQuery does not hold yet: what a redelivery must send."""
        out: Rows = {}
        for table, batch in rows.items():
            key = TABLES[table]
            have = {
                row[key]
                for row in self.query(
                    f"SELECT DISTINCT {key} FROM `{self.dataset}.{table}`"
                    f" WHERE {key} IN UNNEST(@keys)",
                    {"keys": [row[key] for row in batch]},
                )
            }
            out[table] = [row for row in batch if row[key] not in have]
        return {table: batch for table, batch in out.items() if batch}

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a query as dictionaries; parameters are typed by their values."""
        self.plain_because = None
        if self._plain is None:
            return self._run(sql, params)
        if self.since is not None:
            sql = self._plain(sql, self.dataset, self.since) or sql
        try:
            return self._run(sql, params)
        except (BadRequest, Forbidden, NotFound) as refusal:
            # Only valid GQL has a plain twin: a mistake in the text is still the service's to tell.
            plain = self._plain(sql, self.dataset, None)
            if plain is None:
                raise
            try:
                rows = self._run(plain, params)
            except GoogleAPICallError:
                raise refusal from None
            self.plain_because = said_by(refusal)
            return rows

    def _run(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        config = bigquery.QueryJobConfig(
            query_parameters=[_parameter(k, v) for k, v in (params or {}).items()]
        )

        def run() -> list[dict[str, Any]]:
            rows = self.client.query_and_wait(
                sql, job_config=config, retry=PATIENCE, job_retry=None, wait_timeout=CALL_LIMIT_S
            )
            return [dict(row) for row in rows]

        return supervised(run, self._revive)

    def ask(self, name: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of the query file data/gql/lineage/<name>.gql."""
        return self.query(schema.gql(f"lineage/{name}", self.dataset), params)

    def counts(self, trace_id: str | None = None) -> dict[str, int]:
        """Distinct rows per table, of one turn or of all of them."""
        where = "WHERE trace_id = @trace_id" if trace_id else ""
        sql = " UNION ALL ".join(
            f"SELECT '{table}' AS name, COUNT(DISTINCT {key}) AS n"
            f" FROM `{self.dataset}.{table}` {where}"
            for table, key in TABLES.items()
        )
        found = self.query(sql, {"trace_id": trace_id} if trace_id else None)
        return {table: n for table in TABLES for n in [r["n"] for r in found if r["name"] == table]}

    def clear(self, *, settled_only: bool = False) -> dt.datetime | None:
        """Empty the four tables. The tables stay: a recreated one would swallow new rows.

        BigQuery refuses to delete rows that were streamed in the last minutes, and a table that is
        truncated may swallow those that are streamed next. `settled_only` therefore deletes what is
        older than 90 minutes, leaves the rest for a later reset, and returns the moment before
        which turns are not shown any more (`since`). No trail is lost either way; %%bigquery cells
        ask BigQuery directly and do see what is left.
        """
        if not settled_only:
            for table in TABLES:
                self._run(f"TRUNCATE TABLE `{self.dataset}.{table}`")
            return None
        for table, moment in MOMENTS.items():
            self._run(
                f"DELETE FROM `{self.dataset}.{table}` WHERE {moment} <"
                f" TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {SETTLED_MINUTES} MINUTE)"
            )
        self.since = dt.datetime.now(dt.UTC)
        return self.since


def _parameter(name: str, value: Any) -> Any:
    if isinstance(value, list):
        kind = "INT64" if value and isinstance(value[0], int) else "STRING"
        return bigquery.ArrayQueryParameter(name, kind, value)
    kind = {bool: "BOOL", int: "INT64", float: "FLOAT64"}.get(type(value), "STRING")
    return bigquery.ScalarQueryParameter(name, kind, value)


def said_by(error: GoogleAPICallError) -> str:
    """What BigQuery said, in one line and without the address that was called."""
    listed = error.errors[0] if error.errors else None
    said = listed.get("message") if isinstance(listed, dict) else None
    return scrubbed(str(said or error.message)).splitlines()[0]
