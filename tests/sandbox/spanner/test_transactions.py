"""Read-write transactions: exact under contention, serializable, and none is stuck for long."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.api_core import exceptions
from google.cloud.spanner import KeySet
from google.cloud.spanner_v1 import param_types

from tests.sandbox.spanner.conftest import INSTANCE, PROJECT, rows

INT64, STRING = param_types.INT64, param_types.STRING
LIMIT = 10
SHOP = (
    "CREATE TABLE users (id INT64 NOT NULL) PRIMARY KEY(id)",
    "CREATE TABLE orders (order_id INT64 NOT NULL, user_id INT64 NOT NULL, status STRING(20)"
    " NOT NULL, returned_at TIMESTAMP, trace_id STRING(64),"
    " FOREIGN KEY(user_id) REFERENCES users(id)) PRIMARY KEY(order_id)",
    "CREATE TABLE items (id INT64 NOT NULL, order_id INT64 NOT NULL, status STRING(20) NOT NULL,"
    " FOREIGN KEY(order_id) REFERENCES orders(order_id)) PRIMARY KEY(id)",
)


@pytest.fixture(scope="module")
def shared(make_database):
    return make_database(*SHOP, "CREATE TABLE t (id INT64, v INT64) PRIMARY KEY(id)")


@pytest.fixture
def database(shared):
    with shared.batch() as batch:
        batch.delete("t", KeySet(all_=True))
        batch.insert("t", ["id", "v"], [(1, 0), (2, 0)])
    return shared


def stock(database, orders: int, returned_items: int) -> None:
    """One customer with `orders` open orders of one item, and items returned on an older one."""
    with database.batch() as batch:
        for table in ("items", "orders"):
            batch.delete(table, KeySet(all_=True))
        batch.insert_or_update("users", ["id"], [(1,)])
        batch.insert("orders", ["order_id", "user_id", "status"], [(0, 1, "Returned")])
        batch.insert(
            "orders",
            ["order_id", "user_id", "status"],
            [(order, 1, "Complete") for order in range(1, orders + 1)],
        )
        batch.insert(
            "items",
            ["id", "order_id", "status"],
            [(-place, 0, "Returned") for place in range(1, returned_items + 1)]
            + [(order, order, "Complete") for order in range(1, orders + 1)],
        )


def refund(database, order: int, trace: str, *, limit: int = LIMIT) -> bool:
    """Checks and changes as the lab's refund does; True if this call made the refund."""

    def work(transaction) -> bool:
        [[status, user]] = transaction.execute_sql(
            "SELECT status, user_id FROM orders WHERE order_id = @o", {"o": order}, {"o": INT64}
        )
        [[returned]] = transaction.execute_sql(
            "SELECT COUNT(*) FROM items i JOIN orders o ON o.order_id = i.order_id"
            " WHERE o.user_id = @u AND o.order_id != @o AND i.status = 'Returned'",
            {"u": user, "o": order},
            {"u": INT64, "o": INT64},
        )
        if status == "Returned" or returned >= limit:
            return False
        transaction.execute_update(
            "UPDATE orders SET status = 'Returned', returned_at = CURRENT_TIMESTAMP(),"
            " trace_id = @t WHERE order_id = @o",
            params={"o": order, "t": trace},
            param_types={"o": INT64, "t": STRING},
        )
        transaction.execute_update(
            "UPDATE items SET status = 'Returned' WHERE order_id = @o",
            params={"o": order},
            param_types={"o": INT64},
        )
        return True

    return database.run_in_transaction(work)


def at_once(calls):
    """Runs all the calls at the same moment; returns their results and the seconds it took."""
    barrier = threading.Barrier(len(calls))

    def one(call):
        barrier.wait()
        return call()

    begun = time.monotonic()
    with ThreadPoolExecutor(len(calls)) as pool:
        results = list(pool.map(one, calls))
    return results, time.monotonic() - begun


@pytest.mark.parametrize("threads", [20, 20, 20, 50])
def test_of_many_refunds_of_one_order_exactly_one_succeeds(database, threads):
    stock(database, orders=1, returned_items=0)
    results, seconds = at_once(
        [lambda n=n: refund(database, 1, f"trace-{n}") for n in range(threads)]
    )
    assert Counter(results) == {True: 1, False: threads - 1}
    [[trace]] = rows(database, "SELECT trace_id FROM orders WHERE order_id = 1")
    assert trace == f"trace-{results.index(True)}"
    assert seconds < 5


