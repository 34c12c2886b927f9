"""Reads by key and index, and snapshots: what they see, and that nothing keeps them waiting."""

from __future__ import annotations

import datetime as dt
import threading
import time

import pytest
from google.api_core import exceptions
from google.cloud.spanner import KeyRange, KeySet

from tests.sandbox.spanner.conftest import rows

ALL = [["a", 1], ["a", 2], ["a", 3], ["b", 1], ["b", 2]]


@pytest.fixture(scope="module")
def keyed(make_database):
    database = make_database(
        "CREATE TABLE t (k STRING(9), n INT64, v STRING(9)) PRIMARY KEY(k, n)",
        "CREATE TABLE down (n INT64) PRIMARY KEY(n DESC)",
        "CREATE INDEX by_v ON t(v DESC)",
        "CREATE UNIQUE INDEX by_n ON down(n)",
    )
    with database.batch() as batch:
        batch.insert("t", ["k", "n", "v"], [(k, n, f"{k}{n}") for k, n in ALL[:4]])
        batch.insert("t", ["k", "n"], [("b", 2)])
        batch.insert("down", ["n"], [(n,) for n in range(1, 6)])
    return database


def _open(start, end):
    return KeySet(ranges=[KeyRange(start_open=start, end_open=end)])


def _closed(start, end):
    return KeySet(ranges=[KeyRange(start_closed=start, end_closed=end)])


@pytest.mark.parametrize(
    ("keyset", "expected"),
    [
        (KeySet(all_=True), ALL),
        (KeySet(keys=[("a", 2)]), [["a", 2]]),
        (KeySet(keys=[("b", 1), ("a", 3), ("nope", 1)]), [["a", 3], ["b", 1]]),
        (KeySet(keys=[]), []),
        (_closed(["a", 2], ["b", 1]), [["a", 2], ["a", 3], ["b", 1]]),
        (_open(["a", 2], ["b", 1]), [["a", 3]]),
        (_closed(["a"], ["a"]), ALL[:3]),
        (KeySet(ranges=[KeyRange(start_closed=["b"], end_closed=[])]), ALL[3:]),
        (KeySet(ranges=[KeyRange(start_closed=["a", 3], end_open=["b", 2])]), ALL[2:4]),
        (
            KeySet(keys=[("a", 1)], ranges=[KeyRange(start_open=["b", 1], end_closed=["b"])]),
            [["a", 1], ["b", 2]],
        ),
    ],
)
def test_reading_by_key(keyed, keyset, expected):
    with keyed.snapshot() as snapshot:
        assert list(snapshot.read("t", ["k", "n"], keyset)) == expected


@pytest.mark.parametrize(
    ("table", "columns", "keyset", "options", "expected"),
    [
        ("t", ["n"], KeySet(all_=True), {"limit": 2}, [[1], [2]]),
        ("t", ["v"], KeySet(keys=[("a2",)]), {"index": "by_v"}, [["a2"]]),
        (
            "t",
            ["v"],
            KeySet(all_=True),
            {"index": "by_v"},
            [["b1"], ["a3"], ["a2"], ["a1"], [None]],
        ),
        ("t", ["n"], KeySet(keys=[(None,)]), {"index": "by_v"}, [[2]]),
        ("down", ["n"], KeySet(all_=True), {}, [[5], [4], [3], [2], [1]]),
        ("down", ["n"], _closed([4], [2]), {}, [[4], [3], [2]]),
        ("down", ["n"], _open([4], [2]), {"limit": 5}, [[3]]),
        ("down", ["n"], _closed([2], [4]), {"index": "by_n"}, [[2], [3], [4]]),
    ],
)
def test_reading_in_the_order_of_a_key_or_index(keyed, table, columns, keyset, options, expected):
    with keyed.snapshot() as snapshot:
        assert list(snapshot.read(table, columns, keyset, **options)) == expected


