"""Mutations and DML: what they do to the rows, and how they refuse."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.cloud.spanner import KeyRange, KeySet
from google.cloud.spanner_v1 import ExecuteSqlRequest, TransactionSelector, param_types

from tests.sandbox.spanner.conftest import rows

SHOP = (
    "CREATE TABLE users (id INT64 NOT NULL, name STRING(8), tier STRING(9) DEFAULT ('STANDARD'),"
    " n INT64, shout STRING(MAX) AS (UPPER(name)) STORED,"
    " CONSTRAINT small CHECK (n < 100)) PRIMARY KEY(id)",
    "CREATE TABLE orders (order_id INT64 NOT NULL, user_id INT64 NOT NULL, status STRING(9),"
    " CONSTRAINT of_user FOREIGN KEY(user_id) REFERENCES users(id)) PRIMARY KEY(order_id)",
    "CREATE TABLE items (order_id INT64 NOT NULL, id INT64 NOT NULL, status STRING(9))"
    " PRIMARY KEY(order_id, id), INTERLEAVE IN PARENT orders ON DELETE CASCADE",
    "CREATE TABLE notes (order_id INT64 NOT NULL, id INT64 NOT NULL)"
    " PRIMARY KEY(order_id, id), INTERLEAVE IN PARENT orders",
    "CREATE TABLE logs (id INT64 NOT NULL, order_id INT64, CONSTRAINT of_order"
    " FOREIGN KEY(order_id) REFERENCES orders(order_id) ON DELETE CASCADE) PRIMARY KEY(id)",
    "CREATE UNIQUE INDEX by_name ON users(name)",
)


@pytest.fixture(scope="module")
def shared(make_database):
    return make_database(*SHOP)


@pytest.fixture
def shop(shared):
    with shared.batch() as batch:
        for table in ("logs", "notes", "items", "orders", "users"):
            batch.delete(table, KeySet(all_=True))
        batch.insert("users", ["id", "name", "n"], [(1, "ann", 10), (2, "bob", 20)])
        batch.insert("orders", ["order_id", "user_id"], [(10, 1), (20, 2)])
        batch.insert("items", ["order_id", "id"], [(10, 1), (10, 2), (20, 3)])
        batch.insert("notes", ["order_id", "id"], [(20, 1)])
        batch.insert("logs", ["id", "order_id"], [(1, 10), (2, None)])
    return shared


def write(database, sql, **options):
    return database.run_in_transaction(lambda t: t.execute_update(sql, **options))


MUTATIONS = [
    (
        "insert fills in defaults and generated columns",
        lambda b: b.insert("users", ["id", "name"], [(3, "cid")]),
        "SELECT * FROM users WHERE id = 3",
        [[3, "cid", "STANDARD", None, "CID"]],
    ),
    (
        "update keeps the other columns",
        lambda b: b.update("users", ["id", "n"], [(1, 11), (2, 21)]),
        "SELECT id, name, n FROM users ORDER BY id",
        [[1, "ann", 11], [2, "bob", 21]],
    ),
    (
        "insert_or_update does either",
        lambda b: b.insert_or_update("users", ["id", "n"], [(1, 12), (4, 44)]),
        "SELECT id, name, n FROM users WHERE id IN (1, 4) ORDER BY id",
        [[1, "ann", 12], [4, None, 44]],
    ),
    (
        "of two writes to one row the later one stays",
        lambda b: b.insert_or_update("users", ["id", "n"], [(1, 1), (1, 2)]),
        "SELECT n FROM users WHERE id = 1",
        [[2]],
    ),
    (
        "replace forgets the other columns and the interleaved rows",
        lambda b: b.replace("orders", ["order_id", "user_id"], [(10, 2)]),
        "SELECT o.user_id, o.status, (SELECT COUNT(*) FROM items i WHERE i.order_id = 10)"
        " FROM orders o WHERE o.order_id = 10",
        [[2, None, 0]],
    ),
    (
        "delete takes interleaved rows and cascading references",
        lambda b: b.delete("orders", KeySet(keys=[(10,), (99,)])),
        "SELECT (SELECT COUNT(*) FROM items), (SELECT COUNT(*) FROM logs)",
        [[1, 1]],
    ),
    (
        "delete takes a range",
        lambda b: b.delete("items", KeySet(ranges=[KeyRange(start_closed=[10], end_closed=[10])])),
        "SELECT id FROM items",
        [[3]],
    ),
    (
        "mutations of one commit may come in any order",
        lambda b: (
            b.insert("orders", ["order_id", "user_id"], [(30, 5)]),
            b.insert("users", ["id"], [(5,)]),
        ),
        "SELECT COUNT(*) FROM orders WHERE user_id = 5",
        [[1]],
    ),
    (
        "a row may be deleted and made again in one commit",
        lambda b: (
            b.delete("orders", KeySet(keys=[(10,)])),
            b.insert("orders", ["order_id", "user_id"], [(10, 2)]),
            b.insert("items", ["order_id", "id"], [(10, 7)]),
        ),
        "SELECT id FROM items WHERE order_id = 10",
        [[7]],
    ),
]


@pytest.mark.parametrize(
    ("mutate", "sql", "expected"),
    [case[1:] for case in MUTATIONS],
    ids=[case[0] for case in MUTATIONS],
)
def test_a_mutation(shop, mutate, sql, expected):
    with shop.batch() as batch:
        mutate(batch)
    assert rows(shop, sql) == expected


REFUSED_MUTATIONS = [
    (
        lambda b: b.insert("users", ["id", "n"], [(n, 1) for n in range(100, 40_101)]),
        exceptions.InvalidArgument,
        "too many mutations: 80,004",
    ),
    (
        lambda b: b.insert("users", ["id"], [(1,)]),
        exceptions.AlreadyExists,
        r"Table users: Row \{Int64\(1\)\} already exists",
    ),
    (
        lambda b: b.insert("items", ["order_id", "id"], [(10, 1)]),
        exceptions.AlreadyExists,
        r"Table items: Row \{Int64\(10\), Int64\(1\)\} already exists",
    ),
    (
        lambda b: b.insert("users", ["id", "name"], [(3, "ann")]),
        exceptions.AlreadyExists,
        r'UNIQUE violation on index by_name,  duplicate key: \{String\("ann"\)\}',
    ),
    (
        lambda b: b.update("users", ["id", "n"], [(1, 1), (7, 1)]),
        exceptions.NotFound,
        r"Table users: Row \{Int64\(7\)\} not found",
    ),
    (
        lambda b: b.update("orders", ["order_id"], [(77,)]),
        exceptions.NotFound,
        "not found",
    ),
    (lambda b: b.insert("nope", ["id"], [(1,)]), exceptions.NotFound, "Table not found: nope"),
    (
        lambda b: b.insert("users", ["id", "nope"], [(3, 1)]),
        exceptions.NotFound,
        "Column not found in table users: nope",
    ),
    (
        lambda b: b.insert("users", ["name"], [("x",)]),
        exceptions.FailedPrecondition,
        "Primary key column id must be specified",
    ),
    (
        lambda b: b.insert("users", ["id", "shout"], [(3, "X")]),
        exceptions.FailedPrecondition,
        "Cannot write into generated column: users.shout",
    ),
    (
        lambda b: b.insert("orders", ["order_id", "user_id"], [(1, None)]),
        exceptions.FailedPrecondition,
        "Cannot specify a null value for column: orders.user_id in table: orders",
    ),
    (
        lambda b: b.insert("orders", ["order_id"], [(1,)]),
        exceptions.FailedPrecondition,
        "does not specify a non-null value for NOT NULL column: user_id",
    ),
    (
        lambda b: b.insert("users", ["id", "name"], [(3, "x" * 9)]),
        exceptions.FailedPrecondition,
        "maximum size limit for this column: users.name, size: 9, limit: 8",
    ),
    (
        lambda b: b.insert("users", ["id", "n"], [(3, 100)]),
        exceptions.OutOfRange,
        "Check constraint `users`.`small` is violated",
    ),
    (
        lambda b: b.insert("orders", ["order_id", "user_id"], [(1, 777)]),
        exceptions.FailedPrecondition,
        r"Foreign key `of_user` constraint violation on table `orders`\. Cannot find referenced"
        r" key `\{Int64\(777\)\}` in table `users`",
    ),
    (
        lambda b: b.update("orders", ["order_id", "user_id"], [(10, 777)]),
        exceptions.FailedPrecondition,
        "Foreign key `of_user`",
    ),
    (
        lambda b: b.delete("users", KeySet(keys=[(1,)])),
        exceptions.FailedPrecondition,
        "Foreign key `of_user` constraint violation when deleting",
    ),
    (
        lambda b: b.insert("items", ["order_id", "id"], [(99, 1)]),
        exceptions.NotFound,
        r"Parent row for row \{Int64\(99\)\} in table items is missing",
    ),
    (
        lambda b: b.delete("orders", KeySet(keys=[(20,)])),
        exceptions.FailedPrecondition,
        "Delete failed because one or more keys exist within the child table",
    ),
]


@pytest.mark.parametrize(("mutate", "error", "words"), REFUSED_MUTATIONS)
def test_a_refused_commit_leaves_nothing(shop, mutate, error, words):
    before = _everything(shop)
    with pytest.raises(error, match=words), shop.batch() as batch:
        batch.insert_or_update("users", ["id", "name"], [(50, "also")])
        mutate(batch)
    assert _everything(shop) == before


def _everything(database):
    tables = ("users", "orders", "items", "notes", "logs")
    return {table: rows(database, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables}


STATEMENTS = [
    ("UPDATE users SET n = n + 1 WHERE id IN (1, 2, 3)", 2, "SELECT SUM(n) FROM users", [[32]]),
    ("UPDATE users AS u SET u.n = 0 WHERE u.name = 'ann'", 1, "SELECT MIN(n) FROM users", [[0]]),
    (
        "UPDATE users SET tier = DEFAULT WHERE TRUE",
        2,
        "SELECT DISTINCT tier FROM users",
        [["STANDARD"]],
    ),
    (
        "INSERT INTO users (id, tier) VALUES (6, DEFAULT)",
        1,
        "SELECT tier FROM users WHERE id = 6",
        [["STANDARD"]],
    ),
    (
        "INSERT users (id, name) VALUES (3, 'cid'), (4, NULL)",
        2,
        "SELECT shout, tier FROM users WHERE id > 2 ORDER BY id",
        [["CID", "STANDARD"], [None, "STANDARD"]],
    ),
    (
        "INSERT INTO users (id, n) SELECT id + 10, n FROM users",
        2,
        "SELECT id FROM users WHERE id > 10 ORDER BY 1",
        [[11], [12]],
    ),
    (
        "INSERT OR UPDATE INTO users (id, n) VALUES (1, 99), (5, 55)",
        2,
        "SELECT id, name, n FROM users WHERE n > 50 ORDER BY id",
        [[1, "ann", 99], [5, None, 55]],
    ),
    (
        "INSERT OR IGNORE INTO users (id, n) VALUES (1, 99), (5, 55)",
        1,
        "SELECT id, n FROM users ORDER BY id",
        [[1, 10], [2, 20], [5, 55]],
    ),
    ("DELETE orders WHERE order_id = 10", 1, "SELECT COUNT(*) FROM items", [[1]]),
    ("DELETE FROM logs WHERE TRUE", 2, "SELECT COUNT(*) FROM logs", [[0]]),
    ("UPDATE users SET n = 1 WHERE FALSE", 0, "SELECT SUM(n) FROM users", [[30]]),
    (
        "UPDATE orders SET status = 'Returned'"
        " WHERE user_id IN (SELECT id FROM users WHERE n > 15)",
        1,
        "SELECT order_id FROM orders WHERE status = 'Returned'",
        [[20]],
    ),
]


@pytest.mark.parametrize(("sql", "count", "query", "expected"), STATEMENTS)
def test_a_dml_statement(shop, sql, count, query, expected):
    assert write(shop, sql) == count
    assert rows(shop, query) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO users (id, name) VALUES (3, 'cid') THEN RETURN id, shout", [[3, "CID"]]),
        ("UPDATE users SET n = n * 2 WHERE id = 1 THEN RETURN n AS doubled, id", [[20, 1]]),
        ("DELETE FROM orders WHERE order_id = 10 THEN RETURN user_id", [[1]]),
        (
            "INSERT OR UPDATE INTO users (id, n) VALUES (1, 7) THEN RETURN *",
            [[1, "ann", "STANDARD", 7, "ANN"]],
        ),
        (
            "UPDATE users SET n = 1 WHERE id = 2 THEN RETURN WITH ACTION AS what id",
            [[2, "UPDATE"]],
        ),
        ("UPDATE users SET n = 1 WHERE id = 99 THEN RETURN id", []),
    ],
)
def test_then_return(shop, sql, expected):
    def run(transaction):
        result = transaction.execute_sql(sql)
        return [list(row) for row in result], result.stats.row_count_exact

    assert shop.run_in_transaction(run) == (expected, len(expected))


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("INSERT INTO users (id) VALUES (1)", exceptions.AlreadyExists, r"Row \{Int64\(1\)\}"),
        ("INSERT INTO users (name) VALUES ('x')", exceptions.InvalidArgument, "primary key column"),
        ("INSERT INTO users (id, nope) VALUES (1, 1)", exceptions.InvalidArgument, "Column nope"),
        ("UPDATE users SET nope = 1 WHERE TRUE", exceptions.InvalidArgument, "Column nope"),
        ("UPDATE users SET id = 9 WHERE id = 1", exceptions.InvalidArgument, "key column id"),
        ("UPDATE users SET shout = 'x' WHERE TRUE", exceptions.InvalidArgument, "generated column"),
        ("UPDATE users SET n = 1", exceptions.InvalidArgument, "must have a WHERE clause"),
        ("DELETE FROM users", exceptions.InvalidArgument, "must have a WHERE clause"),
        ("UPDATE nope SET n = 1 WHERE TRUE", exceptions.InvalidArgument, r"nope \[at 1:8\]"),
        (
            "INSERT INTO orders (order_id, user_id) VALUES (1, NULL)",
            exceptions.FailedPrecondition,
            "null value for column: orders.user_id",
        ),
        (
            "UPDATE users SET name = 'much too long' WHERE id = 1",
            exceptions.FailedPrecondition,
            "maximum size limit for this column: users.name",
        ),
        ("UPDATE users SET n = 100 WHERE id = 1", exceptions.OutOfRange, "`users`.`small`"),
        (
            "INSERT INTO orders (order_id, user_id) VALUES (1, 777)",
            exceptions.FailedPrecondition,
            "Foreign key `of_user`",
        ),
        (
            "UPDATE orders SET user_id = 777 WHERE order_id = 10",
            exceptions.FailedPrecondition,
            "Foreign key `of_user`",
        ),
        (
            "DELETE FROM users WHERE id = 1",
            exceptions.FailedPrecondition,
            "referencing table `orders`",
        ),
        (
            "INSERT INTO items (order_id, id) VALUES (99, 1)",
            exceptions.NotFound,
            "Parent row for row",
        ),
        ("INSERT INTO users (id) VALUES (1 / 0)", exceptions.OutOfRange, "division by zero"),
    ],
)
def test_a_refused_dml_statement_leaves_nothing(shop, sql, error, words):
    before = _everything(shop)
    with pytest.raises(error, match=words):
        write(shop, sql)
    assert _everything(shop) == before


def test_batch_dml_stops_at_the_first_failure_and_keeps_what_came_before(shop):
    def run(transaction):
        transaction.execute_sql("SELECT 1").one()
        status, counts = transaction.batch_update(
            [
                "UPDATE users SET n = 1 WHERE TRUE",
                "UPDATE nope SET n = 1 WHERE TRUE",
                "UPDATE users SET n = 2 WHERE TRUE",
            ]
        )
        return status.code, status.message, list(counts)

    code, message, counts = shop.run_in_transaction(run)
    assert (code, counts) == (3, [2])
    assert "Table not found: nope" in message
    assert rows(shop, "SELECT SUM(n) FROM users") == [[2]]


def test_batch_dml_begins_a_transaction(shop):
    def run(transaction):
        _, counts = transaction.batch_update(
            [
                (
                    "UPDATE users SET n = @n WHERE id = 1",
                    {"n": 3},
                    {"n": param_types.INT64},
                ),
                "UPDATE users SET n = n + 1 WHERE id = 1",
            ]
        )
        return list(counts)

    assert shop.run_in_transaction(run) == [1, 1]
    assert rows(shop, "SELECT n FROM users WHERE id = 1") == [[4]]


def test_partitioned_dml_counts_and_commits(shop):
    assert shop.execute_partitioned_dml("UPDATE users SET n = 5 WHERE n > 0") == 2
    assert rows(shop, "SELECT SUM(n) FROM users") == [[10]]


def test_a_dml_request_sent_again_is_done_once(shop):
    """A client that lost the answer sends the same transaction and sequence number again."""
    session = shop._sessions_manager.get_session(_any_transaction_type())
    api = shop.spanner_api
    first = ExecuteSqlRequest(
        session=session.name,
        sql="UPDATE users SET n = n + 1 WHERE id = 1",
        seqno=1,
        transaction=TransactionSelector({"begin": {"read_write": {}}}),
    )
    begun = api.execute_sql(request=first)
    again = ExecuteSqlRequest(
        session=session.name,
        sql=first.sql,
        seqno=1,
        transaction=TransactionSelector(id=begun.metadata.transaction.id),
    )
    counts = [api.execute_sql(request=again).stats.row_count_exact for _ in range(3)]
    other = ExecuteSqlRequest(again, sql="UPDATE users SET n = 0 WHERE TRUE")
    with pytest.raises(exceptions.InvalidArgument, match="sent before with another statement"):
        api.execute_sql(request=other)
    api.commit(session=session.name, transaction_id=begun.metadata.transaction.id, mutations=[])
    assert counts == [1, 1, 1]
    assert rows(shop, "SELECT n FROM users WHERE id = 1") == [[11]]


def test_a_commit_sent_again_gets_the_same_timestamp(shop):
    session = shop._sessions_manager.get_session(_any_transaction_type())
    api = shop.spanner_api
    begun = api.execute_sql(
        request=ExecuteSqlRequest(
            session=session.name,
            sql="UPDATE users SET n = n + 1 WHERE id = 1",
            seqno=1,
            transaction=TransactionSelector({"begin": {"read_write": {}}}),
        )
    )
    identity = begun.metadata.transaction.id
    answers = [
        api.commit(session=session.name, transaction_id=identity, mutations=[]) for _ in range(2)
    ]
    assert answers[0].commit_timestamp == answers[1].commit_timestamp
    assert rows(shop, "SELECT n FROM users WHERE id = 1") == [[11]]


def _any_transaction_type():
    from google.cloud.spanner_v1.database_sessions_manager import TransactionType

    return TransactionType.READ_WRITE


def test_a_batch_write_commits_group_by_group(shop):
    with shop.mutation_groups() as groups:
        groups.group().insert("users", ["id"], [(60,)])
        groups.group().insert("users", ["id"], [(1,)])
        groups.group().insert("users", ["id"], [(61,)])
        answers = list(groups.batch_write())
    assert [answer.status.code for answer in answers] == [0, 6, 0]
    assert rows(shop, "SELECT id FROM users WHERE id >= 60 ORDER BY id") == [[60], [61]]


def test_a_batch_whose_first_statement_fails_reports_it(shop):
    def run(transaction):
        status, counts = transaction.batch_update(["UPDATE nope SET n = 1 WHERE TRUE"])
        codes.append((status.code, list(counts)))
        raise LookupError("give up")

    codes: list = []
    with pytest.raises(LookupError):
        shop.run_in_transaction(run)
    assert codes == [(3, [])]
