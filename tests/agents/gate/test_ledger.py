"""The ledger: append-only, chained, whole after a kill at any moment, and honest when broken."""

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from lab_helpers.agents.gate.agent import GateAgent
from lab_helpers.stores.ledger import GENESIS, LOCK, VERDICT, Entry, LedgerStore, check


def chain(*kinds):
    """A chain in memory: (kind, draft, released) each."""
    out, before = [], GENESIS
    for n, (kind, draft, released) in enumerate(kinds, 1):
        entry = Entry(n, f"{kind}:{draft}", kind, "TRC-1", draft, released, "{}", "t", before, "")
        entry = dataclasses.replace(entry, entry_hash=entry.hash())
        out.append(entry)
        before = entry.entry_hash
    return out


WHOLE = chain(
    (VERDICT, "d1", False), (VERDICT, "d2", True), (LOCK, "d2", True), (VERDICT, "d3", True)
)


def test_a_whole_chain_is_intact_and_names_what_was_released_and_never_locked():
    found = check(WHOLE, (4, WHOLE[-1].entry_hash))
    assert (found.intact, found.entries, found.locks) == (True, 4, 1)
    assert found.unlocked == ("d3",)
    assert check([]).intact and check([], (0, GENESIS)).intact


CHANGES = {
    "kind": LOCK,
    "entry_id": "x",
    "trace_id": "TRC-2",
    "draft_id": "d9",
    "released": True,
    "body": '{"total": 1}',
    "written_at": "u",
    "prev_hash": "f" * 64,
    "entry_hash": "f" * 64,
}


@pytest.mark.parametrize("field", CHANGES)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_changed_field_is_found_at_its_entry(field, at):
    entries = list(WHOLE)
    entries[at] = dataclasses.replace(entries[at], **{field: CHANGES[field]})
    if entries[at] == WHOLE[at]:
        return
    found = check(entries)
    assert (found.intact, found.broken_at) == (False, at + 1)
    assert f"entry {at + 1}" in repr(found)


@pytest.mark.parametrize(
    ("broken", "at"),
    [
        (WHOLE[1:], 1),
        ([WHOLE[0], *WHOLE[2:]], 2),
        ([WHOLE[1], WHOLE[0], *WHOLE[2:]], 1),
        ([*WHOLE, WHOLE[-1]], 5),
        (chain((VERDICT, "d1", False), (LOCK, "d1", True)), 2),
        (chain((LOCK, "d1", True)), 1),
        (chain((VERDICT, "d1", True), (LOCK, "d1", False)), 2),
    ],
)
def test_a_missing_moved_repeated_or_unfounded_entry_is_named(broken, at):
    assert check(broken).broken_at == at


def test_a_removed_tail_is_noticed_by_the_head():
    found = check(WHOLE[:-1], (4, WHOLE[-1].entry_hash))
    assert (found.intact, found.broken_at) == (False, 4)


@pytest.fixture
def ledger(lab):
    return LedgerStore(lab.operations.database)


def write(ledger, draft, kind=VERDICT, released=True):
    return ledger.append(
        kind, trace_id="TRC-t", draft_id=draft, released=released, body={"n": 1}, trail="{}"
    )


@pytest.mark.parametrize("released", ["true", 1, None, [True], "True"])
def test_only_true_is_stored_as_released(ledger, released, request):
    assert write(ledger, f"DRF-{request.node.name}", released=released).released is False


def test_the_same_append_twice_is_one_entry(ledger):
    first = write(ledger, "DRF-twice")
    assert write(ledger, "DRF-twice") == first
    assert ledger.verify().intact


def test_fifty_writers_at_once_make_one_chain(lab, ledger, at_once):
    before = len(ledger.entries())
    out = at_once(50, lambda n: write(ledger, f"DRF-at-once-{n}"))
    assert not [e for e in out if isinstance(e, Exception)]
    assert len(ledger.entries()) == before + 50
    assert ledger.verify().intact


def test_writers_that_do_not_know_of_each_other_make_one_chain(lab, ledger, at_once):
    before = len(ledger.entries())
    stores = [LedgerStore(lab.operations.database) for _ in range(8)]
    out = at_once(8, lambda n: [write(stores[n], f"DRF-apart-{n}-{i}") for i in range(5)])
    assert not [e for e in out if isinstance(e, Exception)]
    assert len(ledger.entries()) == before + 40
    assert ledger.verify().intact