@pytest.mark.parametrize(
    ("table", "columns", "keyset", "options", "error", "words"),
    [
        ("nope", ["n"], KeySet(all_=True), {}, exceptions.NotFound, "Table not found: nope"),
        ("t", ["nope"], KeySet(all_=True), {}, exceptions.NotFound, "Column not found"),
        (
            "t",
            ["n"],
            KeySet(all_=True),
            {"index": "by_n"},
            exceptions.InvalidArgument,
            "Index by_n was not found on table t",
        ),
        ("t", ["n"], KeySet(keys=[("a", 1, 2)]), {}, exceptions.InvalidArgument, "3 values"),
        ("t", ["n"], KeySet(keys=[("a", "x")]), {}, exceptions.FailedPrecondition, "as INT64"),
    ],
)
def test_a_read_that_is_refused(keyed, table, columns, keyset, options, error, words):
    with pytest.raises(error, match=words), keyed.snapshot() as snapshot:
        list(snapshot.read(table, columns, keyset, **options))


@pytest.mark.parametrize(
    "bound",
    [
        {"exact_staleness": dt.timedelta(seconds=1)},
        {"max_staleness": dt.timedelta(seconds=1)},
        {"min_read_timestamp": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)},
        {"read_timestamp": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)},
    ],
    ids=lambda bound: next(iter(bound)),
)
def test_stale_reads_answer(keyed, bound):
    with keyed.snapshot(**bound) as snapshot:
        assert list(snapshot.execute_sql("SELECT COUNT(*) FROM t")) == [[5]]


@pytest.fixture
def counter(make_database):
    database = make_database("CREATE TABLE c (id INT64, v INT64) PRIMARY KEY(id)")
    with database.batch() as batch:
        batch.insert("c", ["id", "v"], [(1, 0)])
    return database


def test_a_snapshot_keeps_seeing_what_it_saw(counter):
    with counter.snapshot(multi_use=True) as snapshot:
        before = list(snapshot.execute_sql("SELECT v FROM c"))
        with counter.batch() as batch:
            batch.update("c", ["id", "v"], [(1, 1)])
        after = list(snapshot.read("c", ["v"], KeySet(all_=True)))
    assert (before, after) == ([[0]], [[0]])
    assert rows(counter, "SELECT v FROM c") == [[1]]


def test_a_snapshot_pinned_at_its_begin_sees_that_moment(counter):
    with counter.snapshot(multi_use=True) as snapshot:
        snapshot.begin()
        with counter.batch() as batch:
            batch.update("c", ["id", "v"], [(1, 2)])
        assert list(snapshot.execute_sql("SELECT v FROM c")) == [[0]]


def test_two_streams_of_one_snapshot_do_not_disturb_each_other(counter):
    sql = "SELECT x FROM UNNEST(GENERATE_ARRAY(1, 5000)) x ORDER BY x"
    with counter.snapshot(multi_use=True) as snapshot:
        snapshot.begin()
        first, second = snapshot.execute_sql(sql), snapshot.execute_sql(sql)
        pairs = list(zip(first, second, strict=True))
    assert len(pairs) == 5000 and all(a == b for a, b in pairs)


def test_reads_do_not_wait_for_a_writer(counter):
    held, done = threading.Event(), threading.Event()

    def hold(transaction):
        transaction.execute_sql("SELECT 1").one()
        transaction.execute_update("UPDATE c SET v = 99 WHERE id = 1")
        held.set()
        assert done.wait(5)

    writer = threading.Thread(target=counter.run_in_transaction, args=(hold,))
    writer.start()
    assert held.wait(5)
    begun = time.monotonic()
    seen = rows(counter, "SELECT v FROM c")
    waited = time.monotonic() - begun
    done.set()
    writer.join()
    assert seen == [[0]] and waited < 0.5
    assert rows(counter, "SELECT v FROM c") == [[99]]


def test_a_snapshot_may_not_write(counter):
    with (
        pytest.raises(exceptions.InvalidArgument, match="read-only transaction"),
        counter.snapshot(multi_use=True) as snapshot,
    ):
        list(snapshot.execute_sql("UPDATE c SET v = 1 WHERE TRUE"))
    with (
        pytest.raises(exceptions.InvalidArgument, match="DML statements can only"),
        counter.snapshot() as snapshot,
    ):
        list(snapshot.execute_sql("UPDATE c SET v = 1 WHERE TRUE"))
