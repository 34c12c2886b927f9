"""The service around the graphs: rows in, failures told once, many clients, nothing that grows."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.api_core.exceptions import BadRequest, MethodNotImplemented, NotFound
from google.cloud import bigquery

from lab_helpers.sandbox.bigquery import history

from .conftest import PROJECT, Ask, connect


@pytest.fixture
def table(ask: Ask, dataset: str) -> str:
    ask("CREATE TABLE {d}.t (id STRING NOT NULL, n INT64, seen TIMESTAMP, doc JSON)")
    return f"{PROJECT}.{dataset}.t"


def test_streamed_rows_can_be_read_at_once(client: bigquery.Client, table: str, ask: Ask) -> None:
    row = {"id": "a", "n": 1, "seen": "2026-01-02T03:04:05.678901Z", "doc": '{"k": 1}'}

    assert client.insert_rows_json(table, [row], row_ids=["a"]) == []
    assert client.insert_rows_json(table, [row], row_ids=["a"]) == []
    assert ask("SELECT COUNT(*), COUNT(DISTINCT id), MAX(n) FROM {d}.t") == [(2, 1, 1)]


@pytest.mark.parametrize(
    "row",
    [{"n": 1}, {"id": "a", "n": "x"}, {"id": "a", "doc": {"k": 1}}],
    ids=["required column missing", "not a number", "an object for JSON text"],
)
def test_a_row_that_cannot_be_stored_fails_once_and_at_once(
    client: bigquery.Client, table: str, ask: Ask, row: dict[str, object]
) -> None:
    began = time.monotonic()
    with pytest.raises(BadRequest, match=r"local BigQuery failed on this request: \w+"):
        client.insert_rows_json(table, [row])

    assert time.monotonic() - began < 5  # a 500 would be repeated for ten minutes
    assert ask("SELECT COUNT(*) FROM {d}.t") == [(0,)]


def test_many_clients_at_once_lose_nothing_and_read_their_own_rows(
    port: int, table: str, ask: Ask
) -> None:
    def work(number: int) -> list[int]:
        client = connect(port)
        counts = []
        for step in range(6):
            row = {"id": f"{number}-{step}", "n": number}
            assert client.insert_rows_json(table, [row], timeout=30) == []
            sql = f"SELECT COUNT(DISTINCT id) AS c FROM `{table}` WHERE n = {number}"
            counts.append(next(iter(client.query_and_wait(sql)))["c"])
            assert {r["id"].split("-")[0] for r in client.list_rows(table) if r["n"] == number} == {
                str(number)
            }
        return counts

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))

    assert results == [[1, 2, 3, 4, 5, 6]] * 8
    assert ask("SELECT COUNT(*) FROM {d}.t") == [(48,)]


def test_writing_leaves_no_copies_and_the_past_is_refused(
    client: bigquery.Client, table: str, ask: Ask
) -> None:
    for number in range(5):
        client.insert_rows_json(table, [{"id": str(number)}])
    hour_ago = "TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 1 HOUR)"

    with pytest.raises(MethodNotImplemented, match="FOR SYSTEM_TIME AS OF"):
        ask(f"SELECT * FROM {{d}}.t FOR SYSTEM_TIME AS OF {hour_ago}")


def test_old_jobs_are_forgotten(client: bigquery.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "JOB_LIMIT", 3)
    asked = [client.query(f"SELECT {n} AS n") for n in range(5)]

    assert [row["n"] for row in client.get_job(asked[-1].job_id).result()] == [4]
    with pytest.raises(NotFound):
        client.get_job(asked[0].job_id)


def test_ordinary_statements_are_bigquerys_own(ask: Ask, client: bigquery.Client) -> None:
    ask("CREATE TABLE {d}.t AS SELECT 1 AS x, 'GRAPH t MATCH (a)' AS words")

    assert ask("SELECT x, words FROM {d}.t -- GRAPH_TABLE(t)") == [(1, "GRAPH t MATCH (a)")]
    with pytest.raises(NotFound, match="nothing"):
        ask("SELECT * FROM {d}.nothing")
    with pytest.raises(BadRequest):
        ask("SELEC 1")


def test_a_script_may_declare_keys_and_keeps_its_text(
    client: bigquery.Client, dataset: str, ask: Ask
) -> None:
    sql = (
        f"CREATE TABLE {dataset}.a (id INT64 NOT NULL, PRIMARY KEY (id) NOT ENFORCED);\n"
        f"CREATE TABLE {dataset}.b (id INT64 REFERENCES {dataset}.a (id) NOT ENFORCED);"
    )
    job = client.query(sql)
    job.result()

    assert job.query == client.get_job(job.job_id).query == sql
    assert ask("SELECT table_name FROM {d}.INFORMATION_SCHEMA.TABLES ORDER BY 1") == [
        ("a",),
        ("b",),
    ]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELEC 1", BadRequest),
        ("SELECT * FROM nowhere.nothing", NotFound),
        ("SELECT missing FROM (SELECT 1 AS present)", BadRequest),
    ],
)
def test_a_failed_query_is_an_error_by_either_call(client, sql, error):
    with pytest.raises(error):
        client.query_and_wait(sql)
    with pytest.raises(error):
        client.query(sql).result()


def test_a_table_knows_its_number_of_rows(client: bigquery.Client, table: str, ask: Ask) -> None:
    assert client.get_table(table).num_rows == 0
    client.insert_rows_json(table, [{"id": "a"}, {"id": "b"}])
    assert client.get_table(table).num_rows == 2
    ask("DELETE FROM {d}.t WHERE id = 'a'")
    assert client.get_table(table).num_rows == 1
    ask("TRUNCATE TABLE {d}.t")
    assert client.get_table(table).num_rows == 0
    client.insert_rows_json(table, [{"id": "c"}])
    assert client.get_table(table).num_rows == 1
