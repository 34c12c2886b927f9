"""CREATE and DROP PROPERTY GRAPH as BigQuery jobs."""

import json

import pytest
from google.api_core.exceptions import BadRequest, Conflict, GoogleAPICallError, NotFound
from google.cloud import bigquery

from lab_helpers.sandbox.bigquery import BigQueryServer

from .conftest import GRAPH, PROJECT, TABLES, Ask, connect

PLAIN = GRAPH.replace(" OR REPLACE", "")
IF_NOT_EXISTS = PLAIN.replace("GRAPH", "GRAPH IF NOT EXISTS", 1)


@pytest.mark.parametrize(
    ("first", "then", "statement_type", "operation"),
    [
        (None, PLAIN, "CREATE_PROPERTY_GRAPH", "CREATE"),
        (None, GRAPH, "CREATE_PROPERTY_GRAPH", "CREATE"),
        (None, IF_NOT_EXISTS, "CREATE_PROPERTY_GRAPH", "CREATE"),
        (PLAIN, GRAPH, "CREATE_PROPERTY_GRAPH", "REPLACE"),
        (PLAIN, IF_NOT_EXISTS, "CREATE_PROPERTY_GRAPH", "SKIP"),
        (PLAIN, "DROP PROPERTY GRAPH {d}.People", "DROP_PROPERTY_GRAPH", "DROP"),
        (None, "DROP PROPERTY GRAPH IF EXISTS {d}.People", "DROP_PROPERTY_GRAPH", "SKIP"),
    ],
)
def test_a_definition_is_a_job_that_says_what_it_did(
    client: bigquery.Client,
    dataset: str,
    ask: Ask,
    first: str | None,
    then: str,
    statement_type: str,
    operation: str,
) -> None:
    ask(TABLES)
    if first:
        ask(first)
    job = client.query(then.replace("{d}", dataset))
    rows = list(job.result())

    assert (job.statement_type, job.ddl_operation_performed) == (statement_type, operation)
    assert rows == []
    assert job.state == "DONE"
    assert job.query == then.replace("{d}", dataset)


