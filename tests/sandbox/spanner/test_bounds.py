"""What the service keeps in memory stays bounded, and forgotten transactions are ended."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from pathlib import Path

import duckdb
import pytest
from google.cloud.spanner_v1 import ExecuteSqlRequest

from lab_helpers.sandbox.spanner import database as database_module
from lab_helpers.sandbox.spanner.database import Database
from lab_helpers.sandbox.spanner.errors import SpannerError
from lab_helpers.sandbox.spanner.lock import WriterLock
from lab_helpers.sandbox.spanner.storage import SPARE_CONNECTIONS, Storage
from lab_helpers.sandbox.spanner.transactions import Mode
from tests.sandbox.spanner.conftest import rows


@pytest.fixture
def store(tmp_path):
    database = Database(tmp_path / "x.duckdb")
    database.update_ddl(["CREATE TABLE t (id INT64, v INT64) PRIMARY KEY(id)"])
    yield database
    database.close()


def test_finished_transactions_are_remembered_up_to_a_limit(store, monkeypatch):
    monkeypatch.setattr(database_module, "REMEMBERED", 20)
    for _ in range(50):
        store.begin(Mode.READ_WRITE, "s").rollback()
    assert len(store._over) == 20
    assert store._open == {}


def test_snapshots_that_clients_leave_open_are_ended(store, monkeypatch):
    monkeypatch.setattr(database_module, "READ_ONLY_IDLE_S", 0.05)
    store._next_sweep = 0.0
    monkeypatch.setattr(database_module, "SWEEP_EVERY_S", 0.0)
    left = store.begin(Mode.READ_ONLY, "s")
    left.pin()
    time.sleep(0.1)
    store.begin(Mode.READ_ONLY, "s")
    with pytest.raises(SpannerError, match="is gone"):
        store.transaction(left.id.encode())


def test_connections_are_closed_after_a_burst(tmp_path):
    storage = Storage(tmp_path / "x.duckdb")
    borrowed = [storage.borrow() for _ in range(50)]
    for connection in borrowed:
        storage.give_back(connection)
    assert len(storage._spare) == SPARE_CONNECTIONS
    closed = 0
    for connection in borrowed:
        with contextlib.suppress(duckdb.ConnectionException):
            connection.execute("SELECT 1")
            continue
        closed += 1
    assert closed == 50 - SPARE_CONNECTIONS
    storage.close()


class _Holder:
    def __init__(self, lock: WriterLock, *, idle: bool) -> None:
        self._lock, self._idle = lock, idle

    def preempt_if_idle(self, idle_s: float, failed_s: float) -> bool:
        if self._idle:
            self._lock.release(self)
        return self._idle


def test_the_lock_is_given_in_the_order_of_asking():
    lock = WriterLock()
    first = _Holder(lock, idle=False)
    lock.acquire(first)
    order: list[int] = []
    threads = []
    for number in range(5):

        def wait(number: int = number) -> None:
            holder = _Holder(lock, idle=False)
            lock.acquire(holder)
            order.append(number)
            lock.release(holder)

        threads.append(threading.Thread(target=wait))
        threads[-1].start()
        while len(lock._queue) <= number:
            time.sleep(0.001)
    lock.release(first)
    for thread in threads:
        thread.join(5)
    assert order == [0, 1, 2, 3, 4]


def test_an_idle_holder_is_set_aside_and_a_busy_one_is_waited_for():
    lock = WriterLock(wait_s=0.3)
    lock.acquire(_Holder(lock, idle=True))
    busy = _Holder(lock, idle=False)
    lock.acquire(busy)  # takes it from the idle one
    assert lock.held_by(busy)
    with pytest.raises(SpannerError, match="waited too long"):
        lock.acquire(_Holder(lock, idle=False))
    assert lock.held_by(busy) and not lock._queue


def _resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux' /proc")
def test_memory_stays_flat_over_many_transactions(sandbox, make_database):
    database = make_database("CREATE TABLE t (id INT64, v INT64) PRIMARY KEY(id)")
    with database.batch() as batch:
        batch.insert("t", ["id", "v"], [(n, 0) for n in range(10)])

    def work(transaction):
        list(transaction.execute_sql("SELECT SUM(v) FROM t"))
        transaction.execute_update("UPDATE t SET v = v + 1 WHERE id = 1")

    def many(count: int) -> None:
        for _ in range(count):
            database.run_in_transaction(work)
            rows(database, "SELECT v FROM t WHERE id = 1")

    many(100)
    before = _resident_mb(sandbox.process.pid)
    many(400)
    assert _resident_mb(sandbox.process.pid) - before < 40
    assert rows(database, "SELECT v FROM t WHERE id = 1") == [[500]]


def test_commits_are_remembered_on_disk_for_a_while(store, monkeypatch):
    monkeypatch.setattr(database_module, "PRUNE_EVERY", 10)
    monkeypatch.setattr(database_module, "COMMITS_KEPT", dt.timedelta(0))
    for number in range(25):
        transaction = store.begin(Mode.READ_WRITE, "s")
        sql = f"INSERT INTO t (id) VALUES ({number})"
        transaction.execute(store.sql(sql, ExecuteSqlRequest.pb()().params, {}))
        store.commit(transaction.id.encode(), [])
    with store.storage.connection() as connection:
        [[kept]] = connection.execute("SELECT COUNT(*) FROM sandbox_private.commits").fetchall()
    assert kept == 5


def test_of_many_open_snapshots_the_oldest_are_ended(store, monkeypatch):
    monkeypatch.setattr(database_module, "SNAPSHOTS_OPEN", 5)
    snapshots = []
    for _ in range(8):
        snapshots.append(store.begin(Mode.READ_ONLY, "s"))
        snapshots[-1].pin()
    time.sleep(0.6)  # those just begun are spared
    store.begin(Mode.READ_WRITE, "s").rollback()
    assert list(store._open) == [snapshot.id for snapshot in snapshots[-5:]]
