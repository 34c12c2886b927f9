"""`python -m tests.bench`: what a turn costs, measured in one run and printed as ratios."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench import concierge, gate, load

if TYPE_CHECKING:
    from lab_helpers.lab import Lab

ROUNDS = 40
WARM = 5


def figures(times: list[float]) -> tuple[float, float]:
    """(median, 95th percentile) in milliseconds."""
    ordered = sorted(times)
    return 1e3 * statistics.median(ordered), 1e3 * ordered[int(0.95 * (len(ordered) - 1))]


def timed(work: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    out = []
    for n in range(rounds + WARM):
        since = time.perf_counter()
        work()
        if n >= WARM:
            out.append(time.perf_counter() - since)
    return out


async def timed_async(work: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> list[float]:
    out = []
    for n in range(rounds + WARM):
        since = time.perf_counter()
        await work()
        if n >= WARM:
            out.append(time.perf_counter() - since)
    return out


def row(what: str, times: list[float], base: float | None = None) -> float:
    median, high = figures(times)
    ratio = f"{median / base:8.2f}" if base else " " * 8
    print(f"{what:<52}{median:9.1f}{high:9.1f}{ratio}", flush=True)
    return median


async def empty_turns() -> tuple[Callable[[], Awaitable[None]], Callable[[], Awaitable[None]]]:
    """Turns of a five-node ADK workflow whose nodes do nothing.

    The first kind goes on in one session, as a conversation does in ADK; the second has a session
    of its own for each turn, as our agent has.
    """
    from google.adk import Agent, Runner, Workflow
    from google.adk.apps import App
    from google.adk.sessions import InMemorySessionService
    from google.adk.workflow import START, FunctionNode
    from google.genai import types

    def said(callback_context: object) -> types.Content:
        return types.Content(role="model", parts=[types.Part(text="x")])

    def step(n: int) -> FunctionNode:
        async def nothing(node_input: object) -> str:
            return "x"

        return FunctionNode(func=nothing, name=f"step{n}")

    agents = [
        Agent(name=f"agent{n}", model="gemini-3-flash-preview", before_agent_callback=said)
        for n in (1, 2)
    ]
    edges = [(START, agents[0], step(2), step(3), step(4), agents[1])]
    service = InMemorySessionService()
    app = App(name="empty", root_agent=Workflow(name="Empty", edges=edges))
    runner = Runner(app=app, session_service=service)
    kept = await service.create_session(app_name="empty", user_id="1", state={"user_id": 1})

    async def turn(session_id: str) -> None:
        message = types.UserContent("x")
        async for _ in runner.run_async(user_id="1", session_id=session_id, new_message=message):
            pass

    async def alone() -> None:
        held = await service.create_session(app_name="empty", user_id="1", state={"user_id": 1})
        await turn(held.id)
        await service.delete_session(app_name="empty", user_id="1", session_id=held.id)

    return lambda: turn(kept.id), alone


def cold_open(home: str) -> float:
    """Seconds of a fresh interpreter's import and Lab.open(), the sandbox being up."""
    code = (
        "import time; t = time.perf_counter()\n"
        "from lab_helpers import Lab\nLab.open(quiet=True)\nprint(time.perf_counter() - t)"
    )
    env = {**os.environ, "LAB_HOME": home}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    return float(done.stdout)


