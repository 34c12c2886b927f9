"""GoogleSQL means here what it means in Spanner, where DuckDB by itself would differ."""

from __future__ import annotations

import datetime as dt
import decimal

import pytest
from google.api_core import exceptions

from tests.sandbox.spanner.conftest import rows


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def database(make_database):
    return make_database("CREATE TABLE t (id INT64, n NUMERIC, `order` STRING(9)) PRIMARY KEY(id)")


T = "TIMESTAMP '2026-11-01 00:00:00+00'"

EXPRESSIONS = [
    # a day is 24 hours and only whole ones count; DuckDB counts midnights
    (f"TIMESTAMP_DIFF(TIMESTAMP '2026-11-13 06:00:00+00', {T}, DAY)", 12),  # 12.25 days
    (f"TIMESTAMP_DIFF(TIMESTAMP '2026-11-12 23:45:36+00', {T}, DAY)", 11),  # 11.99 days
    (f"TIMESTAMP_DIFF({T}, TIMESTAMP '2026-11-12 23:45:36+00', DAY)", -11),
    (f"TIMESTAMP_DIFF({T}, TIMESTAMP '2026-11-01 00:00:01+00', DAY)", 0),
    (f"TIMESTAMP_DIFF(TIMESTAMP '2026-11-01 01:59:59+00', {T}, HOUR)", 1),
    (f"TIMESTAMP_DIFF(TIMESTAMP '2026-11-01 00:00:01.5+00', {T}, MILLISECOND)", 1500),
    ("DATE_DIFF(DATE '2026-11-03', DATE '2026-11-01', DAY)", 2),
    ("DATE_DIFF(DATE '2026-11-08', DATE '2026-11-07', WEEK)", 1),  # Saturday to Sunday
    # shifting by days does not follow the clock through the end of summer time (1 November)
    ("TIMESTAMP_SUB(TIMESTAMP '2026-11-05 00:00:00+00', INTERVAL 10 DAY)", utc(2026, 10, 26)),
    ("TIMESTAMP_ADD(TIMESTAMP '2026-10-30 00:00:00+00', INTERVAL 10 DAY)", utc(2026, 11, 9)),
    ("DATE_ADD(DATE '2026-01-31', INTERVAL 1 MONTH)", dt.date(2026, 2, 28)),
    ("DATE_SUB(DATE '2026-01-01', INTERVAL 1 DAY)", dt.date(2025, 12, 31)),
    # the zone is Los Angeles unless said
    (f"CAST({T} AS STRING)", "2026-10-31 17:00:00-07"),
    (f"DATE({T})", dt.date(2026, 10, 31)),
    (f"DATE({T}, 'UTC')", dt.date(2026, 11, 1)),
    (f"EXTRACT(DAY FROM {T})", 31),
    (f"EXTRACT(DAY FROM {T} AT TIME ZONE 'UTC')", 1),
    (f"EXTRACT(DATE FROM {T})", dt.date(2026, 10, 31)),
    ("EXTRACT(DAYOFWEEK FROM DATE '2026-11-01')", 1),
    (f"FORMAT_TIMESTAMP('%Y-%m-%d', {T})", "2026-10-31"),
    (f"FORMAT_TIMESTAMP('%Y-%m-%d %H:%M', {T}, 'UTC')", "2026-11-01 00:00"),
    (f"TIMESTAMP_TRUNC({T}, DAY)", utc(2026, 10, 31, 7)),
    (f"TIMESTAMP_TRUNC({T}, DAY, 'UTC')", utc(2026, 11, 1)),
    ("DATE_TRUNC(DATE '2026-11-05', WEEK)", dt.date(2026, 11, 1)),
    ("DATE_TRUNC(DATE '2026-11-05', MONTH)", dt.date(2026, 11, 1)),
    ("PARSE_TIMESTAMP('%Y-%m-%d', '2026-11-02')", utc(2026, 11, 2, 8)),
    ("PARSE_TIMESTAMP('%Y-%m-%d', '2026-11-02', 'UTC')", utc(2026, 11, 2)),
    ("TIMESTAMP('2026-11-02 00:00:00')", utc(2026, 11, 2, 8)),
    ("TIMESTAMP_MILLIS(5) = TIMESTAMP '1970-01-01 00:00:00.005Z'", True),
    ("TIMESTAMP_SECONDS(5)", utc(1970, 1, 1, 0, 0, 5)),
    (f"UNIX_MILLIS({T})", 1793491200000),
    ("CURRENT_TIMESTAMP() = CURRENT_TIMESTAMP()", True),
    ("CURRENT_DATE('UTC') >= CURRENT_DATE()", True),
    # numbers
    ("2147483647 + 1", 2147483648),
    ("1000000 * 1000000", 1000000000000),
    ("5 / 2", 2.5),
    ("DIV(-7, 2)", -3),
    ("MOD(-7, 2)", -1),
    ("ROUND(2.5)", 3.0),
    ("IEEE_DIVIDE(1, 0)", float("inf")),
    ("SAFE_DIVIDE(1, 0)", None),
    ("NUMERIC '1.10' + 1", decimal.Decimal("2.1")),
    ("NUMERIC '2' * NUMERIC '3.5'", decimal.Decimal("7")),
    ("CAST(10.0 AS STRING)", "10"),
    ("CAST(NUMERIC '1.50' AS STRING)", "1.5"),
    ("SAFE_CAST('x' AS INT64)", None),
    # text, lists, JSON
    ("BYTE_LENGTH('é')", 2),
    ("FORMAT('%05d|%s|%t|%%', 42, 'x', 1.5)", "00042|x|1.5|%"),
    ("STARTS_WITH('abc', 'a')", True),
    ("REGEXP_CONTAINS('abc', r'^a.c$')", True),
    ("SAFE.PARSE_JSON('not json')", None),
    ("[10, 20][OFFSET(0)]", 10),
    ("[10, 20][ORDINAL(2)]", 20),
    ("[10, 20][SAFE_OFFSET(9)]", None),
    ("ARRAY_LENGTH(GENERATE_ARRAY(1, 5))", 5),
    ("ARRAY_INCLUDES([1, 2], 2)", True),
    ("ARRAY(SELECT x * 2 FROM UNNEST([1, 2]) x ORDER BY x DESC)", [4, 2]),
    ("STRUCT(1 AS a, 'b' AS b).b", "b"),
    ("JSON_VALUE(JSON '{\"a\": {\"b\": 7}}', '$.a.b')", "7"),
    ("STRING(JSON '\"x\"')", "x"),
    ("INT64(JSON '7')", 7),
    ("TO_JSON(STRUCT(2 AS b, 'x' AS a))", {"a": "x", "b": 2}),
    (f"STRING(TO_JSON({T}))", "2026-11-01T00:00:00Z"),
    ("LENGTH(GENERATE_UUID())", 36),
    ("COSINE_DISTANCE([1.0, 0.0], [0.0, 1.0])", 1.0),
    ("DOT_PRODUCT([1.0, 2.0], [3.0, 4.0])", 11.0),
    ("NULL IS DISTINCT FROM 1", True),
]


