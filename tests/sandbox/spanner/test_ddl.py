"""DDL: what is printed says the same as what was given; changes keep the rows."""

from __future__ import annotations

import pytest
from google.api_core import exceptions

from lab_helpers.sandbox.spanner import ddl_parser, ddl_printer
from tests.sandbox.spanner.conftest import rows

EVERY_CLAUSE = """
CREATE TABLE IF NOT EXISTS `order` ( -- a comment, and a reserved word
  id INT64 NOT NULL, part STRING(MAX) NOT NULL, flag BOOL DEFAULT (TRUE),
  name STRING(0x10) DEFAULT ("a, (b)"), price NUMERIC, ratio FLOAT64, small FLOAT32,
  raw BYTES(MAX), day DATE, meta JSON, tags ARRAY<STRING(8)>, numbers ARRAY<INT64>,
  both STRING(MAX) AS (CONCAT(part, "/", name)) STORED,
  at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true),
  CONSTRAINT positive CHECK (id > 0), CHECK (ratio < 1),
  CONSTRAINT to_self FOREIGN KEY (part) REFERENCES other (name) ON DELETE CASCADE,
  FOREIGN KEY (day) REFERENCES days,
) PRIMARY KEY (id DESC, part), INTERLEAVE IN PARENT parents ON DELETE CASCADE,
  ROW DELETION POLICY (OLDER_THAN(at, INTERVAL 30 DAY));
"""


def test_printing_a_table_loses_nothing():
    table = ddl_parser.parse(EVERY_CLAUSE).table
    printed = ddl_printer.create_table(table)
    completed = printed.replace("REFERENCES days()", "REFERENCES days")
    assert ddl_parser.parse(completed).table == table
    assert "`order`" in printed and "PRIMARY KEY(id DESC, part)" in printed


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE UNIQUE NULL_FILTERED INDEX i ON t(a, b DESC) STORING (c)",
        "CREATE INDEX i ON t(a)",
    ],
)
def test_printing_an_index_loses_nothing(statement):
    index = ddl_parser.parse(statement).index
    assert ddl_printer.create_index(index) == statement


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TABLE t (a INT64)", "Expecting 'PRIMARY KEY'"),
        ("CREATE TABLE t (a INT64 PRIMARY KEY", "Expecting ','"),
        ("CREATE TABLE t (a INT64) PRIMARY KEY(a) NONSENSE", "Unexpected 'NONSENSE' [at 1:41]"),
        ("CREAT TABLE t", "Unexpected 'CREAT' [at 1:1]"),
        ("CREATE TABLE s.t (a INT64) PRIMARY KEY(a)", "Named schemas"),
        ("CREATE TABLE t (a STRING(5) PRIMARY KEY, b 'x')", "is not a column type"),
        ("ALTER TABLE t RENAME", "Expecting ADD, DROP"),
    ],
)
def test_a_syntax_error_says_what_and_where(statement, words):
    with pytest.raises(Exception) as caught:
        ddl_parser.parse(statement)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "what", ["CHANGE STREAM", "SEQUENCE", "ROLE", "VECTOR INDEX", "SEARCH INDEX", "SCHEMA"]
)
def test_what_the_sandbox_leaves_out_is_named(make_database, what):
    with pytest.raises(exceptions.MethodNotImplemented, match=f"CREATE {what} is not part of"):
        make_database().update_ddl([f"CREATE {what} x"])


SHOP = (
    "CREATE TABLE users (id INT64 NOT NULL, email STRING(40)) PRIMARY KEY(id)",
    "CREATE TABLE orders (order_id INT64 NOT NULL, user_id INT64 NOT NULL,"
    " CONSTRAINT of_user FOREIGN KEY(user_id) REFERENCES users(id)) PRIMARY KEY(order_id)",
    "CREATE TABLE items (order_id INT64 NOT NULL, id INT64 NOT NULL, note STRING(MAX))"
    " PRIMARY KEY(order_id, id), INTERLEAVE IN PARENT orders ON DELETE CASCADE",
    "CREATE UNIQUE INDEX by_email ON users(email)",
    "CREATE INDEX by_user ON orders(user_id)",
)


