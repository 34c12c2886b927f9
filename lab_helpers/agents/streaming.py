"""Work that tells its steps while it runs, and is finished also when nobody listens any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from lab_helpers.agents.trace import StepEvent

R = TypeVar("R")
Tell = Callable[[StepEvent], None]


async def told(
    work: Callable[[Tell], Awaitable[R]], running: set[asyncio.Task[Any]]
) -> AsyncIterator[StepEvent | R]:
    """The events that `work` tells, as they come, and at the end its result.

    `running` holds the task until it is done: a loop keeps only weak references, and a listener
    may leave before.
    """
    events: asyncio.Queue[StepEvent | None] = asyncio.Queue()

    async def run() -> R:
        try:
            return await work(events.put_nowait)
        finally:
            events.put_nowait(None)

    task = asyncio.ensure_future(run())
    running.add(task)
    task.add_done_callback(running.discard)
    while (event := await events.get()) is not None:
        yield event
    yield await task
