"""GQL through Google's client: rows, types, parameters, what a job says about itself."""

import datetime
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest
from google.cloud import bigquery

from .conftest import PROJECT, Ask

UTC = datetime.UTC
SEEN = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (
            "GRAPH {d}.People MATCH (p)-[e:Knows]->(q) RETURN p.name, e.since, q.name AS whom "
            "ORDER BY p.id",
            [("Ada", 2001, "Bob"), ("Bob", 2002, "Cyd")],
        ),
        ("GRAPH {d}.People MATCH (p) RETURN COUNT(*) AS n", [(3,)]),
        (
            "GRAPH `lab-project.{d}.People` MATCH (p {id: 1})-[:Knows]->{1,2}(q) "
            "RETURN q.name ORDER BY q.id",
            [("Bob",), ("Cyd",)],
        ),
        (
            "SELECT whom, n + 1 AS next FROM GRAPH_TABLE({d}.People "
            "MATCH (p)-[e]->(q) RETURN q.name AS whom, e.since AS n) ORDER BY n",
            [("Bob", 2002), ("Cyd", 2003)],
        ),
        (
            "GRAPH {d}.People MATCH (p) WHERE p.seen < CURRENT_TIMESTAMP() RETURN p.id "
            "ORDER BY p.id",
            [(1,), (3,)],
        ),
        ("GRAPH {d}.People MATCH (p) WHERE p.id > 99 RETURN p.id", []),
    ],
)
def test_rows(people: str, ask: Ask, sql: str, rows: list[tuple[Any, ...]]) -> None:
    assert ask(sql) == rows


def test_values_and_types_are_bigquerys(people: str, client: bigquery.Client, dataset: str) -> None:
    found = client.query(
        f"GRAPH {dataset}.People MATCH (p {{id: 1}}) RETURN p.id, p.name, p.born, p.seen, "
        "p.extra, p.tags, p.id * 0.5 AS half, p.id = 1 AS yes, LABELS(p) AS labels, "
        "TO_JSON(p) AS node, ARRAY_AGG(p.extra) AS extras"
    ).result()
    types = {field.name: (field.field_type, field.mode) for field in found.schema}
    (row,) = found

    assert types == {
        "id": ("INTEGER", "NULLABLE"),
        "name": ("STRING", "NULLABLE"),
        "born": ("DATE", "NULLABLE"),
        "seen": ("TIMESTAMP", "NULLABLE"),
        "extra": ("JSON", "NULLABLE"),
        "tags": ("STRING", "REPEATED"),
        "half": ("FLOAT", "NULLABLE"),
        "yes": ("BOOLEAN", "NULLABLE"),
        "labels": ("STRING", "REPEATED"),
        "node": ("JSON", "NULLABLE"),
        "extras": ("JSON", "REPEATED"),
    }
    assert row["seen"] == SEEN
    assert row["born"] == datetime.date(1815, 12, 10)
    assert row["extra"] == {"k": [1]}
    assert row["extras"] == [{"k": [1]}]
    assert (row["tags"], row["half"], row["yes"]) == (["x", "y"], 0.5, True)
    assert row["labels"] == ["Person"]
    assert row["node"]["properties"]["name"] == "Ada"


def scalar(name: str, kind: str, value: Any) -> bigquery.ScalarQueryParameter:
    return bigquery.ScalarQueryParameter(name, kind, value)


@pytest.mark.parametrize(
    ("condition", "parameter", "ids"),
    [
        ("p.id = @v", scalar("v", "INT64", 2), [2]),
        ("p.name = @v", scalar("v", "STRING", "Ada"), [1]),
        ("p.name = @V", scalar("v", "STRING", "Ada"), [1]),
        ("p.name = @v", scalar("v", "STRING", "it's ?$v @v"), []),
        ("p.name = '@v' OR p.id = @v", scalar("v", "INT64", 3), [3]),
        ("p.born > @v", scalar("v", "DATE", datetime.date(1999, 1, 1)), [3]),
        ("p.seen = @v", scalar("v", "TIMESTAMP", SEEN), [1]),
        ("(p.id = 1) = @v", scalar("v", "BOOL", True), [1]),
        ("p.id * 0.5 = @v", scalar("v", "FLOAT64", 1.0), [2]),
        ("p.id = @v", scalar("v", "INT64", None), []),
        ("p.id IN UNNEST(@v)", bigquery.ArrayQueryParameter("v", "INT64", [1, 3]), [1, 3]),
        ("p.id IN UNNEST(@v)", bigquery.ArrayQueryParameter("v", "INT64", []), []),
        (
            "p.id = @v.id AND p.name = @v.name",
            bigquery.StructQueryParameter(
                "v", scalar("id", "INT64", 1), scalar("name", "STRING", "Ada")
            ),
            [1],
        ),
    ],
)
def test_parameters(people: str, ask: Ask, condition: str, parameter: Any, ids: list[int]) -> None:
    sql = f"GRAPH {{d}}.People MATCH (p) WHERE {condition} RETURN p.id ORDER BY p.id"

    assert [row[0] for row in ask(sql, query_parameters=[parameter])] == ids