@pytest.fixture
def shop(make_database):
    database = make_database(*SHOP)
    with database.batch() as batch:
        batch.insert("users", ["id", "email"], [(1, "a@x"), (2, "b@x")])
        batch.insert("orders", ["order_id", "user_id"], [(10, 1), (20, 2)])
        batch.insert("items", ["order_id", "id", "note"], [(10, 1, "one"), (20, 2, None)])
    return database


def test_ddl_comes_back_as_it_was_made(shop):
    shop.reload()
    printed = list(shop.ddl_statements)
    assert printed[0] == (
        "CREATE TABLE users (\n  id INT64 NOT NULL,\n  email STRING(40),\n) PRIMARY KEY(id)"
    )
    assert printed[1] == "CREATE UNIQUE INDEX by_email ON users(email)"
    assert "CONSTRAINT of_user FOREIGN KEY(user_id) REFERENCES users(id)" in printed[2]
    assert printed[4].endswith("INTERLEAVE IN PARENT orders ON DELETE CASCADE")


def test_if_not_exists_and_if_exists_can_be_said_twice(shop):
    once = [
        "CREATE TABLE IF NOT EXISTS users (other INT64) PRIMARY KEY(other)",
        "CREATE INDEX IF NOT EXISTS by_user ON orders(user_id)",
        "ALTER TABLE users ADD COLUMN IF NOT EXISTS email STRING(40)",
        "DROP TABLE IF EXISTS never_was",
        "DROP INDEX IF EXISTS never_was",
    ]
    shop.update_ddl(once * 2).result(10)
    assert rows(shop, "SELECT * FROM users ORDER BY id") == [[1, "a@x"], [2, "b@x"]]


@pytest.mark.parametrize(
    ("statement", "query", "expected"),
    [
        (
            "ALTER TABLE users ADD COLUMN tier STRING(8) NOT NULL DEFAULT ('STANDARD')",
            "SELECT id, email, tier FROM users ORDER BY id",
            [[1, "a@x", "STANDARD"], [2, "b@x", "STANDARD"]],
        ),
        (
            "ALTER TABLE users ADD COLUMN shout STRING(MAX) AS (UPPER(email)) STORED",
            "SELECT shout FROM users ORDER BY id",
            [["A@X"], ["B@X"]],
        ),
        ("ALTER TABLE items DROP COLUMN note", "SELECT * FROM items", [[10, 1], [20, 2]]),
        (
            "ALTER TABLE users ALTER COLUMN email STRING(MAX) NOT NULL",
            "SELECT is_nullable, spanner_type FROM INFORMATION_SCHEMA.COLUMNS"
            " WHERE column_name = 'email'",
            [["NO", "STRING(MAX)"]],
        ),
        (
            "ALTER TABLE users ADD CONSTRAINT known CHECK (id < 100)",
            "SELECT COUNT(*) FROM users",
            [[2]],
        ),
        ("ALTER TABLE orders DROP CONSTRAINT of_user", "SELECT COUNT(*) FROM orders", [[2]]),
        ("DROP INDEX by_email", "SELECT COUNT(*) FROM users", [[2]]),
        ("ANALYZE", "SELECT 1", [[1]]),
        (
            "CREATE VIEW firsts SQL SECURITY INVOKER AS SELECT id FROM users WHERE id = 1",
            "SELECT * FROM firsts",
            [[1]],
        ),
    ],
)
def test_a_change_keeps_the_rows(shop, statement, query, expected):
    shop.update_ddl([statement]).result(10)
    assert rows(shop, query) == expected
    shop.reload()
    for printed in shop.ddl_statements:
        ddl_parser.parse(printed)