@pytest.mark.parametrize("threads", [20, 20, 20, 50])
def test_refunds_of_different_orders_stop_at_the_limit(database, threads):
    stock(database, orders=threads, returned_items=LIMIT - 3)
    results, seconds = at_once(
        [lambda n=n: refund(database, n, f"trace-{n}") for n in range(1, threads + 1)]
    )
    assert Counter(results) == {True: 3, False: threads - 3}
    assert rows(database, "SELECT COUNT(*) FROM items WHERE status = 'Returned'") == [[LIMIT]]
    assert seconds < 5


def test_refunds_that_do_not_conflict_all_succeed(database):
    stock(database, orders=20, returned_items=0)
    results, _ = at_once(
        [lambda n=n: refund(database, n, f"trace-{n}", limit=99) for n in range(1, 21)]
    )
    assert results == [True] * 20


_INCREMENT = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from google.cloud.spanner_v1 import _helpers
_helpers._cloud_region = "global"
from google.auth.credentials import AnonymousCredentials
from google.cloud import spanner
project, instance, database = sys.argv[1:]
client = spanner.Client(project=project, credentials=AnonymousCredentials())
database = client.instance(instance).database(database)
def add(transaction):
    [[value]] = transaction.execute_sql("SELECT v FROM t WHERE id = 1")
    transaction.update("t", ["id", "v"], [(1, value + 1)])
with ThreadPoolExecutor(5) as pool:
    list(pool.map(lambda _: database.run_in_transaction(add), range(25)))
