"""Sessions. Their names carry all there is to know, so nothing is stored and a restart loses none.

projects/p/instances/i/databases/d/sessions/<incarnation>-<kind>-<created>-<number>
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
import secrets
import threading
from collections import OrderedDict
from typing import Any

from google.cloud.spanner_v1 import Session as ProtoPlusSession

from lab_helpers.sandbox.spanner.errors import session_not_found
from lab_helpers.sandbox.spanner.instances import Instances

Session = ProtoPlusSession.pb()

_NAME = re.compile(
    r"(?P<database>.+)/sessions/(?P<incarnation>[0-9a-f]+)-(?P<kind>[rm])-(?P<created>[0-9a-f]+)-.+"
)
_DELETED_REMEMBERED = 10_000


class Sessions:
    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._guard = threading.Lock()
        self._numbers = itertools.count(1)
        self._boot = secrets.token_hex(3)
        self._deleted: OrderedDict[str, None] = OrderedDict()

    def create(self, database: str, *, multiplexed: bool) -> Any:
        """A new Session of the database. Raises NOT_FOUND where there is none."""
        incarnation = self._instances.incarnation(database)
        kind = "m" if multiplexed else "r"
        created = int(dt.datetime.now(dt.UTC).timestamp())
        with self._guard:
            number = f"{self._boot}{next(self._numbers):x}"
        return self._describe(f"{database}/sessions/{incarnation}-{kind}-{created:x}-{number}")

    def get(self, name: str) -> Any:
        self.database(name)
        return self._describe(name)

    def database(self, name: str) -> str:
        """The database of a session. Raises NOT_FOUND for one deleted, foreign or made up."""
        found = _NAME.fullmatch(name)
        if found is None or name in self._deleted:
            raise session_not_found(name)
        database = found["database"]
        if self._instances.incarnation(database) != found["incarnation"]:
            raise session_not_found(name)
        return database

    def delete(self, name: str) -> None:
        with self._guard:
            self._deleted[name] = None
            while len(self._deleted) > _DELETED_REMEMBERED:
                self._deleted.popitem(last=False)

    def _describe(self, name: str) -> Any:
        found = _NAME.fullmatch(name)
        assert found is not None  # made above, or checked by `database`
        session = Session(name=name, multiplexed=found["kind"] == "m")
        session.create_time.FromSeconds(int(found["created"], 16))
        session.approximate_last_use_time.GetCurrentTime()
        return session


def is_multiplexed(name: str) -> bool:
    found = _NAME.fullmatch(name)
    return found is not None and found["kind"] == "m"