def test_a_writer_that_was_overtaken_follows_the_other(lab, ledger):
    write(ledger, "DRF-first")
    other = LedgerStore(lab.operations.database)
    theirs = write(other, "DRF-theirs")
    mine = write(ledger, "DRF-mine")
    assert (mine.seq, mine.prev_hash) == (theirs.seq + 1, theirs.entry_hash)


def tampered(lab, sql):
    return lab.operations.database.run_in_transaction(
        lambda t: (list(t.execute_sql("SELECT 1")), t.execute_update(sql))
    )


def test_a_row_changed_in_spanner_is_named(lab, ledger):
    entry = write(ledger, "DRF-victim")
    body = f"UPDATE gate_ledger SET body = '%s' WHERE seq = {entry.seq}"
    tampered(lab, body % '{"n": 2}')
    try:
        found = ledger.verify()
        assert (found.broken_at, found.why) == (entry.seq, "its hash does not fit its content")
    finally:
        tampered(lab, body % entry.body)
    assert ledger.verify().intact


# What the process does when it comes to the lock; `append` and `work` are the real ones.
MOMENTS = {
    "before the lock is asked for": """
        def append(kind, **what):
            if kind == "LOCK":
                die()
            return real(kind, **what)
        ledger.append = append
    """,
    "while the commit is on its way": """
        import threading
        commit = ledger._commit
        def and_die(entry, trail):
            if entry.kind == "LOCK":
                threading.Thread(target=commit, args=(entry, trail)).start()
                die()
            commit(entry, trail)
        ledger._commit = and_die
    """,
    "after the commit, before anyone is told": """
        def append(kind, **what):
            out = real(kind, **what)
            die() if kind == "LOCK" else None
            return out
        ledger.append = append
    """,
}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_kill_between_release_and_lock_leaves_no_half_lock(lab, lab_home, moment):
    script = (
        textwrap.dedent("""
            import asyncio, os, signal
            from lab_helpers.lab import Lab
            lab = Lab.open(env={"LAB_HOME": os.environ["HOME_OF_LAB"]}, quiet=True)
            ledger = lab.gate.ledger
            real = ledger.append
            die = lambda: os.kill(os.getpid(), signal.SIGKILL)
        """)
        + textwrap.dedent(MOMENTS[moment])
        + "asyncio.run(lab.gate.run(seed=1))\n"
    )
    gate = GateAgent(lab.config, lab.operations, lab.trail)
    before = gate.verify()
    env = {**os.environ, "HOME_OF_LAB": str(lab_home), "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr

    after = gate.verify()
    assert after.intact
    locked = after.locks - before.locks
    assert locked in {"before": (0,), "while": (0, 1), "after": (1,)}[moment.split()[0]]
    assert after.entries - before.entries == 2 + locked
    left_open = set(after.unlocked) - set(before.unlocked)
    assert len(left_open) == 1 - locked

    # The trail of the killed message: the release is there, and an act only where it was done.
    trace_id = gate.entries()[-1].trace_id
    lab.reconcile()
    verdicts = lab.trail.query(
        "SELECT DISTINCT e.evaluation_result AS verdict, a.decision_status AS decision"
        f" FROM `{lab.config.dataset}.policy_evaluations` AS e"
        f" LEFT JOIN `{lab.config.dataset}.agent_actions` AS a ON a.eval_id = e.eval_id"
        " WHERE e.trace_id = @trace_id",
        {"trace_id": trace_id},
    )
    assert {(r["verdict"], r["decision"]) for r in verdicts} == {
        ("FAIL", "RETURNED"),
        ("PASS", "RELEASED" if locked else None),
    }

    # And the door works on: nothing that was left open opens anything now.
    run = await gate.run(seed=1)
    assert run.releases == 3 and gate.verify().intact
    assert set(gate.verify().unlocked) - set(before.unlocked) == left_open


async def test_a_restart_of_the_store_loses_nothing(tmp_path):
    from lab_helpers import sandbox
    from lab_helpers.lab import Lab

    home = {"LAB_HOME": str(tmp_path)}
    try:
        lab = Lab.open(env=home, quiet=True)
        lab.provision(progress=None)
        run = await lab.gate.run(seed=1)
        entries, pool = lab.gate.entries(), lab.gate.pooled(run.run_id)
        lab.close()
        sandbox.stop(tmp_path.resolve())
        lab = Lab.open(env=home, quiet=True)
        assert lab.gate.entries() == entries and len(entries) == 9
        assert lab.gate.pooled(run.run_id) == pool
        assert lab.gate.verify().intact
        lab.close()
    finally:
        sandbox.stop(tmp_path.resolve())
