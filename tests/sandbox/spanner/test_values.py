"""Every type there and back: through mutations, parameters and literals."""

from __future__ import annotations

import datetime as dt
import decimal
import math

import pytest
from google.api_core import exceptions
from google.cloud import spanner
from google.cloud.spanner_v1 import param_types
from google.cloud.spanner_v1.data_types import JsonObject

from tests.sandbox.spanner.conftest import rows

NOON = dt.datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=dt.UTC)
DAY = dt.date(2026, 2, 28)

# column type, parameter type, value
VALUES = [
    ("INT64", param_types.INT64, 0),
    ("INT64", param_types.INT64, 2**63 - 1),
    ("INT64", param_types.INT64, -(2**63)),
    ("FLOAT64", param_types.FLOAT64, 1.5),
    ("FLOAT64", param_types.FLOAT64, 10.0),
    ("FLOAT64", param_types.FLOAT64, math.inf),
    ("FLOAT32", param_types.FLOAT32, 0.25),
    ("BOOL", param_types.BOOL, True),
    ("BOOL", param_types.BOOL, False),
    ("STRING(MAX)", param_types.STRING, "¿qué tal? 𝄞 'quoted' \"double\" \\ \n"),
    ("STRING(MAX)", param_types.STRING, ""),
    ("BYTES(MAX)", param_types.BYTES, b"AAEC/w=="),  # the client carries bytes as base64
    ("DATE", param_types.DATE, DAY),
    ("TIMESTAMP", param_types.TIMESTAMP, NOON),
    ("TIMESTAMP", param_types.TIMESTAMP, dt.datetime(1, 1, 2, tzinfo=dt.UTC)),
    ("NUMERIC", param_types.NUMERIC, decimal.Decimal("12.5")),
    ("NUMERIC", param_types.NUMERIC, decimal.Decimal("-0.000000001")),
    ("JSON", param_types.JSON, JsonObject({"k": [1, 2.5, None, "x"], "a": {}})),
    ("JSON", param_types.JSON, JsonObject([1, 2])),
    ("ARRAY<INT64>", param_types.Array(param_types.INT64), [1, None, 3]),
    ("ARRAY<STRING(MAX)>", param_types.Array(param_types.STRING), ["a", "", None]),
    ("ARRAY<STRING(MAX)>", param_types.Array(param_types.STRING), []),
    ("ARRAY<DATE>", param_types.Array(param_types.DATE), [DAY]),
    ("ARRAY<TIMESTAMP>", param_types.Array(param_types.TIMESTAMP), [NOON, None]),
    ("ARRAY<NUMERIC>", param_types.Array(param_types.NUMERIC), [decimal.Decimal("1.25")]),
    ("ARRAY<BOOL>", param_types.Array(param_types.BOOL), [True, None]),
    ("ARRAY<FLOAT64>", param_types.Array(param_types.FLOAT64), [1.0, -0.5]),
]
NAMES = [f"{kind} {str(value)[:24]!r}" for kind, _, value in VALUES]


@pytest.fixture(scope="module")
def one_column_tables(make_database):
    kinds = list(dict.fromkeys(kind for kind, _, _ in VALUES))
    tables = {kind: f"t{place}" for place, kind in enumerate(kinds)}
    ddl = [f"CREATE TABLE {t} (id INT64, v {kind}) PRIMARY KEY(id)" for kind, t in tables.items()]
    return make_database(*ddl), tables


@pytest.mark.parametrize(("kind", "type_", "value"), VALUES, ids=NAMES)
def test_a_value_comes_back_from_a_mutation(one_column_tables, kind, type_, value):
    database, tables = one_column_tables
    with database.batch() as batch:
        batch.insert_or_update(tables[kind], ["id", "v"], [(1, value)])
    assert rows(database, f"SELECT v FROM {tables[kind]} WHERE id = 1") == [[value]]


@pytest.mark.parametrize(("kind", "type_", "value"), VALUES, ids=NAMES)
def test_a_value_comes_back_from_a_parameter(one_column_tables, kind, type_, value):
    database, _ = one_column_tables
    assert rows(database, "SELECT @v", {"v": value}, {"v": type_}) == [[value]]


@pytest.mark.parametrize(("kind", "type_", "value"), VALUES, ids=NAMES)
def test_a_null_comes_back(one_column_tables, kind, type_, value):
    database, tables = one_column_tables
    with database.batch() as batch:
        batch.insert_or_update(tables[kind], ["id", "v"], [(2, None)])
    assert rows(database, f"SELECT v FROM {tables[kind]} WHERE id = 2") == [[None]]
    assert rows(database, "SELECT @v", {"v": None}, {"v": type_}) == [[None]]


PAIR = param_types.Struct(
    [
        param_types.StructField("id", param_types.INT64),
        param_types.StructField("name", param_types.STRING),
    ]
)


