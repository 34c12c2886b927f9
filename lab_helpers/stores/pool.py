"""Spanner: the gate's pool, where items wait that had to leave the handler's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.cloud.spanner_v1 import KeySet
from google.cloud.spanner_v1 import param_types as pt

_COLUMNS = ("run_id", "item_id", "body", "why", "evicted_at")


class PoolStore:
    """The pools of all runs in one Spanner database; a run sees its own."""

    def __init__(self, database: Any) -> None:
        self.database = database

    def held(self, run_id: str) -> dict[str, str]:
        """Item id to the item's text form, by id."""
        with self.database.snapshot() as snapshot:
            rows = snapshot.execute_sql(
                "SELECT item_id, body FROM gate_pool WHERE run_id = @run_id ORDER BY item_id",
                params={"run_id": run_id},
                param_types={"run_id": pt.STRING},
            )
            return {row[0]: row[1] for row in rows}

    def move(self, run_id: str, into: Mapping[str, tuple[str, str]], out_of: Iterable[str]) -> None:
        """Put items in (id to text form and why) and take items out, in one commit."""
        gone = [[run_id, item_id] for item_id in out_of]
        rows = [
            (run_id, item_id, body, why, "spanner.commit_timestamp()")
            for item_id, (body, why) in into.items()
        ]
        if not rows and not gone:
            return
        with self.database.batch() as batch:
            if gone:
                batch.delete("gate_pool", KeySet(keys=gone))
            if rows:
                batch.insert_or_update("gate_pool", _COLUMNS, rows)
