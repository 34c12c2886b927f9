"""Bounds for a store that does not answer, and bringing a killed one back.

The Spanner client restarts a broken read for ever as long as the failure is ServiceUnavailable;
a retry of ours with an end turns it into RetryError, which it lets through. BigQuery's default is
ten minutes, longer than anyone in a lab waits.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from google.api_core.exceptions import ServiceUnavailable
from google.api_core.retry import Retry, if_exception_type

T = TypeVar("T")
Revive = Callable[[], object]

GIVE_UP_S = 10.0
CALL_LIMIT_S = 60.0
REVIVE_AFTER_S = 1.0

READ: dict[str, Any] = {
    "retry": Retry(
        predicate=if_exception_type(ServiceUnavailable),
        initial=0.1,
        maximum=0.5,
        timeout=GIVE_UP_S,
    ),
    "timeout": CALL_LIMIT_S,
}


def bounded(database: Any) -> Any:
    """The same Spanner database, with an end to how long what takes no `READ` is retried.

    The client by itself repeats a commit for an hour, and a customer waits for its answer.
    """
    api = database.spanner_api
    for name in ("create_session", "begin_transaction", "commit"):
        setattr(api, name, functools.partial(getattr(api, name), **READ))
    return database


def supervised(work: Callable[[], T], revive: Revive | None) -> T:
    """Run `work`; where it takes longer than a second, see to it that the store is there.

    `revive` does nothing to a store that lives. It is None in the cloud, where nobody here can.
    """
    if revive is None:
        return work()
    timer = threading.Timer(REVIVE_AFTER_S, _quietly, (revive,))
    timer.daemon = True
    timer.start()
    try:
        return work()
    finally:
        timer.cancel()


def _quietly(revive: Revive) -> None:
    try:
        revive()
    except Exception:
        # `work` gives up by itself and says why.
        return