async def refund_rows(lab: Lab) -> None:
    """Turns and their parts, measured in turns: a machine that drifts drifts for all of them."""
    agent, contract = lab.refund, lab.refund.catalog.contract()
    names = iter(range(10**6))

    async def ask() -> None:
        await agent.turn("Please refund my order ORD-90124.", "A", session="bench")

    async def confirm() -> None:
        done = await agent.turn("Yes.", "A", confirmed=True, session="bench")
        assert done.decision_status == "APPROVED"
        commits.append(done.steps[3].latency_ms / 1e3)

    async def name() -> None:
        await agent.turn("Please refund the jeans.", "A", session="bench")

    async def query() -> None:
        lab.operations.policy_facts(1001, 90124, contract)

    async def flush() -> None:
        lab.trail.write(turn)

    commits: list[float] = []
    empty, alone = await empty_turns()
    parts: dict[str, tuple[Callable[[], Awaitable[None]], list[float]]] = {
        "an empty five-node ADK workflow turn": (empty, []),
        "  the same, each turn in a session of its own": (alone, []),
        "our turn: a refund asked for by name": (name, []),
        "our turn: a refund asked for by number": (ask, []),
        "our turn: confirmed, committed, delivered": (confirm, []),
        "  within it: the policy query": (query, []),
        "  within it: the flush (four inserts)": (flush, []),
    }
    for n in range(ROUNDS + WARM):
        lab.reset_orders()
        turn = _turn_rows(f"TRC-BENCH{next(names)}")
        for work, times in parts.values():
            since = time.perf_counter()
            await work()
            if n >= WARM:
                times.append(time.perf_counter() - since)
    (_, times), *_ = parts.values()
    base = 1e3 * statistics.median(times)
    for what, (_, times) in parts.items():
        row(what, times, base)
    row("  within it: step 4 with the commit", commits[WARM:], base)


async def late_over_early(lab: Lab) -> float:
    """What turn 200 costs over turn 5, the two measured side by side."""
    early, late = [], []

    async def one(session: str) -> float:
        since = time.perf_counter()
        await lab.refund.turn("Please refund my order ORD-90124.", "A", session=session)
        return time.perf_counter() - since

    for _ in range(185):
        await one("long")
    for n in range(30):
        for _ in range(4):
            await one(f"short-{n}")
        early.append(await one(f"short-{n}"))
        late.append(await one("long"))
    return statistics.median(late) / statistics.median(early)


async def measure(home: str) -> None:
    from lab_helpers.lab import Lab
    from lab_helpers.provision import install

    lab = Lab.open(env={"LAB_HOME": home}, quiet=True)
    since = time.perf_counter()
    lab.provision(progress=None)
    provisioning = time.perf_counter() - since
    print(f"{'':<52}{'median':>9}{'p95':>9}{'ratio':>8}   (ms)")
    await refund_rows(lab)

    row("a run of the gate: 3 messages, 6 drafts, 3 locks", await timed_async(gate.a_run(lab)))
    for what, times in await concierge.rows(lab):
        row(what, times)

    print(f"\nturn 200 costs {await late_over_early(lab):.2f} times turn 5 of a conversation")
    print(f"provisioning the demo: {provisioning:.1f} s")
    print(f"import and Lab.open() in a fresh interpreter: {cold_open(home):.1f} s")
    print(f"store: {install.state(lab.operations.database, 'scale')} × 2,000 orders")
    await load.load(lab, home)
    lab.close()


def _turn_rows(trace_id: str) -> dict[str, list[dict[str, object]]]:
    from lab_helpers.agents.trace import Trace, utc_now

    trace = Trace(trace_id)
    for n in range(5):
        trace.open(f"step{n}")
    rows = trace.rows(user_id=1, prompt="x", order_id=None, policy_eval=None, action=None)
    stamp = utc_now().isoformat()
    rows["policy_evaluations"] = [
        {
            **dict.fromkeys(
                ("catalog_term_id", "policy_id", "policy_name", "evaluation_result"), "x"
            ),
            **dict.fromkeys(("observed_refunds_100d", "max_refunds_100d", "return_window_days"), 1),
            "eval_id": trace_id,
            "node_exec_id": trace_id,
            "trace_id": trace_id,
            "evaluated_at": stamp,
        }
    ]
    rows["agent_actions"] = [
        {
            **dict.fromkeys(("action_type", "decision_status"), "x"),
            "action_id": trace_id,
            "eval_id": trace_id,
            "trace_id": trace_id,
            "created_at": stamp,
        }
    ]
    return rows


def main() -> None:
    from lab_helpers import sandbox

    with tempfile.TemporaryDirectory(prefix="lab-bench-", ignore_cleanup_errors=True) as home:
        try:
            asyncio.run(measure(home))
        finally:
            sandbox.stop(Path(home).resolve())


if __name__ == "__main__":
    main()
