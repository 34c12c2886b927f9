"""The store, the disk or the kernel goes in the middle of a turn; nothing is lost or paid twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from lab_helpers import sandbox
from lab_helpers.config import ROOT, LabConfig
from lab_helpers.errors import LabError
from lab_helpers.faults import Faults
from lab_helpers.lab import Lab
from tests.faults.trails import refunds

ORDER = 90124
QUESTION = f"Please refund my order ORD-{ORDER}."
WHOLE = [1, 5, 1, 1]
TRAIL = "soa_action_lineage.agent_sessions"


def traces(lab):
    return {r["t"] for r in lab.trail.query(f"SELECT trace_id AS t FROM `{TRAIL}`")}


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_a_kernel_that_dies_after_a_step_leaves_its_trail(lab, step):
    lab.reconcile()
    before = traces(lab)
    lab.faults.kernel_dies(step, QUESTION, "Yes.")
    paid = list(refunds(lab).values())
    assert list(refunds(lab)) == ([ORDER] if step >= 4 else [])
    assert list(lab.operations.pending_outbox()) == paid
    (asked,) = traces(lab) - before
    assert lab.reconcile() == {"delivered": 1, "pending": 0}
    (died,) = traces(lab) - before - {asked}
    assert paid in ([], [died])
    # What ran is there; the step that never ran is missing, not invented.
    assert list(lab.trail.counts(died).values()) == [1, min(step, 4), 1, 1]
    row = lab.lineage(died).verdict
    if paid:
        assert (row["decision_status"], row["failure_code"]) == ("APPROVED", None)
    else:
        assert (row["decision_status"], row["failure_code"]) == ("DENIED", "STORE_UNAVAILABLE")
        assert row["rejection_reason"] == "The kernel ended here; nothing was changed."
    assert lab.reconcile() == {"delivered": 0, "pending": 0}


DYING = """
import asyncio, os, signal
from lab_helpers.lab import Lab

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def main(lab):
{work}

asyncio.run(main(Lab.open(quiet=True)))
"""


def dies(home, work):
    done = subprocess.run(
        [sys.executable, "-c", DYING.format(work=textwrap.indent(work, "    "))],
        env={**os.environ, "LAB_HOME": str(home), "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


LAST_WORDS = {
    "concierge, as it answers": (
        """
async for item in lab.concierge.stream('Something fruity and cold?', 'A'):
    if hasattr(item, 'from_cache'):
        die()
""",
        [1, 4, 1, 1],
    ),
    "gate, as the handler has written": (
        """
async for item in lab.gate.stream(seed=1):
    if getattr(item, 'kind', '') == 'end' and item.node_name == 'HandlerAgent':
        die()
""",
        [1, 4, 0, 0],
    ),
}


@pytest.mark.parametrize("agent", LAST_WORDS)
def test_the_other_agents_leave_theirs_as_well(lab, lab_home, agent):
    lab.reconcile()
    before = traces(lab)
    work, counts = LAST_WORDS[agent]
    dies(lab_home, work)
    assert traces(lab) == before
    assert lab.reconcile() == {"delivered": 1, "pending": 0}
    (died,) = traces(lab) - before
    # Another step may have ended before the kernel did.
    found = list(lab.trail.counts(died).values())
    assert all(n >= least for n, least in zip(found, counts, strict=True)) and found[0] == 1


HELD = f"""
await lab.refund.turn('{QUESTION}', 'A')
with lab.faults.spanner({{fault!r}}):
    done = await lab.refund.turn('', 'A', confirmed=True)
    assert done.trail == 'held', done
    die()
