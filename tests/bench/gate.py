"""What a run of the gate costs: three messages, six drafts, three locks, one delivery."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any


def a_run(lab: Any) -> Callable[[], Awaitable[object]]:
    """One offline run of the shift, with another seed each time."""
    seeds = itertools.count()

    async def run() -> object:
        return await lab.gate.run(next(seeds), stand_in=True)

    return run
