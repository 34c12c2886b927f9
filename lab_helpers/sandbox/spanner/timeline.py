"""Time in one database: a clock that never repeats itself, and a count of the changes made."""

from __future__ import annotations

import datetime as dt
import threading

_TICK = dt.timedelta(microseconds=1)


class Timeline:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._last = dt.datetime.min.replace(tzinfo=dt.UTC)
        self._changes = 0

    def now(self) -> dt.datetime:
        """The time in UTC, later than every time handed out before."""
        with self._guard:
            self._last = max(dt.datetime.now(dt.UTC), self._last + _TICK)
            return self._last

    @property
    def changes(self) -> int:
        """Grows after each commit. A snapshot taken after reading it has at least those changes."""
        return self._changes

    def changed(self) -> None:
        """Called by the holder of the writer lock, after its commit."""
        self._changes += 1