"""


@pytest.mark.parametrize("fault", ["silent after commit"])
def test_a_kernel_that_could_ask_nobody_dies_and_the_store_says_how_it_ended(lab, lab_home, fault):
    lab.reconcile()
    dies(lab_home, HELD.format(fault=fault))
    assert list(refunds(lab)) == [ORDER]
    assert lab.reconcile() == {"delivered": 1, "pending": 0}
    verdict = lab.lineage(refunds(lab)[ORDER]).verdict
    assert (verdict["decision_status"], verdict["failure_code"]) == ("APPROVED", None)


def test_a_reset_forgets_what_dead_kernels_owed(lab):
    lab.faults.kernel_dies(2, QUESTION, "Yes.")
    lab.reset_all()
    assert lab.reconcile() == {"delivered": 0, "pending": 0}
    assert traces(lab) == set()


CHANGES = {
    "ORDER_NOT_DELIVERED": "UPDATE orders SET status = 'Shipped' WHERE order_id = 90124",
    "ORDER_NOT_FOUND_OR_UNAUTHORIZED": "UPDATE orders SET user_id = 2048 WHERE order_id = 90124",
    "ALREADY_RETURNED": "UPDATE orders SET status = 'Returned' WHERE order_id = 90124",
}


@pytest.mark.parametrize("code", CHANGES)
async def test_what_changed_while_the_transaction_ran_is_what_is_recorded(lab, code):
    database, hits = lab.operations.database, []

    def change():
        hits.append(code)
        database.run_in_transaction(
            lambda t: (list(t.execute_sql("SELECT 1")), t.execute_update(CHANGES[code]))
        )

    await lab.refund.turn(QUESTION, "A", session=code)
    with lab.faults.spanner("order changes", meanwhile=change) as proxy:
        done = await lab.refund.turn("", "A", confirmed=True, session=code)
    assert (hits, proxy.attempts["ExecuteBatchDml"] >= 1) == ([code], True)
    assert (done.decision_status, done.failure_code) == ("DENIED", code)
    row = lab.lineage(done.trace_id).verdict
    assert (row["evaluation_result"], row["failure_code"]) == ("FAIL", code)
    assert refunds(lab) == {}


async def test_both_stores_out_and_back(lab):
    lab.reconcile()
    with lab.faults.bigquery("down"), lab.faults.spanner("commit unavailable"):
        result = await lab.refund.turn(QUESTION, "A", session="both")
    assert (result.decision_status, result.trail) == ("PENDING_CONFIRMATION", "held")
    assert lab.reconcile() == {"delivered": 1, "pending": 0}
    assert list(lab.trail.counts(result.trace_id).values()) == WHOLE


async def test_a_commit_nobody_can_tell_of_is_told_as_unknown_and_ends_true(lab):
    """The commit is taken, the answer is lost, and then the store cannot even be asked."""
    lab.reconcile()
    await lab.refund.turn(QUESTION, "A", session="unknown")
    with lab.faults.spanner("silent after commit"):
        done = await lab.refund.turn("", "A", confirmed=True, session="unknown")
    assert list(refunds(lab)) == [ORDER]
    assert (done.decision_status, done.failure_code) == ("DENIED", "STORE_UNAVAILABLE")
    assert "can't say" in done.reply and "Nothing was paid" not in done.reply
    assert done.trail == "held"
    assert lab.reconcile()["pending"] == 0
    assert lab.lineage(done.trace_id).verdict["decision_status"] == "APPROVED"
    actions = lab.trail.query(
        f"SELECT DISTINCT decision_status AS d FROM `{lab.config.dataset}.agent_actions`"
        " WHERE trace_id = @t",
        {"t": done.trace_id},
    )
    assert actions == [{"d": "APPROVED"}]
    again = await lab.refund.turn("", "A", confirmed=True, session="unknown")
    assert again.failure_code == "ALREADY_RETURNED"


async def test_the_panel_says_what_happened_and_who_spoke(lab):
    panel = lab.panel()
    with lab.faults.bigquery("fails always"), lab.faults.gemini("429", timeout_ms=500):
        await panel.say("Please refund the Harbor Straight Jeans.")
        await panel.confirm()
        # A free sentence and its reply, then a confirmation's reply.
        assert "This agent made 3 model calls in the last minute." in panel.status
    assert "Refund agent (template): Done" in panel.transcript()
    assert "BigQuery did not take this turn's trail" in panel.status


@pytest.fixture
def small(tmp_path):
    """A lab of its own, whose sandbox may be damaged."""
    home = tmp_path.resolve()
    lab = Lab.open(env={"LAB_HOME": str(home)}, quiet=True)
    lab.provision(progress=None)
    yield lab
    lab.close()
    sandbox.stop(home)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are Linux's")
async def test_a_full_disk_refuses_and_the_next_day_is_as_before(small, provisioned):
    await small.refund.turn(QUESTION, "A")
    with small.faults.disk("full"):
        full = await small.refund.turn("", "A", confirmed=True)
    assert (full.decision_status, full.spoke) == ("DENIED", "template")
    # The store can neither write nor be asked, and the reply claims no more than that.
    assert "can't say yet" in full.reply and full.trail == "held"
    assert refunds(small) == {}
    assert small.reconcile()["pending"] == 0
    assert list(small.trail.counts(full.trace_id).values()) == WHOLE
    await small.refund.turn(QUESTION, "A")
    done = await small.refund.turn("", "A", confirmed=True)
    assert (done.decision_status, refunds(small)) == ("APPROVED", {ORDER: done.trace_id})


def test_an_unknown_fault_lists_those_there_are(lab):
    for edge in lab.faults.names():
        with pytest.raises(LabError, match="Use one of"), getattr(lab.faults, edge)("earthquake"):
            pass
    assert "lab.faults.bigquery('fails twice')" in repr(lab.faults)


def test_faults_are_for_the_sandbox_only():
    cloud = Lab(LabConfig(backend="cloud", project="some-lab-1"))
    with pytest.raises(LabError, match="local sandbox only"):
        Faults(cloud).kill_sandbox()
    with (
        pytest.raises(LabError, match="local sandbox only"),
        Faults(cloud).bigquery("fails once"),
    ):
        pass
