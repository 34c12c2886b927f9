"""A kernel that dies in the middle of a turn: another Python, ended without a word."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab_helpers.config import ROOT
from lab_helpers.errors import LabError

_DEAD = 9
_LIMIT_S = 120


def dies(home: Path, after: int, messages: Sequence[str], persona: str) -> None:
    """Run the turns in a Python of their own until step `after` of the last one has ended."""
    asked = json.dumps({"after": after, "messages": list(messages), "persona": persona})
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "lab_helpers.faults.kernel", asked],
        env={**os.environ, "LAB_HOME": str(home), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
    )
    if done.returncode != _DEAD:
        raise LabError(
            "The other kernel did not die where it was told to.",
            (done.stderr.strip() or f"It ended with {done.returncode}.").splitlines()[-1],
            "A turn has steps 1 to 5; the last message must be a confirmation for step 4 to act.",
        )


async def _run(after: int, messages: Sequence[str], persona: str) -> None:
    from lab_helpers.lab import Lab

    lab = Lab.open(quiet=True)
    *asked, last = messages
    for message in asked:
        await lab.refund.turn(message, persona)
    async for event in lab.refund.stream(last, persona, confirmed=True):
        if getattr(event, "kind", "") == "end" and event.step_order == after:
            os._exit(_DEAD)


if __name__ == "__main__":
    asyncio.run(_run(**json.loads(sys.argv[1])))