def test_a_parameter_keeps_its_declared_type(people: str, client: bigquery.Client) -> None:
    config = bigquery.QueryJobConfig(
        query_parameters=[scalar("t", "TIMESTAMP", None), scalar("b", "BYTES", b"\x00\xff")]
    )
    found = client.query(
        f"GRAPH {people} MATCH (p {{id: 1}}) RETURN @t AS t, @b AS b", job_config=config
    ).result()

    assert [field.field_type for field in found.schema] == ["TIMESTAMP", "BYTES"]
    assert [tuple(row) for row in found] == [(None, b"\x00\xff")]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        (
            "GRAPH {d}.People MATCH (p:Persn) RETURN p.id",
            r"Persn.*did you mean 'Person'\?.*\[at 1:\d+\]",
        ),
        (
            "GRAPH {d}.People MATCH (p {nme: 'Ada'}) RETURN p.id",
            r"nme.*did you mean 'name'\?.*\[at 1:\d+\]",
        ),
        ("GRAPH {d}.Peple MATCH (p) RETURN p.id", r"Peple.*did you mean.*People"),
        ("GRAPH {d}.People MATCH (p)\nRETURN p.nothing", r"nothing.*\[at 2:\d+\]"),
        ("GRAPH {d}.Nobody MATCH (p) RETURN p.id", r"Nobody"),
        ("GRAPH nowhere.People MATCH (p) RETURN p.id", r"nowhere\.People"),
        ("GRAPH {d}.People MATCH (p RETURN p.id", r"\[at 1:\d+\]"),
        ("GRAPH {d}.People MATCH (p) WHERE p.id = @missing RETURN p.id", "'missing' not found"),
        ("GRAPH {d}.People MATCH (p) RETURN 1 / (p.id - 1) AS x", "(?i)division by zero"),
    ],
)
def test_what_cannot_be_asked_is_a_bad_request_with_its_place(
    people: str, ask: Ask, sql: str, says: str
) -> None:
    with pytest.raises(BadRequest, match=says):
        ask(sql)


def test_a_job_names_its_graph_and_keeps_its_text(
    people: str, client: bigquery.Client, dataset: str
) -> None:
    sql = f"GRAPH {people} MATCH (p) RETURN p.id"
    job = client.query(sql)
    job.result()

    for seen in (job, client.get_job(job.job_id)):
        (graph,) = seen.referenced_property_graphs
        assert (graph.project, graph.dataset_id, graph.property_graph_id) == (
            PROJECT,
            dataset,
            "People",
        )
        assert seen.query == sql
        assert seen.statement_type == "SELECT"
    assert [row["id"] for row in client.get_job(job.job_id).result()] == [1, 2, 3]
    assert client.get_table(job.destination).num_rows == 3


def test_a_dry_run_tells_schema_and_graph_without_rows(
    people: str, client: bigquery.Client
) -> None:
    config = bigquery.QueryJobConfig(dry_run=True)
    job = client.query(f"GRAPH {people} MATCH (p) RETURN p.id, p.seen", job_config=config)

    assert [(f.name, f.field_type) for f in job.schema] == [
        ("id", "INTEGER"),
        ("seen", "TIMESTAMP"),
    ]
    assert len(job.referenced_property_graphs) == 1
    assert job.total_bytes_processed == 0


def test_a_default_dataset_completes_names(people: str, ask: Ask, dataset: str) -> None:
    default = bigquery.DatasetReference(PROJECT, dataset)

    assert ask("GRAPH People MATCH (p {id: 2}) RETURN p.name", default_dataset=default) == [
        ("Bob",)
    ]


def test_a_graph_of_the_same_name_elsewhere_is_another_graph(
    people: str, client: bigquery.Client, ask: Ask
) -> None:
    other = f"{people.split('.')[0]}_other"
    client.create_dataset(other)
    try:
        with pytest.raises(BadRequest, match=f"{other}.People"):
            ask(f"GRAPH {other}.People MATCH (p) RETURN p.id")
        ask(f"CREATE TABLE {other}.pet (id INT64)")
        ask(f"CREATE PROPERTY GRAPH {other}.People NODE TABLES ({other}.pet KEY (id))")
        assert ask(f"GRAPH {other}.People MATCH (p) RETURN p.id") == []
        assert len(ask("GRAPH {d}.People MATCH (p) RETURN p.id")) == 3
    finally:
        client.delete_dataset(other, delete_contents=True)


def test_query_and_wait_answers_the_same(people: str, client: bigquery.Client) -> None:
    rows = client.query_and_wait(f"GRAPH {people} MATCH (p) RETURN p.id ORDER BY p.id")

    assert [row["id"] for row in rows] == [1, 2, 3]
    assert rows.total_rows == 3


def test_rows_come_in_pages(people: str, client: bigquery.Client) -> None:
    job = client.query(f"GRAPH {people} MATCH (p) RETURN p.id ORDER BY p.id")

    pages = [[row["id"] for row in page] for page in job.result(page_size=2).pages]
    assert pages == [[1, 2], [3]]


def test_a_data_frame_needs_no_storage_api(people: str, client: bigquery.Client) -> None:
    frame = client.query(f"GRAPH {people} MATCH (p) RETURN p.id ORDER BY p.id").to_dataframe()

    assert frame["id"].tolist() == [1, 2, 3]