@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS)
def test_an_expression(database, expression, expected):
    [[value]] = rows(database, f"SELECT {expression}")
    assert value == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT x FROM UNNEST([3, NULL, 1]) x ORDER BY x", [[None], [1], [3]]),
        ("SELECT x FROM UNNEST([3, NULL, 1]) x ORDER BY x DESC", [[3], [1], [None]]),
        ("SELECT x, o FROM UNNEST(['a', 'b']) x WITH OFFSET o ORDER BY o", [["a", 0], ["b", 1]]),
        (
            "SELECT t.k, e, o FROM (SELECT 7 AS k, [1, 2] AS l) t, UNNEST(t.l) e WITH OFFSET o"
            " WHERE o = 1",
            [[7, 2, 1]],
        ),
        ("WITH a AS (SELECT 1 AS x UNION ALL SELECT 2) SELECT SUM(x) FROM a", [[3]]),
        ("SELECT * EXCEPT (n) FROM t WHERE id < 0", []),
        ("SELECT id FROM t@{FORCE_INDEX=_BASE_TABLE} WHERE `order` = 'x'", []),
        ("@{OPTIMIZER_VERSION=7} SELECT 1", [[1]]),
        ("SELECT COUNT(*) FROM (SELECT id FROM t) FOR UPDATE", [[0]]),
        ("SELECT COUNTIF(x > 1), LOGICAL_AND(x > 0) FROM UNNEST([1, 2]) x", [[1, True]]),
        (
            "SELECT ARRAY_AGG(x ORDER BY x DESC), STRING_AGG(CAST(x AS STRING), '-' ORDER BY x)"
            " FROM UNNEST([1, 2]) x",
            [[[2, 1], "1-2"]],
        ),
        ("SELECT COUNT(*) FROM T AS upper WHERE UPPER.ID IS NULL", [[0]]),
    ],
)
def test_a_query(database, sql, expected):
    assert rows(database, sql) == expected


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("SELECT 1 / 0", exceptions.OutOfRange, "division by zero"),
        ("SELECT MOD(1, 0)", exceptions.OutOfRange, "division by zero"),
        ("SELECT 1 / (id - id) FROM UNNEST([1]) id", exceptions.OutOfRange, "division by zero"),
        ("SELECT 9223372036854775807 + 1", exceptions.OutOfRange, "[Oo]verflow"),
        (
            "SELECT SUM(x) FROM UNNEST([9223372036854775807, 1]) x",
            exceptions.OutOfRange,
            "overflow",
        ),
        ("SELECT CAST('x' AS INT64)", exceptions.OutOfRange, "'x'"),
        ("SELECT ERROR('my words')", exceptions.OutOfRange, "my words"),
        ("SELECT nope FROM t", exceptions.InvalidArgument, "Unrecognized name: nope"),
        ("SELECT 1\nFROM nope", exceptions.InvalidArgument, r"Table not found: nope \[at 2:6\]"),
        ("SELECT NOPE(1)", exceptions.InvalidArgument, "Function not found.*: NOPE"),
        ("SELEC 1", exceptions.InvalidArgument, "Syntax error"),
        ("SELECT 'open", exceptions.InvalidArgument, "Syntax error"),
        ("", exceptions.InvalidArgument, "Unexpected end of statement"),
        ("SELECT 1; SELECT 2", exceptions.InvalidArgument, "Syntax error"),
        # the storage below is nobody's business
        ("SELECT * FROM sandbox_private.ddl", exceptions.InvalidArgument, "Table not found"),
        ("SELECT * FROM duckdb_settings()", exceptions.InvalidArgument, "not found"),
        ("SELECT * FROM '/etc/passwd'", exceptions.InvalidArgument, "Table not found"),
        ("SELECT * FROM read_text('/etc/passwd')", exceptions.InvalidArgument, "not found"),
        ("COPY t TO '/tmp/copied'", exceptions.InvalidArgument, "Unexpected statement"),
        ("ATTACH 'x.db' AS x", exceptions.InvalidArgument, "Syntax error"),
        ("SET threads = 9", exceptions.InvalidArgument, "Unexpected statement"),
        ("DROP TABLE t", exceptions.InvalidArgument, "Unexpected statement"),
    ],
)
def test_a_query_that_is_refused(database, sql, error, words):
    with pytest.raises(error, match=words):
        rows(database, sql)


