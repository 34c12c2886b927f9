"""Nothing of the trail is lost: outages of BigQuery or Spanner, and a crash after the commit."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from lab_helpers import sandbox
from lab_helpers.agents.refund.agent import RefundAgent
from lab_helpers.stores.lineage import TABLES, DeliveryFailed, LineageStore
from lab_helpers.stores.operations import OperationsStore

TRAIL = [1, 5, 1, 1]
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def down(lab):
    """A lineage store whose BigQuery does not answer."""
    client = bigquery.Client(
        project=lab.config.project,
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": NOWHERE},
    )
    return LineageStore(client, lab.config.dataset, pause=lambda s: None)


def agent(lab, lineage=None, operations=None):
    return RefundAgent(
        lab.config, operations or lab.operations, lineage or lab.trail, lab.refund.catalog
    )


async def refund(agent, number=90124, session="outbox"):
    await agent.turn(f"Please refund my order ORD-{number}.", "A", session=session)
    return await agent.turn("yes", "A", confirmed=True, session=session)


async def test_a_refund_is_answered_while_bigquery_is_down_and_delivered_later(lab, down):
    lab.reconcile()
    broken = agent(lab, down)
    done = await refund(broken)
    assert (done.decision_status, done.trail) == ("APPROVED", "outbox")
    assert sum(lab.trail.counts(done.trace_id).values()) == 0
    assert lab.reconcile() == {"delivered": 2, "pending": 0}
    assert list(lab.trail.counts(done.trace_id).values()) == TRAIL
    assert lab.reconcile() == {"delivered": 0, "pending": 0}
    assert list(lab.trail.counts(done.trace_id).values()) == TRAIL


async def test_reconcile_reports_what_it_could_not_deliver(lab, down):
    broken = agent(lab, down)
    await broken.turn("show my orders", "A")
    assert broken.reconcile()["pending"] >= 1
    assert lab.reconcile()["pending"] == 0


def test_three_attempts_and_only_what_failed_is_resent(lab, down):
    pauses = []
    down._pause = pauses.append
    with pytest.raises(DeliveryFailed) as caught:
        down.write({"agent_sessions": [{"trace_id": "TRC-X"}]})
    assert caught.value.left == {"agent_sessions": [{"trace_id": "TRC-X"}]}
    assert len(pauses) == 2 and pauses[1] == 2 * pauses[0]


async def test_a_row_delivered_twice_is_counted_once(lab):
    done = await refund(agent(lab))
    rows = {}
    for table in TABLES:
        sql = f"SELECT * FROM `{lab.config.dataset}.{table}` WHERE trace_id = @t"
        found = lab.trail.query(sql, {"t": done.trace_id})
        rows[table] = [
            {k: getattr(v, "isoformat", lambda v=v: v)() for k, v in r.items()} for r in found
        ]
    lab.trail.write(rows)
    assert list(lab.trail.counts(done.trace_id).values()) == TRAIL
    assert lab.trail.missing(rows) == {}
    assert len(lab.trail.ask("trace", {"trace_id": done.trace_id})) == 5


async def test_a_delivered_refund_is_ticked_off(lab):
    lab.reconcile()
    await refund(agent(lab))
    assert lab.operations.pending_outbox() == {}


def no_spanner(lab):
    database = lab.spanner.instance(lab.config.instance).database("nothing-here")
    return OperationsStore(database)


@pytest.mark.parametrize(
    ("message", "status", "says"),
    [
        ("Please refund my order ORD-90124.", "DENIED", "can't check order ORD-90124"),
        ("refund the jeans", "PENDING_CONFIRMATION", "store is not answering"),
        ("show my orders", "ORDER_LIST", "store is not answering"),
        ("where is ORD-90124?", "ORDER_INFO", "store is not answering"),
        ("¿dónde está el pedido 90124?", "ORDER_INFO", "no responde"),
    ],
)
async def test_without_spanner_the_customer_gets_an_answer_and_nothing_changes(
    lab, message, status, says
):
    result = await agent(lab, operations=no_spanner(lab)).turn(message, "A")
    assert (result.decision_status, result.evaluation_result) != ("APPROVED", "PASS")
    assert result.decision_status == status
    assert says in result.reply
    assert list(lab.trail.counts(result.trace_id).values()) == TRAIL


async def test_with_both_stores_down_the_trail_is_held_and_delivered_later(lab, down):
    broken = agent(lab, down, no_spanner(lab))
    result = await broken.turn("Please refund my order ORD-90124.", "A")
    assert result.trail == "held"
    assert list(broken.held()) == [result.trace_id]
    broken._operations, broken._lineage = lab.operations, lab.trail
    assert broken.reconcile()["pending"] == 0
    assert broken.held() == {}
    assert list(lab.trail.counts(result.trace_id).values()) == TRAIL


CRASH = """
    import asyncio, os
    from lab_helpers import Lab

    async def main():
        lab = Lab.open(quiet=True)
        await lab.refund.turn("Please refund my order ORD-90124.", "A")
        async for event in lab.refund.stream("yes", "A", confirmed=True):
            if getattr(event, "kind", "") == "end" and event.step_order == {step}:
                os._exit(9)

    asyncio.run(main())
"""


@pytest.mark.parametrize(("step", "refunded"), [(3, False), (4, True)])
def test_a_kernel_killed_at_a_step_leaves_order_and_trail_true(lab, lab_home, step, refunded):
    lab.reconcile()
    code = textwrap.dedent(CRASH.format(step=step))
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LAB_HOME": str(lab_home)},
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 9, done.stderr
    refunds = lab.operations.refunds()
    assert [r["order_id"] for r in refunds] == ([90124] if refunded else [])
    assert lab.reconcile()["pending"] == 0
    if refunded:
        # The step that never ran is missing, not invented.
        assert list(lab.trail.counts(refunds[0]["trace_id"]).values()) == [1, 4, 1, 1]
        view = lab.lineage(refunds[0]["trace_id"])
        assert "missing" in repr(view)
        assert view.verdict["decision_status"] == "APPROVED"


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4, 5])
async def test_a_sandbox_killed_at_a_step_comes_back_and_nothing_is_lost(lab, lab_home, step):
    lab.reconcile()
    session = f"killed-{step}"

    def kill():
        os.kill(sandbox.status(lab_home).endpoints.pid, signal.SIGKILL)

    await lab.refund.turn("Please refund my order ORD-90124.", "A", session=session)
    if step == 0:
        kill()
    async for item in lab.refund.stream("yes", "A", confirmed=True, session=session):
        result = item
        if getattr(item, "kind", "") == "start" and item.step_order == step:
            kill()
    assert result.decision_status in ("APPROVED", "DENIED")
    assert lab.reconcile()["pending"] == 0
    refunds = {r["order_id"]: r["trace_id"] for r in lab.operations.refunds()}
    paid = result.decision_status == "APPROVED"
    assert refunds == ({90124: result.trace_id} if paid else {})
    assert list(lab.trail.counts(result.trace_id).values()) == TRAIL
    assert lab.lineage(result.trace_id).verdict["decision_status"] == result.decision_status
