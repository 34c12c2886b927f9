"""Conversations outlive the kernel, and two kernels lose nothing."""

import asyncio
import sqlite3
import subprocess
import sys

import pytest

from lab_helpers.agents.concierge.sessions import Sessions, identity
from tests.agents.concierge.conftest import opened


@pytest.fixture
def who(request):
    return identity(1001, request.node.name)


async def speak(sessions, who, *lines):
    for n, line in enumerate(lines):
        await sessions.keep(who, f"turn-{n}", line, f"re {line}", {"last_products": [line]})


def asked(history):
    return [line["text"] for line in history if line["role"] == "user"]


async def test_a_new_process_finds_history_and_last_products(tmp_path, who):
    await speak(Sessions(tmp_path), who, "one", "two")
    again = Sessions(tmp_path)
    assert asked(await again.history(who)) == ["one", "two"]
    assert (await again.state(who))["last_products"] == ["two"]


async def test_history_falls_back_on_the_events(tmp_path, who):
    await speak(Sessions(tmp_path), who, "one", "two")
    with sqlite3.connect(tmp_path / "concierge_sessions.db") as db:
        db.execute("UPDATE sessions SET state = '{}'")
    assert await Sessions(tmp_path).history(who) == [
        {"role": "user", "text": "one"},
        {"role": "concierge", "text": "re one"},
        {"role": "user", "text": "two"},
        {"role": "concierge", "text": "re two"},
    ]


async def test_clear_deletes_this_conversation_only(tmp_path, who):
    sessions, other = Sessions(tmp_path), identity(2048, "x")
    await speak(sessions, who, "one")
    await speak(sessions, other, "two")
    await sessions.clear(who)
    assert await sessions.history(who) == []
    assert asked(await sessions.history(other)) == ["two"]
    await speak(sessions, who, "three")
    assert asked(await sessions.history(who)) == ["three"]


async def test_a_customer_never_meets_anothers_conversation(tmp_path):
    sessions = Sessions(tmp_path)
    await speak(sessions, identity(1001, "chat"), "one")
    for other in (identity(2048, "chat"), identity(None, "chat")):
        assert await sessions.history(other) == []


async def test_two_kernels_taking_turns_are_never_stale_for_long(tmp_path, who):
    one, two = Sessions(tmp_path), Sessions(tmp_path)
    for n in range(5):
        await speak(one, who, f"a{n}")
        await speak(two, who, f"b{n}")
    expected = [f"{k}{n}" for n in range(5) for k in "ab"]
    assert asked(await Sessions(tmp_path).history(who)) == expected


async def test_many_tasks_of_one_kernel_lose_nothing(tmp_path, who):
    sessions = Sessions(tmp_path)
    await asyncio.gather(*(speak(sessions, who, f"n{n}") for n in range(20)))
    assert sorted(asked(await sessions.history(who))) == sorted(f"n{n}" for n in range(20))


KERNEL = """
import asyncio, sys
from pathlib import Path
from lab_helpers.agents.concierge.sessions import Sessions, identity
home, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
who = identity(1001, "shared")
async def main():
    sessions = Sessions(home)
    for n in range(count):
        line = f"{name}{n}"
        await sessions.keep(who, line, line, "re " + line, {"last_products": [line]})
asyncio.run(main())
"""


def test_two_kernels_at_once_lose_nothing(tmp_path):
    count = 25
    kernels = [
        subprocess.Popen([sys.executable, "-c", KERNEL, str(tmp_path), name, str(count)])
        for name in "ab"
    ]
    assert [kernel.wait(120) for kernel in kernels] == [0, 0]
    shown = asked(asyncio.run(Sessions(tmp_path).history(identity(1001, "shared"))))
    for name in "ab":
        assert [s for s in shown if s[0] == name] == [f"{name}{n}" for n in range(count)]


def test_a_kernel_killed_in_mid_write_leaves_the_lock_free(tmp_path, who):
    kernel = subprocess.Popen([sys.executable, "-c", KERNEL, str(tmp_path), "k", "100000"])
    lock = tmp_path / "concierge_sessions.lock"
    try:
        for _ in range(600):
            if lock.exists():
                break
            asyncio.run(asyncio.sleep(0.1))
    finally:
        kernel.kill()
        kernel.wait(10)

    async def after():
        await asyncio.wait_for(speak(Sessions(tmp_path), who, "after"), 20)
        return await Sessions(tmp_path).history(who)

    assert asked(asyncio.run(after())) == ["after"]


async def test_a_restart_in_mid_conversation_keeps_what_that_means(
    provisioned, shop, concierge, session
):
    first = await concierge.ask("wake me up", "A", session=session)
    restarted = opened(provisioned, shop)
    assert [m["text"] for m in await restarted.history("A", session=session)] == [
        "wake me up",
        first.answer,
    ]
    result = await restarted.ask("is that in stock?", "A", session=session)
    assert [p.name for p in result.products] == [first.products[0].name]
    # The first kernel goes on where the second stopped.
    await concierge.ask("thanks", "A", session=session)
    assert len(await restarted.history("A", session=session)) == 6
    restarted.close()


async def test_clear_chat_keeps_menu_caches_and_metrics(concierge, shop, session):
    result = await concierge.ask("wake me up", session=session)
    await concierge.clear(session=session)
    assert await concierge.history(session=session) == []
    assert (await concierge.state(session=session)) == {}
    assert shop.metrics(result.trace_id)
    assert (await concierge.ask("wake me up", session=session)).from_cache is True
