"""One table: a fault, and what must hold after a refund is asked for and confirmed under it.

In every row the customer gets an answer, the order is right, nothing is paid twice, the reply says
who spoke, and after `lab.reconcile()` the trail is complete.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from lab_helpers.provision import batches
from tests.faults.trails import refunds

TRAIL = [1, 5, 1, 1]
ORDER = 90124
# What one customer may have to wait for one answer, whatever fails.
PATIENCE_S = 45.0


@dataclass(frozen=True)
class Expected:
    """`trail` is where the confirming turn's trail is before the lab is reconciled."""

    decision: str = "APPROVED"
    trail: str = "delivered"
    failure: str | None = None


PAID = Expected()
KEPT = Expected(trail="outbox")
UNPAID = Expected("DENIED")

TABLE = [
    ("bigquery", "fails once", PAID),
    ("bigquery", "fails twice", PAID),
    ("bigquery", "fails always", KEPT),
    ("bigquery", "answer lost", PAID),
    ("bigquery", "answers lost", KEPT),
    ("bigquery", "one row of five", PAID),
    ("bigquery", "one bad row", KEPT),
    ("bigquery", "quota", KEPT),
    ("bigquery", "too fast", KEPT),
    ("bigquery", "down", KEPT),
    ("spanner", "aborted storm", PAID),
    ("spanner", "stumbles", PAID),
    ("spanner", "commit answer lost", PAID),
    ("spanner", "commit unavailable", UNPAID),
    ("spanner", "killed before commit", PAID),
    ("spanner", "killed after commit", PAID),
    ("spanner", "unavailable", Expected("DENIED", failure="STORE_UNAVAILABLE")),
    ("catalog", "down", PAID),
    ("catalog", "hang", PAID),
    ("gemini", "429", PAID),
    ("gemini", "503", PAID),
    ("gemini", "hang", PAID),
    ("gemini", "trickle", PAID),
    ("gemini", "drop", PAID),
    ("gemini", "html", PAID),
    ("gemini", "safety", PAID),
    ("gemini", "empty", PAID),
]


def paid_items(lab):
    """Items of the order that carry a refund, and the traces they carry."""
    rows = lab.operations.query(
        "SELECT refund_trace_id AS t FROM order_items WHERE order_id = @order_id",
        {"order_id": ORDER},
    )
    return [r["t"] for r in rows]


@pytest.mark.parametrize(("edge", "fault", "expected"), TABLE, ids=lambda v: str(v))
async def test_a_refund_under_a_fault(lab, edge, fault, expected):
    lab.reconcile()
    lab.refund.forget()
    more = {"timeout_ms": 300} if edge == "gemini" else {}
    # The question by name goes to the model too; the fault then meets both turns.
    question = "Please refund the Harbor Straight Jeans."
    if edge != "gemini":
        asked = await lab.refund.turn(question, "A", session=fault)
    with getattr(lab.faults, edge)(fault, **more):
        if edge == "gemini":
            asked = await lab.refund.turn(question, "A", session=fault)
        since = time.perf_counter()
        done = await lab.refund.turn("", "A", confirmed=True, session=fault)
        took = time.perf_counter() - since

    assert asked.decision_status == "PENDING_CONFIRMATION" and asked.order_id == ORDER
    assert took < PATIENCE_S
    assert (done.decision_status, done.failure_code) == (expected.decision, expected.failure)
    assert (done.reply != "", done.spoke, done.trail) == (True, "template", expected.trail)
    approved = expected.decision == "APPROVED"
    assert paid_items(lab) == [done.trace_id if approved else None]
    assert refunds(lab) == ({ORDER: done.trace_id} if approved else {})

    assert lab.reconcile()["pending"] == 0
    for turn in (asked, done):
        assert list(lab.trail.counts(turn.trace_id).values()) == TRAIL
    verdict = lab.lineage(done.trace_id).verdict
    assert verdict["decision_status"] == done.decision_status
    assert (verdict["evaluation_result"] == "PASS") or not approved
    assert lab.trail.ask("unbacked_actions") == []


@pytest.mark.parametrize("fault", ["stumbles", "aborted storm", "commit answer lost"])
def test_seed_data_is_there_once_however_often_a_batch_is_sent(lab, fault):
    columns = ("name", "value")
    rows = [(f"batch-{fault}-{n}", "x") for n in range(batches.BATCH_ROWS + 5)]
    with lab.faults.spanner(fault) as proxy:
        batches.write(lab.operations.database, "lab_state", columns, rows)
        assert proxy.attempts["Commit"] > 2, "two batches, and what had to be sent again"
    assert lab.operations.remembered(f"batch-{fault}-") == {str(n) for n in range(len(rows))}
    lab.operations.database.execute_partitioned_dml(
        "DELETE FROM lab_state WHERE name LIKE 'batch-%'"
    )
