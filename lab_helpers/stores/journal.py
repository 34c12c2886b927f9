"""What a kernel would still owe the trail if it died now: a file of this machine, per process.

A turn that writes nothing to Spanner has no outbox entry, so a kernel that is killed in the middle
of one would take its trail along. Each process therefore notes, before a turn and after each of
its steps, the rows that would have to be delivered should the process end there. The operating
system holds the file's lock while the process lives: a lock that can be had means a dead one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has no such lock: a killed kernel's turn leaves no trail there.
    fcntl = None  # type: ignore[assignment]

FOLDER = "journal"
SUFFIX = ".jsonl"


class Journal:
    """Notes of this process under `home`, and what dead processes have left there.

    Nothing here raises for a disk that is full or gone: a turn comes before its note.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER
        self._file: IO[bytes] | None = None
        self._open: set[str] = set()
        self._guard = threading.Lock()

    def keep(self, trace_id: str, payload: str) -> None:
        """From now on `payload` is what is owed of this turn; it takes the place of the last."""
        self._write(trace_id, payload)

    def done(self, trace_id: str) -> None:
        """The turn's trail is in BigQuery or in the outbox: nothing is owed."""
        self._write(trace_id, None)

    @contextlib.contextmanager
    def inherited(self) -> Iterator[dict[str, str]]:
        """Trace id to payload of what processes that are dead still owe.

        Nobody else gets them meanwhile; where the block ends without an error they are forgotten.
        """
        with contextlib.ExitStack() as held:
            files = [f for f in map(_taken, self._others()) if f is not None]
            for file in files:
                held.callback(file.close)
            yield {t: p for file in files for t, p in _owed(file.read()).items()}
            for file in files:
                with contextlib.suppress(OSError):
                    os.unlink(file.name)

    def _others(self) -> list[Path]:
        return sorted(self._folder.glob("*" + SUFFIX)) if fcntl else []

    def _write(self, trace_id: str, payload: str | None) -> None:
        if fcntl is None:
            return
        with self._guard, contextlib.suppress(OSError):
            if self._file is None:
                self._file = self._created()
            if payload is None:
                self._open.discard(trace_id)
            else:
                self._open.add(trace_id)
            if self._open:
                line = json.dumps([trace_id, payload], ensure_ascii=False)
                os.write(self._file.fileno(), line.encode() + b"\n")
            else:
                os.ftruncate(self._file.fileno(), 0)

    def _created(self) -> IO[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        file = open(path, "ab")  # noqa: SIM115 - the lock lives as long as the file is open
        fcntl.flock(file, fcntl.LOCK_EX)
        # Only a locked file gets the name that others look for.
        os.rename(path, path.with_suffix(SUFFIX))
        atexit.register(self._leave, path.with_suffix(SUFFIX))
        return file

    def _leave(self, path: Path) -> None:
        with self._guard, contextlib.suppress(OSError):
            if not self._open:
                path.unlink()


def _taken(path: Path) -> IO[bytes] | None:
    """The file, locked; None where its process lives or another has just taken it."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except OSError:
        file.close()
        return None


def _owed(text: bytes) -> dict[str, str]:
    owed: dict[str, str] = {}
    for line in text.splitlines():
        try:
            trace_id, payload = json.loads(line)
        except ValueError:
            continue  # the disk was full in the middle of it
        owed.pop(trace_id, None)
        if payload is not None:
            owed[trace_id] = payload
    return owed


@functools.cache
def journal(home: Path) -> Journal:
    """This process's journal of that lab home."""
    return Journal(home)