def test_names_of_result_columns(database):
    with database.snapshot() as snapshot:
        result = snapshot.execute_sql("SELECT id AS one, t.n, COUNT(*), 1 FROM t GROUP BY id, n")
        list(result)
    assert [field.name for field in result.fields] == ["one", "n", "", ""]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT table_name, parent_table_name, on_delete_action FROM INFORMATION_SCHEMA.TABLES"
            " WHERE table_schema = '' ORDER BY 1",
            [["child", "parent", "CASCADE"], ["parent", None, None], ["v", None, None]],
        ),
        (
            "SELECT column_name, ordinal_position, is_nullable, spanner_type, column_default"
            " FROM information_schema.columns WHERE table_name = 'parent' ORDER BY 2",
            [
                ["id", 1, "NO", "INT64", None],
                ["name", 2, "YES", "STRING(20)", "'x'"],
                ["tags", 3, "YES", "ARRAY<STRING(MAX)>", None],
            ],
        ),
        (
            "SELECT index_name, index_type, is_unique FROM INFORMATION_SCHEMA.INDEXES"
            " WHERE table_name = 'parent' ORDER BY 1",
            [["PRIMARY_KEY", "PRIMARY_KEY", True], ["by_name", "INDEX", True]],
        ),
        (
            "SELECT ic.column_name, ic.column_ordering FROM INFORMATION_SCHEMA.INDEX_COLUMNS AS ic"
            " WHERE ic.index_name = 'by_name'",
            [["name", "DESC"]],
        ),
        (
            "SELECT tc.constraint_name, tc.constraint_type, kcu.column_name"
            " FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS tc"
            " JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE kcu USING (constraint_name)"
            " WHERE tc.table_name = 'child' ORDER BY 1, 3",
            [
                ["PK_child", "PRIMARY KEY", "id"],
                ["PK_child", "PRIMARY KEY", "k"],
                ["to_parent", "FOREIGN KEY", "name"],
            ],
        ),
        (
            "SELECT schema_name FROM INFORMATION_SCHEMA.SCHEMATA ORDER BY 1",
            [[""], ["INFORMATION_SCHEMA"]],
        ),
        ("SELECT COUNT(*) FROM INFORMATION_SCHEMA.PROPERTY_GRAPHS", [[0]]),
        ("SELECT view_definition FROM INFORMATION_SCHEMA.VIEWS", [["SELECT id FROM parent"]]),
    ],
)
def test_the_information_schema(described, sql, expected):
    assert rows(described, sql) == expected


@pytest.fixture(scope="module")
def described(make_database):
    return make_database(
        "CREATE TABLE parent (id INT64 NOT NULL, name STRING(20) DEFAULT ('x'),"
        " tags ARRAY<STRING(MAX)>) PRIMARY KEY(id)",
        "CREATE UNIQUE INDEX by_name ON parent(name DESC)",
        "CREATE TABLE child (id INT64 NOT NULL, k INT64 NOT NULL, name STRING(20), CONSTRAINT"
        " to_parent FOREIGN KEY (name) REFERENCES parent (name)) PRIMARY KEY(id, k),"
        " INTERLEAVE IN PARENT parent ON DELETE CASCADE",
        "CREATE VIEW v SQL SECURITY INVOKER AS SELECT id FROM parent",
    )


def test_the_client_lists_tables(described):
    assert sorted(table.table_id for table in described.list_tables()) == ["child", "parent"]
    assert [field.name for field in described.table("parent").schema] == ["id", "name", "tags"]
