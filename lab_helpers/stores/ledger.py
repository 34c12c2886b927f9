"""Spanner: the gate's ledger. Append-only, each entry holds the hash of the one before.

`append` is one commit that also moves the chain's head: there is never half an entry, and a restart
loses nothing. `check` is pure and names the first entry that is broken.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from google.api_core.exceptions import AlreadyExists
from google.cloud.spanner_v1 import param_types as pt

VERDICT, LOCK = "VERDICT", "LOCK"
HEAD = "gate_head"
GENESIS = "0" * 64
ATTEMPTS = 60
PAUSE_S = 0.03

_COLUMNS = (
    "seq",
    "entry_id",
    "kind",
    "trace_id",
    "draft_id",
    "released",
    "body",
    "written_at",
    "prev_hash",
    "entry_hash",
)
_READ = f"SELECT {', '.join(_COLUMNS)} FROM gate_ledger"


@dataclass(frozen=True)
class Entry:
    """One row of the ledger. `body` is JSON text: what was said and why."""

    seq: int
    entry_id: str
    kind: str
    trace_id: str
    draft_id: str
    released: bool
    body: str
    written_at: str
    prev_hash: str
    entry_hash: str

    def hash(self) -> str:
        """What `entry_hash` must be for this content."""
        content = [value for name, value in asdict(self).items() if name != "entry_hash"]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Chain:
    """What a check of the ledger found. `broken_at` is the first broken entry, or None."""

    entries: int
    locks: int
    unlocked: tuple[str, ...] = ()
    broken_at: int | None = None
    why: str = ""

    @property
    def intact(self) -> bool:
        return not self.why

    def __repr__(self) -> str:
        # No counts: they grow with every run, and saved outputs are compared.
        if self.intact:
            return (
                "The chain is intact: every entry holds the hash of the one before,"
                " and every lock has its release."
            )
        return f"The chain is broken at entry {self.broken_at}: {self.why}."


def check(entries: Sequence[Entry], head: tuple[int, str] | None = None) -> Chain:
    """The chain from its first entry on, and against the head where that is given.

    `unlocked` names the drafts that were released and never locked: a process that died in
    between leaves one, and it locks nothing.
    """
    released: dict[str, bool] = {}
    locked: set[str] = set()

    def found(seq: int | None = None, why: str = "") -> Chain:
        open_drafts = tuple(d for d, opened in released.items() if opened and d not in locked)
        return Chain(len(entries), len(locked), open_drafts, seq, why)

    seq, before = 0, GENESIS
    for entry in entries:
        seq += 1
        if entry.seq != seq:
            return found(seq, f"entry {entry.seq} stands in its place")
        if entry.prev_hash != before:
            return found(seq, "it does not hold the hash of the entry before it")
        if entry.hash() != entry.entry_hash:
            return found(seq, "its hash does not fit its content")
        if entry.kind == LOCK:
            if released.get(entry.draft_id) is not True or entry.released is not True:
                return found(seq, "it locks a draft that was not released")
            locked.add(entry.draft_id)
        else:
            released[entry.draft_id] = entry.released
        before = entry.entry_hash
    if head is not None and head != (seq, before):
        return found(seq + 1, f"the chain ends at entry {seq}, and its head says {head[0]}")
    return found()


class LedgerStore:
    """The ledger in one Spanner database."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self._one_at_a_time = threading.Lock()
        self._known: tuple[int, str] | None = None

    def forget(self) -> None:
        """Read the chain's end anew before the next append; a lab may have been removed."""
        self._known = None

    def append(
        self,
        kind: str,
        *,
        trace_id: str,
        draft_id: str,
        released: bool,
        body: Mapping[str, Any],
        trail: str | None = None,
    ) -> Entry:
        """Write the next entry and, where given, `trail` to lineage_outbox in the same commit.

        Optimistic: the key `seq` is the lock, since only one entry can follow another. A writer
        that was overtaken reads the new end and tries again. The same kind for the same draft is
        written once: a repeated call returns what is there.
        """
        with self._one_at_a_time:
            for attempt in range(ATTEMPTS):
                if attempt:
                    time.sleep(random.uniform(0, PAUSE_S))
                seq, before = self._known or self._read_head()
                plain = Entry(
                    seq=seq + 1,
                    entry_id=f"{kind}:{draft_id}",
                    kind=kind,
                    trace_id=trace_id,
                    draft_id=draft_id,
                    released=released is True,
                    body=json.dumps(body, ensure_ascii=False, sort_keys=True),
                    written_at=dt.datetime.now(dt.UTC).isoformat(),
                    prev_hash=before,
                    entry_hash="",
                )
                entry = replace(plain, entry_hash=plain.hash())
                self._known = None
                try:
                    self._commit(entry, trail)
                except AlreadyExists:
                    # Overtaken, or an earlier commit of this very entry whose answer was lost.
                    there = self.find(kind, draft_id)
                    if there is not None:
                        return there
                    continue
                self._known = (entry.seq, entry.entry_hash)
                return entry
        raise TimeoutError(f"the ledger's end moved {ATTEMPTS} times; nothing was written")

    def _commit(self, entry: Entry, trail: str | None) -> None:
        with self.database.batch() as batch:
            batch.insert("gate_ledger", _COLUMNS, [tuple(asdict(entry).values())])
            batch.insert_or_update(
                "lab_state", ("name", "value"), [(HEAD, f"{entry.seq} {entry.entry_hash}")]
            )
            if trail is not None:
                batch.insert_or_update(
                    "lineage_outbox",
                    ("trace_id", "payload", "status", "created_at", "delivered_at"),
                    [(entry.trace_id, trail, "PENDING", "spanner.commit_timestamp()", None)],
                )

    def entries(self, trace_id: str | None = None) -> list[Entry]:
        """Every entry in order, or those of one trace."""
        with self.database.snapshot() as snapshot:
            if trace_id is None:
                rows = snapshot.execute_sql(f"{_READ} ORDER BY seq")
            else:
                rows = snapshot.execute_sql(
                    f"{_READ} WHERE trace_id = @trace_id ORDER BY seq",
                    params={"trace_id": trace_id},
                    param_types={"trace_id": pt.STRING},
                )
            return [Entry(*row) for row in rows]

    def find(self, kind: str, draft_id: str) -> Entry | None:
        """The entry of this kind for this draft, or None."""
        with self.database.snapshot() as snapshot:
            rows = list(
                snapshot.execute_sql(
                    f"{_READ} WHERE entry_id = @entry_id",
                    params={"entry_id": f"{kind}:{draft_id}"},
                    param_types={"entry_id": pt.STRING},
                )
            )
        return Entry(*rows[0]) if rows else None

    def verify(self) -> Chain:
        """Check the whole chain as it stands in Spanner, head included."""
        with self.database.snapshot(multi_use=True) as snapshot:
            entries = [Entry(*row) for row in snapshot.execute_sql(f"{_READ} ORDER BY seq")]
            head = self._head(snapshot)
        return check(entries, head)

    def _read_head(self) -> tuple[int, str]:
        with self.database.snapshot() as snapshot:
            return self._head(snapshot)

    def _head(self, reader: Any) -> tuple[int, str]:
        rows = list(
            reader.execute_sql(
                "SELECT value FROM lab_state WHERE name = @name",
                params={"name": HEAD},
                param_types={"name": pt.STRING},
            )
        )
        if not rows:
            return 0, GENESIS
        seq, entry_hash = rows[0][0].split(" ")
        return int(seq), entry_hash