def test_a_rebuilt_table_keeps_its_unique_index(shop):
    shop.update_ddl(["ALTER TABLE users ADD COLUMN n INT64 NOT NULL DEFAULT (0)"]).result(10)
    with (
        pytest.raises(exceptions.AlreadyExists, match="UNIQUE violation on index by_email"),
        shop.batch() as batch,
    ):
        batch.insert("users", ["id", "email"], [(3, "a@x")])


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        (
            "CREATE TABLE users (x INT64) PRIMARY KEY(x)",
            exceptions.FailedPrecondition,
            "Duplicate name in schema: users",
        ),
        ("DROP TABLE nope", exceptions.NotFound, "Table not found: nope"),
        ("DROP INDEX nope", exceptions.NotFound, "Index not found: nope"),
        ("DROP TABLE users", exceptions.FailedPrecondition, "with indices: by_email"),
        ("DROP TABLE orders", exceptions.FailedPrecondition, "with indices: by_user"),
        (
            "ALTER TABLE users ADD COLUMN x INT64 NOT NULL",
            exceptions.FailedPrecondition,
            "without a default value",
        ),
        (
            "ALTER TABLE users DROP COLUMN id",
            exceptions.FailedPrecondition,
            "Cannot drop key column",
        ),
        ("ALTER TABLE users DROP COLUMN email", exceptions.FailedPrecondition, "index by_email"),
        (
            "ALTER TABLE orders DROP COLUMN user_id",
            exceptions.FailedPrecondition,
            "index by_user",
        ),
        (
            "ALTER TABLE users ALTER COLUMN email INT64",
            exceptions.FailedPrecondition,
            "Cannot change type of column",
        ),
        (
            "ALTER TABLE items ALTER COLUMN note STRING(MAX) NOT NULL",
            exceptions.FailedPrecondition,
            "rows of the table do not allow",
        ),
        (
            "ALTER TABLE users ADD CONSTRAINT few CHECK (id < 2)",
            exceptions.FailedPrecondition,
            "rows of the table do not allow",
        ),
        (
            "ALTER TABLE items ADD FOREIGN KEY (id) REFERENCES orders(order_id)",
            exceptions.FailedPrecondition,
            "Cannot find referenced key",
        ),
        (
            "CREATE TABLE c (x INT64 NOT NULL) PRIMARY KEY(x), INTERLEAVE IN PARENT users",
            exceptions.FailedPrecondition,
            "does not begin its primary key",
        ),
        (
            "CREATE TABLE c (a INT64) PRIMARY KEY(b)",
            exceptions.InvalidArgument,
            "nonexistent key column b",
        ),
        (
            "CREATE TABLE c (a INT64, CHECK (nope > 1)) PRIMARY KEY(a)",
            exceptions.InvalidArgument,
            "nope",
        ),
        (
            "CREATE TABLE c (a STRING(9), FOREIGN KEY (a) REFERENCES users(id)) PRIMARY KEY(a)",
            exceptions.FailedPrecondition,
            "another type",
        ),
        ("CREATE INDEX i ON users(nope)", exceptions.NotFound, "Column not found"),
        ("CREATE VIEW v AS SELECT nope FROM users", exceptions.InvalidArgument, "nope"),
    ],
)
def test_what_ddl_refuses(shop, statement, error, words):
    before = _ddl(shop)
    with pytest.raises(error, match=words):
        shop.update_ddl([statement])
    assert _ddl(shop) == before


def _ddl(database) -> list[str]:
    database.reload()
    return list(database.ddl_statements)


def test_statements_before_a_failing_one_stay(make_database):
    database = make_database()
    with pytest.raises(exceptions.NotFound):
        database.update_ddl(["CREATE TABLE kept (a INT64) PRIMARY KEY(a)", "DROP TABLE nope"])
    assert rows(database, "SELECT COUNT(*) FROM kept") == [[0]]


def test_a_table_that_a_view_reads_cannot_be_dropped(make_database):
    database = make_database(
        "CREATE TABLE t (a INT64, b INT64) PRIMARY KEY(a)", "CREATE VIEW v AS SELECT b FROM t"
    )
    for statement in ("DROP TABLE t", "ALTER TABLE t DROP COLUMN b"):
        with pytest.raises(exceptions.FailedPrecondition, match="the view `v` depends on it"):
            database.update_ddl([statement])
    database.update_ddl(["ALTER TABLE t ADD COLUMN c INT64"]).result(10)
    assert rows(database, "SELECT * FROM v") == []
    database.update_ddl(["DROP VIEW v", "DROP TABLE t"]).result(10)
