"""Twenty customers at once, a thousand turns: no errors, no lost rows; time and memory told."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path
from typing import Any

from lab_helpers import sandbox
from lab_helpers.sandbox.memory import resident_bytes
from tests.faults.trails import whole

CUSTOMERS, TURNS = 20, 1000
_HOUR_S = 3600


async def load(lab: Any, home: str, turns: int = TURNS) -> None:
    """Drive the turns and print one row a figure. Raises AssertionError for an error or a loss."""
    traces: list[str] = []
    times: list[float] = []
    failed: list[str] = []
    memory = [_memory(home)]

    async def customer(user_id: int, script: list[tuple[str, bool]]) -> None:
        for n in range(turns // CUSTOMERS):
            message, confirmed = script[n % len(script)]
            since = time.perf_counter()
            try:
                done = await lab.refund.turn(
                    message, user_id=user_id, confirmed=confirmed, session=f"load-{user_id}"
                )
            except Exception as error:
                failed.append(f"{type(error).__name__}: {error}")
                continue
            times.append(time.perf_counter() - since)
            traces.append(done.trace_id)
            failed.extend(f"{s.node_name}: {s.error}" for s in done.steps if s.error)
            if done.trail != "delivered":
                failed.append(f"trail {done.trail}")
            if len(traces) % 100 == 0:
                memory.append(await asyncio.to_thread(_memory, home))

    since = time.perf_counter()
    await asyncio.gather(*(customer(*who) for who in _customers(lab)))
    took = time.perf_counter() - since
    held = len(whole(lab, traces))
    lost, peak = len(traces) - held, [max(column) for column in zip(*memory, strict=True)]
    ordered = sorted(times)
    print(f"\nload: {len(traces)} turns of {CUSTOMERS} customers at once in {took:.0f} s")
    print(f"  errors {len(failed)}, whole trails {held} of {len(traces)}")
    print(
        f"  a turn: median {1e3 * ordered[len(ordered) // 2]:.0f} ms,"
        f" p95 {1e3 * ordered[int(0.95 * (len(ordered) - 1))]:.0f} ms"
    )
    print(f"  peak memory: sandbox {peak[0] / 1e6:.0f} MB, kernel {peak[1] / 1e6:.0f} MB")
    _growth(memory, len(traces), took)
    assert not failed and not lost, failed[:3]


def _growth(memory: list[tuple[int, int]], turns: int, took: float) -> None:
    """What the second half of the run added, per thousand turns and for an hour at this pace."""
    half = len(memory) // 2
    for name, at in (("sandbox", 0), ("kernel", 1)):
        grown = memory[-1][at] - memory[half][at]
        each = grown / (turns * (len(memory) - 1 - half) / (len(memory) - 1))
        hour = each * turns * _HOUR_S / took
        print(
            f"  {name}: {1e3 * each / 1e6:+.1f} MB a thousand turns;"
            f" an hour at this pace {hour / 1e6:+.0f} MB"
        )


def _memory(home: str) -> tuple[int, int]:
    """Resident bytes of the sandbox and of this process; 0 where the system does not tell."""
    return sandbox.status(Path(home)).rss_bytes or 0, resident_bytes() or 0


def _customers(lab: Any) -> list[tuple[int, list[tuple[str, bool]]]]:
    """Twenty customers of the generated store, each with things to say about an own order."""
    rows = lab.operations.query(
        "SELECT user_id, MAX(order_id) AS order_id FROM orders WHERE status = 'Complete'"
        " GROUP BY user_id ORDER BY user_id"
    )
    return [
        (
            row["user_id"],
            [
                ("show my orders", False),
                (f"Please refund my order ORD-{row['order_id']}.", False),
                ("yes", True),
                ("what is your return policy?", False),
                (f"¿dónde está el pedido {row['order_id']}?", False),
                ("refund the jeans", False),
                ("no, thanks", False),
            ],
        )
        for row in itertools.islice(rows, CUSTOMERS)
    ]