@pytest.mark.parametrize(
    ("sql", "params", "types", "expected"),
    [
        ("SELECT @p.id, @p.name", {"p": (7, "x")}, {"p": PAIR}, [[7, "x"]]),
        (
            "SELECT p.name FROM UNNEST(@ps) AS p WHERE p.id > 1",
            {"ps": [(1, "a"), (2, "b")]},
            {"ps": param_types.Array(PAIR)},
            [["b"]],
        ),
        (
            "SELECT 3 IN UNNEST(@ids), 9 IN UNNEST(@ids)",
            {"ids": [1, 2, 3]},
            {"ids": param_types.Array(param_types.INT64)},
            [[True, False]],
        ),
        ("SELECT @text", {"text": "untyped"}, None, [["untyped"]]),
        (
            "SELECT @A + @b",
            {"a": 1, "B": 2},
            {"a": param_types.INT64, "B": param_types.INT64},
            [[3]],
        ),
        (
            "SELECT x FROM UNNEST([1, 2, 3]) x ORDER BY x LIMIT @n OFFSET @skip",
            {"n": 1, "skip": 1},
            {"n": param_types.INT64, "skip": param_types.INT64},
            [[2]],
        ),
        (
            "SELECT TIMESTAMP_SUB(@now, INTERVAL @d DAY)",
            {"now": NOON, "d": 100},
            {"now": param_types.TIMESTAMP, "d": param_types.INT64},
            [[NOON - dt.timedelta(days=100)]],
        ),
    ],
)
def test_parameters(one_column_tables, sql, params, types, expected):
    assert rows(one_column_tables[0], sql, params, types) == expected


@pytest.mark.parametrize(
    ("params", "types", "words"),
    [
        ({}, {}, "No parameter found for binding: v"),
        ({"v": "twelve"}, {"v": param_types.INT64}, "Invalid value for bind parameter v"),
        ({"v": "not a date"}, {"v": param_types.DATE}, "Invalid value for bind parameter v"),
    ],
)
def test_a_bad_parameter_is_named(one_column_tables, params, types, words):
    with pytest.raises(exceptions.InvalidArgument, match=words):
        rows(one_column_tables[0], "SELECT @v", params, types)


def test_result_types_are_spanners(one_column_tables):
    sql = (
        "SELECT 1 AS i, COUNT(*) AS n, SUM(x) AS s, 0.5 AS f, 'a' AS t, b'a' AS y, TRUE AS b,"
        " DATE '2026-01-01' AS d, TIMESTAMP '2026-01-01 00:00:00Z' AS m, NUMERIC '1' AS u,"
        " JSON '1' AS j, [1] AS l, NULL AS z, [STRUCT(1 AS a)] AS k, 7 FROM UNNEST([1]) x"
    )
    with one_column_tables[0].snapshot() as snapshot:
        result = snapshot.execute_sql(sql)
        list(result)
    codes = "".join(f"{field.name}:{int(field.type_.code)} " for field in result.fields)
    assert codes == "i:2 n:2 s:2 f:3 t:6 y:7 b:1 d:5 m:4 u:10 j:11 l:8 z:2 k:8 :2 "


def test_the_commit_timestamp_is_the_one_that_commit_returns(make_database):
    database = make_database(
        "CREATE TABLE t (id INT64, at TIMESTAMP OPTIONS (allow_commit_timestamp=true),"
        " plain TIMESTAMP) PRIMARY KEY(id)"
    )
    with database.batch() as batch:
        batch.insert("t", ["id", "at"], [(1, spanner.COMMIT_TIMESTAMP)])
    assert rows(database, "SELECT at FROM t") == [[batch.committed]]

    def write(transaction):
        transaction.execute_update(
            "INSERT INTO t (id, at) VALUES (2, PENDING_COMMIT_TIMESTAMP()), (3, @now)",
            params={"now": spanner.COMMIT_TIMESTAMP},
            param_types={"now": param_types.TIMESTAMP},
        )
        return transaction

    committed = database.run_in_transaction(write).committed
    assert rows(database, "SELECT at FROM t WHERE id > 1") == [[committed], [committed]]
    assert committed > batch.committed
    with (
        pytest.raises(exceptions.FailedPrecondition, match="allow_commit_timestamp"),
        database.batch() as batch,
    ):
        batch.insert("t", ["id", "plain"], [(4, spanner.COMMIT_TIMESTAMP)])


def test_long_results_and_long_values_arrive_whole(make_database):
    database = make_database("CREATE TABLE t (id INT64, v STRING(MAX)) PRIMARY KEY(id)")
    long = "0123456789abcdef" * 400_000  # 6.4 MB: more than one message may hold
    with database.batch() as batch:
        batch.insert("t", ["id", "v"], [(1, long), (2, "short"), (3, "ü" * 1_500_000)])
    assert rows(database, "SELECT v FROM t ORDER BY id") == [[long], ["short"], ["ü" * 1_500_000]]
    numbers = rows(database, "SELECT x, CAST(x AS STRING) FROM UNNEST(GENERATE_ARRAY(1, 100000)) x")
    assert len(numbers) == 100_000
    assert sorted(numbers)[-1] == [100_000, "100000"]