"""


def test_increments_from_several_processes_are_all_counted(sandbox, database):
    command = [sys.executable, "-c", _INCREMENT, PROJECT, INSTANCE, database.database_id]
    environment = {**os.environ, **sandbox.environment}
    clients = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [client.wait(60) for client in clients] == [0, 0, 0]
    assert rows(database, "SELECT v FROM t WHERE id = 1") == [[75]]


def test_write_skew_is_refused(database):
    """Two doctors on call: each may leave while the other stays; both at once may not."""
    barrier = threading.Barrier(2, timeout=5)

    def leave(me: int) -> bool:
        first_try = [True]

        def work(transaction):
            [[away]] = transaction.execute_sql("SELECT SUM(v) FROM t")
            if first_try.pop() if first_try else False:
                barrier.wait()  # both have read before either writes
            if away > 0:
                return False
            transaction.execute_update(
                "UPDATE t SET v = 1 WHERE id = @id", params={"id": me}, param_types={"id": INT64}
            )
            return True

        return database.run_in_transaction(work)

    results, _ = at_once([lambda: leave(1), lambda: leave(2)])
    assert sorted(results) == [False, True]
    assert rows(database, "SELECT SUM(v) FROM t") == [[1]]


def test_a_phantom_is_noticed(database):
    """A row that appears where a transaction has counted makes it run again."""
    attempts = []

    def count_then_write(transaction):
        [[count]] = transaction.execute_sql("SELECT COUNT(*) FROM t")
        attempts.append(count)
        if len(attempts) == 1:
            with database.batch() as batch:
                batch.insert("t", ["id", "v"], [(3, 0)])
        transaction.insert_or_update("t", ["id", "v"], [(9, count)])

    database.run_in_transaction(count_then_write)
    assert attempts == [2, 3]
    assert rows(database, "SELECT v FROM t WHERE id = 9") == [[3]]


def test_a_change_that_does_not_touch_what_was_read_costs_no_retry(database):
    attempts = []

    def work(transaction):
        [[value]] = transaction.execute_sql("SELECT v FROM t WHERE id = 1")
        attempts.append(value)
        with database.batch() as batch:
            batch.update("t", ["id", "v"], [(2, 7)])
        transaction.execute_update("UPDATE t SET v = 5 WHERE id = 1")

    database.run_in_transaction(work)
    assert attempts == [0]
    assert rows(database, "SELECT id, v FROM t ORDER BY id") == [[1, 5], [2, 7]]


def test_a_transaction_reads_its_own_writes_and_no_one_else_does(database):
    def work(transaction):
        transaction.execute_update("UPDATE t SET v = 8 WHERE id = 1")
        [[inside]] = transaction.execute_sql("SELECT v FROM t WHERE id = 1")
        return inside, rows(database, "SELECT v FROM t WHERE id = 1")

    assert database.run_in_transaction(work) == (8, [[0]])


def test_an_exception_takes_everything_back(database):
    def work(transaction):
        transaction.execute_update("UPDATE t SET v = 8 WHERE TRUE")
        transaction.insert("t", ["id", "v"], [(5, 5)])
        raise LookupError("changed my mind")

    with pytest.raises(LookupError):
        database.run_in_transaction(work)
    assert rows(database, "SELECT COUNT(*), SUM(v) FROM t") == [[2, 0]]


# What a statement's failure does to its transaction, when the program goes on regardless.
SWALLOWED = [
    ("UPDATE t SET v = CAST('x' AS INT64) WHERE id = 1", exceptions.OutOfRange, 11),
    ("UPDATE nope SET v = 1 WHERE TRUE", exceptions.InvalidArgument, 11),
    ("SELECT 1 / 0", exceptions.OutOfRange, 11),
    ("INSERT INTO t (id) VALUES (1)", exceptions.AlreadyExists, None),
]


@pytest.mark.parametrize(("sql", "error", "expected"), SWALLOWED)
def test_only_a_constraint_error_ends_the_transaction(database, sql, error, expected):
    def work(transaction):
        transaction.execute_update("UPDATE t SET v = v + 10 WHERE id = 1")
        with pytest.raises(error):
            list(transaction.execute_sql(sql))
        transaction.execute_update("UPDATE t SET v = v + 1 WHERE id = 1")

    if expected is None:
        with pytest.raises(error):
            database.run_in_transaction(work)
        assert rows(database, "SELECT v FROM t WHERE id = 1") == [[0]]
    else:
        database.run_in_transaction(work)
        assert rows(database, "SELECT v FROM t WHERE id = 1") == [[expected]]


@pytest.mark.parametrize(
    ("statement", "at_most_s"),
    [("SELECT v FROM t WHERE id = 1", 0.5), ("UPDATE t SET v = 99 WHERE id = 1", 3.0)],
    ids=["after a read", "after a write"],
)
def test_a_transaction_left_open_holds_others_up_only_briefly(database, statement, at_most_s):
    """The client does not roll back when an API error leaves the function."""

    def leave(transaction):
        list(transaction.execute_sql(statement))
        raise exceptions.FailedPrecondition("limit reached")

    with pytest.raises(exceptions.FailedPrecondition):
        database.run_in_transaction(leave)
    begun = time.monotonic()
    database.run_in_transaction(lambda t: t.execute_update("UPDATE t SET v = v + 1 WHERE id = 1"))
    assert time.monotonic() - begun < at_most_s
    assert rows(database, "SELECT v FROM t WHERE id = 1") == [[1]]


def test_a_slow_transaction_that_nobody_waits_for_commits(database):
    def slow(transaction):
        transaction.execute_update("UPDATE t SET v = 1 WHERE id = 1")
        time.sleep(1.7)  # longer than the lock lets a holder idle when others wait
        transaction.execute_update("UPDATE t SET v = v + 1 WHERE id = 1")
        calls.append(1)

    calls: list[int] = []
    database.run_in_transaction(slow)
    assert calls == [1]
    assert rows(database, "SELECT v FROM t WHERE id = 1") == [[2]]


def test_ddl_in_the_middle_makes_a_transaction_run_again(make_database):
    database = make_database("CREATE TABLE t (id INT64, v INT64) PRIMARY KEY(id)")
    attempts = []

    def work(transaction):
        attempts.append(list(transaction.execute_sql("SELECT COUNT(*) FROM t")))
        if len(attempts) == 1:
            database.update_ddl(["ALTER TABLE t ADD COLUMN w INT64"]).result(10)
        transaction.execute_update("INSERT INTO t (id, v) VALUES (1, 1)")

    database.run_in_transaction(work)
    assert len(attempts) == 2
    assert rows(database, "SELECT * FROM t") == [[1, 1, None]]


@pytest.mark.parametrize("after", ["commit", "rollback"])
def test_a_transaction_that_is_over_says_so(database, after):
    from google.cloud.spanner_v1 import ExecuteSqlRequest, TransactionSelector
    from google.cloud.spanner_v1.database_sessions_manager import TransactionType

    session = database._sessions_manager.get_session(TransactionType.READ_WRITE).name
    api = database.spanner_api
    begin = TransactionSelector({"begin": {"read_write": {}}})
    request = ExecuteSqlRequest(session=session, sql="SELECT 1", transaction=begin)
    identity = api.execute_sql(request=request).metadata.transaction.id
    if after == "commit":
        api.commit(session=session, transaction_id=identity, mutations=[])
    else:
        api.rollback(session=session, transaction_id=identity)
    with pytest.raises(exceptions.FailedPrecondition, match="committed or rolledback"):
        api.execute_sql(
            request=ExecuteSqlRequest(
                session=session, sql="SELECT 1", transaction=TransactionSelector(id=identity)
            )
        )
