"""Many at once: whatever the order of things, exact numbers. Times are printed, not judged finely.

What is raced is a whole turn of the agent: reading, policy, commit, reply and trail.
"""

from __future__ import annotations

import asyncio
import collections
import time

import pytest

from lab_helpers.faults.judge import judge
from lab_helpers.lab import Lab
from tests.faults.trails import refunds, whole
from tests.stores.shop import customer, order

CROWD = 50
LIMIT = 10


@pytest.fixture
def told(capsys):
    """Run turns together; their results, and how long they took, printed beside the test."""

    async def run(what, *turns):
        since = time.perf_counter()
        ends = await asyncio.gather(*turns)
        took = time.perf_counter() - since
        with capsys.disabled():
            each = 1e3 * took / len(ends)
            print(f"\n{what}: {len(ends)} in {took:.2f} s, {each:.0f} ms a turn")
        return ends

    return run


def ends(results):
    return collections.Counter(r.failure_code or r.decision_status for r in results)


def held(lab, results):
    """Every turn kept the boundary, and every trail is whole."""
    turns = [r.trace_id for r in results]
    judged = judge(lab.operations, lab.trail, turns)
    return not any(judged.values()) and whole(lab, turns) == set(turns)


async def test_a_crowd_confirms_one_order(lab, told):
    lab.refund.forget()
    names = [f"crowd-{n}" for n in range(CROWD)]
    for name in names:
        await lab.refund.turn("Refund ORD-90124", "A", session=name)
    turns = [lab.refund.turn("", "A", confirmed=True, session=name) for name in names]
    results = await told("confirms of one order", *turns)
    assert ends(results) == {"APPROVED": 1, "ALREADY_RETURNED": CROWD - 1}
    paid = next(r for r in results if r.decision_status == "APPROVED")
    assert refunds(lab) == {90124: paid.trace_id}
    assert held(lab, results)


async def test_a_crowd_of_orders_meets_the_limit(lab, told):
    lab.refund.forget()
    user_id = customer(lab)
    numbers = [order(lab, user_id) for _ in range(CROWD)]
    for n in numbers:
        await lab.refund.turn(f"Refund ORD-{n}", user_id=user_id, session=f"limit-{n}")
    turns = [
        lab.refund.turn("", user_id=user_id, confirmed=True, session=f"limit-{n}") for n in numbers
    ]
    results = await told("confirms at the limit", *turns)
    assert ends(results) == {"APPROVED": LIMIT, "MAX_REFUNDS_EXCEEDED": CROWD - LIMIT}
    assert len(refunds(lab)) == LIMIT
    assert held(lab, results)


async def test_a_double_click(lab, told):
    await lab.refund.turn("Refund ORD-90124", "A", session="double")
    click = (lab.refund.turn("", "A", confirmed=True, session="double") for _ in range(2))
    results = await told("a double click", *click)
    assert ends(results) == {"APPROVED": 1, "ALREADY_RETURNED": 1} and held(lab, results)


async def test_two_kernels(lab, lab_home, told):
    other = Lab.open(env={"LAB_HOME": str(lab_home)}, quiet=True)
    try:
        for kernel in (lab, other):
            await kernel.refund.turn("Refund ORD-90124", "A", session="kernel")
        results = await told(
            "two kernels",
            *(k.refund.turn("", "A", confirmed=True, session="kernel") for k in (lab, other)),
        )
    finally:
        other.close()
    assert ends(results) == {"APPROVED": 1, "ALREADY_RETURNED": 1} and held(lab, results)


async def test_two_personas_in_one_session(lab, told):
    """The switch comes while the other's confirmation runs: nobody's approval counts for anyone."""
    lab.refund.forget()
    await lab.refund.turn("Refund ORD-90124", "A", session="switch")
    results = await told(
        "two personas",
        lab.refund.turn("Refund ORD-90910", "C", session="switch"),
        lab.refund.turn("", "A", confirmed=True, session="switch"),
        lab.refund.turn("", "C", confirmed=True, session="switch"),
    )
    assert ends(results) == {"PENDING_CONFIRMATION": 1, "MISSING_ORDER_ID": 2}
    assert refunds(lab) == {} and held(lab, results)


async def test_a_reset_during_a_turn(lab, told):
    """Either the refund came first and was undone, or the reset did; never a half of both."""
    for n in range(6):
        await lab.refund.turn("Refund ORD-90124", "A", session=f"reset-{n}")
        result, _ = await told(
            "reset during a turn",
            lab.refund.turn("", "A", confirmed=True, session=f"reset-{n}"),
            asyncio.to_thread(lab.reset_orders),
        )
        (row,) = lab.operations.query("SELECT status AS s FROM orders WHERE order_id = 90124")
        expected = {90124: result.trace_id} if row["s"] == "Returned" else {}
        assert refunds(lab) == expected
        assert whole(lab, [result.trace_id])
        lab.reset_orders()


async def test_provisioning_during_a_turn_changes_nothing(lab, told):
    await lab.refund.turn("Refund ORD-90124", "A", session="provision")
    before = lab.operations.count("orders")
    result, _ = await told(
        "provision during a turn",
        lab.refund.turn("", "A", confirmed=True, session="provision"),
        asyncio.to_thread(lab.provision, 1, None),
    )
    assert refunds(lab) == {90124: result.trace_id}
    assert lab.operations.count("orders") == before and held(lab, [result])
