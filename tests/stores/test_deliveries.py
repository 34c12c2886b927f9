"""Turns that end together travel together to BigQuery, and none pays for another's fault."""

import time

import pytest

from lab_helpers.agents.trace import Trace, new_id, stamp, utc_now
from lab_helpers.stores.lineage import ATTEMPTS, MOST_TOGETHER, DeliveryFailed, LineageStore

CROWD = 24


class Counted(LineageStore):
    """The real store, which notes how many turns were in each request, and takes its time."""

    def __init__(self, lab):
        super().__init__(lab.trail.client, lab.trail.dataset, pause=lambda s: None)
        self.requests = []

    def _insert(self, rows):
        self.requests.append(len(rows.get("agent_sessions", rows["workflow_nodes"])))
        time.sleep(0.02)
        return super()._insert(rows)


def rows(**node):
    """One small turn's rows."""
    trace = Trace(new_id("TRC", 12))
    out = trace.rows(user_id=1001, prompt="hello", order_id=None, policy_eval=None, action=None)
    step = {
        "node_exec_id": new_id("NODE", 12),
        "trace_id": trace.trace_id,
        "node_name": "IntentAgent",
        "step_order": 1,
        "latency_ms": 1.0,
        "executed_at": stamp(utc_now()),
    }
    return trace.trace_id, {**out, "workflow_nodes": [{**step, **node}]}


def left(store, turns, at_once):
    """Write every turn from a thread of its own; trace id to the rows that were not taken."""

    def write(number):
        try:
            store.write(turns[number][1])
        except SystemExit:
            return None

    ends = at_once(len(turns), write)
    assert all(end is None or isinstance(end, DeliveryFailed) for end in ends), ends
    return {turn: end.left for (turn, _), end in zip(turns, ends, strict=True) if end}


def test_a_crowd_needs_few_requests_and_every_row_is_there_once(lab, at_once):
    store = Counted(lab)
    turns = [rows() for _ in range(CROWD)]
    assert left(store, turns, at_once) == {}
    assert sum(store.requests) == CROWD and max(store.requests) <= MOST_TOGETHER
    assert len(store.requests) <= CROWD / 3
    for trace_id, _ in turns:
        assert list(lab.trail.counts(trace_id).values()) == [1, 1, 0, 0]


def test_a_row_that_stops_a_request_costs_no_other_turn(lab, at_once):
    store = Counted(lab)
    bad_id, bad = rows(latency_ms="soon")
    turns = [rows() for _ in range(4)] + [(bad_id, bad)] + [rows() for _ in range(4)]
    failures = left(store, turns, at_once)
    assert failures == {bad_id: {"workflow_nodes": bad["workflow_nodes"]}}
    for trace_id, _ in turns:
        assert lab.trail.counts(trace_id)["workflow_nodes"] == (trace_id != bad_id)


def test_a_delivery_that_is_broken_off_leaves_the_others_their_rows(lab, at_once, monkeypatch):
    """The thread that sends for all is stopped: the others send their rows themselves."""
    store, insert, calls = Counted(lab), Counted._insert, []

    def stopped(self, batch):
        calls.append(batch)
        if len(calls) == 2:  # the first goes alone, the second takes those who wait
            raise SystemExit
        return insert(self, batch)

    monkeypatch.setattr(Counted, "_insert", stopped)
    turns = [rows() for _ in range(6)]
    assert left(store, turns, at_once) == {}
    there = [t for t, _ in turns if lab.trail.counts(t)["workflow_nodes"] == 1]
    assert len(there) == len(turns) - 1, "only the stopped thread's own turn is not told"


def test_an_outage_ends_for_a_crowd_as_it_does_for_one(lab, at_once):
    class Away(Counted):
        def _insert(self, batch):
            self.requests.append(1)
            return batch, "away"

    store = Away(lab)
    turns = [rows() for _ in range(6)]
    assert left(store, turns, at_once) == {t: {k: v for k, v in b.items() if v} for t, b in turns}
    assert len(store.requests) <= 6 * ATTEMPTS


def test_a_thread_stopped_while_it_waits_leaves_nothing_in_the_queue(lab):
    class Stopped:
        def __enter__(self):
            raise KeyboardInterrupt

        def __exit__(self, *_): ...

    store = Counted(lab)
    store._sending = Stopped()
    with pytest.raises(KeyboardInterrupt):
        store.write(rows()[1])
    assert not store._waiting and not store.requests
