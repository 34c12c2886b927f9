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
    lost = len(traces) - held
    ordered = sorted(times)
    print(f"\nload: {len(traces)} turns of {CUSTOMERS} customers at once in {took:.0f} s")
    print(f"  errors {len(failed)}, whole trails {held} of {len(traces)}")
    print(
        f"  a turn: median {1e3 * ordered[len(ordered) // 2]:.0f} ms,"
        f" p95 {1e3 * ordered[int(0.95 * (len(ordered) - 1))]:.0f} ms"
    )
    _growth(memory)
    assert not failed and not lost, failed[:3]


def _growth(memory: list[tuple[int, int]]) -> None:
    """The peak of either half: memory saws up and down, so two instants would tell nothing."""
    half = len(memory) // 2
    for name, at in (("sandbox", 0), ("kernel", 1)):
        first, second = (max(m[at] for m in part) for part in (memory[:half], memory[half:]))
        print(
            f"  {name}: {memory[0][at] / 1e6:.0f} MB at first; peak of the first half"
            f" {first / 1e6:.0f} MB, of the second {second / 1e6:.0f} MB"
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