@pytest.mark.parametrize(
    ("first", "then", "kind", "says"),
    [
        (PLAIN, PLAIN, Conflict, "Already Exists: .*People"),
        (None, PLAIN.replace("{d}.People", "{d}.person"), Conflict, "Already Exists: .*person"),
        (None, "DROP PROPERTY GRAPH {d}.People", NotFound, "Property graph .*People"),
        (None, PLAIN.replace("{d}.People", "nowhere.People"), NotFound, "Dataset .*nowhere"),
        (None, PLAIN.replace("{d}.People", "People"), BadRequest, "qualified with a dataset"),
        (None, PLAIN.replace("KEY (b)", "KEY (c)"), BadRequest, r"'c' .*\[at \d+:\d+\]"),
        (None, PLAIN.replace("{d}.person", "{d}.persona"), BadRequest, r"persona.*\[at \d+:\d+\]"),
        (None, "CREATE PROPERTY GRAPH {d}.G NODE", BadRequest, r"\[at \d+:\d+\]"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(
    ask: Ask, first: str | None, then: str, kind: type[GoogleAPICallError], says: str
) -> None:
    ask(TABLES)
    if first:
        ask(first)
    with pytest.raises(kind, match=says):
        ask(then)


def test_a_dry_run_checks_a_definition_and_keeps_nothing(ask: Ask) -> None:
    ask(TABLES)
    ask(PLAIN, dry_run=True)
    with pytest.raises(BadRequest):
        ask(PLAIN.replace("KEY (b)", "KEY (c)"), dry_run=True)
    ask(PLAIN)
    ask("DROP PROPERTY GRAPH {d}.People", dry_run=True)

    assert len(ask("SELECT ddl FROM {d}.INFORMATION_SCHEMA.PROPERTY_GRAPHS")) == 1


def test_the_graphs_view_describes_each_graph(people: str, dataset: str, ask: Ask) -> None:
    ((catalog, schema, name, metadata, ddl),) = ask(
        f"SELECT * FROM `{PROJECT}.{{d}}`.INFORMATION_SCHEMA.PROPERTY_GRAPHS"
    )

    assert (catalog, schema, name) == (PROJECT, dataset, "People")
    assert ddl == GRAPH.replace("{d}", dataset)
    described = json.loads(metadata)
    assert described["propertyGraphReference"] == {
        "projectId": PROJECT,
        "datasetId": dataset,
        "propertyGraphId": "People",
    }
    assert [table["name"] for table in described["nodeTables"]] == ["person"]
    assert [table["keyColumns"] for table in described["edgeTables"]] == [["a", "b"]]


@pytest.mark.parametrize(
    "source",
    [
        "{d}.INFORMATION_SCHEMA.PROPERTY_GRAPHS",
        "`{d}`.INFORMATION_SCHEMA.PROPERTY_GRAPHS",
        "`{d}.INFORMATION_SCHEMA.PROPERTY_GRAPHS`",
        "`lab-project.{d}.INFORMATION_SCHEMA.PROPERTY_GRAPHS`",
        "`lab-project`.{d}.INFORMATION_SCHEMA.PROPERTY_GRAPHS AS g",
        "`region-us`.INFORMATION_SCHEMA.PROPERTY_GRAPHS",
        "{d}.information_schema.property_graphs",
    ],
)
def test_the_graphs_view_is_found_however_it_is_written(
    people: str, dataset: str, ask: Ask, source: str
) -> None:
    wanted = bigquery.ScalarQueryParameter("name", "STRING", "People")
    rows = ask(
        f"SELECT property_graph_schema FROM {source} WHERE PROPERTY_GRAPH_NAME = @name",
        query_parameters=[wanted],
    )

    assert (dataset,) in rows


def test_a_dataset_without_graphs_has_an_empty_view(ask: Ask) -> None:
    assert ask("SELECT * FROM {d}.INFORMATION_SCHEMA.PROPERTY_GRAPHS") == []


def test_a_graph_goes_with_its_dataset(
    client: bigquery.Client, people: str, dataset: str, ask: Ask
) -> None:
    client.delete_dataset(dataset, delete_contents=True)
    client.create_dataset(dataset)

    assert ask("SELECT * FROM {d}.INFORMATION_SCHEMA.PROPERTY_GRAPHS") == []


def test_a_graph_whose_table_is_gone_says_so_and_spares_the_others(people: str, ask: Ask) -> None:
    ask("CREATE PROPERTY GRAPH {d}.Alone NODE TABLES ({d}.person)")
    ask("DROP TABLE {d}.knows")

    with pytest.raises(BadRequest, match="knows"):
        ask("GRAPH {d}.People MATCH (p) RETURN p.id")
    assert len(ask("GRAPH {d}.Alone MATCH (p) RETURN p.id")) == 3


def test_a_graph_follows_its_tables_when_they_are_made_anew(people: str, ask: Ask) -> None:
    query = "GRAPH {d}.People MATCH (p) RETURN p.nick"
    with pytest.raises(BadRequest, match="nick"):
        ask(query)
    ask("CREATE OR REPLACE TABLE {d}.person (id INT64, nick STRING, PRIMARY KEY (id) NOT ENFORCED)")
    ask("INSERT INTO {d}.person VALUES (7, 'Zed')")

    assert ask(query) == [("Zed",)]


def test_views_are_element_tables(people: str, ask: Ask) -> None:
    ask("CREATE VIEW {d}.named AS SELECT id, UPPER(name) AS name FROM {d}.person")
    ask("CREATE VIEW {d}.recent AS SELECT a, b FROM {d}.knows WHERE since > 2001")
    ask(
        "CREATE PROPERTY GRAPH {d}.Seen NODE TABLES ({d}.named KEY (id) LABEL Person)"
        " EDGE TABLES ({d}.recent KEY (a, b) SOURCE KEY (a) REFERENCES named (id)"
        " DESTINATION KEY (b) REFERENCES named (id) LABEL Knows NO PROPERTIES)"
    )

    assert ask("GRAPH {d}.Seen MATCH (x)-[:Knows]->(y) RETURN x.name AS x, y.name AS y") == [
        ("BOB", "CYD")
    ]


def test_the_last_declared_primary_key_counts(ask: Ask) -> None:
    ask("CREATE TABLE {d}.thing (id INT64, other INT64)")
    graph = "CREATE OR REPLACE PROPERTY GRAPH {d}.Things NODE TABLES ({d}.thing)"
    with pytest.raises(BadRequest, match="primary key"):
        ask(graph)
    ask("ALTER TABLE {d}.thing ADD PRIMARY KEY (id) NOT ENFORCED")
    ask(graph)
    with pytest.raises(NotFound):
        ask("ALTER TABLE {d}.nothing ADD PRIMARY KEY (id) NOT ENFORCED")
    ask("CREATE OR REPLACE TABLE {d}.thing (id INT64, other INT64)")
    with pytest.raises(BadRequest, match="primary key"):
        ask(graph)


def test_an_unenforced_key_is_not_enforced(ask: Ask) -> None:
    ask("CREATE TABLE {d}.t (id INT64 PRIMARY KEY NOT ENFORCED, n STRING)")
    ask("INSERT INTO {d}.t VALUES (1, 'a'), (1, 'b')")

    assert ask("SELECT COUNT(*), COUNT(DISTINCT id) FROM {d}.t") == [(2, 1)]


def test_definitions_keys_and_rows_outlive_the_service(tmp_path: object) -> None:
    first = BigQueryServer(tmp_path)
    client = connect(first.start())
    client.create_dataset("kept")
    for sql in (TABLES, GRAPH):
        client.query(sql.replace("{d}", "kept")).result()
    first.stop()

    second = BigQueryServer(tmp_path)
    client = connect(second.start())
    try:
        rows = client.query(
            "GRAPH kept.People MATCH (p)-[:Knows]->(q) RETURN p.id, q.id AS whom"
        ).result()
        assert sorted(tuple(row) for row in rows) == [(1, 2), (2, 3)]
        again = GRAPH.replace("{d}", "kept")
        assert client.query(again).result().total_rows in (0, None)
    finally:
        second.stop()
