"""Both services in one process, with Google's clients, across a kill."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery, spanner
from google.cloud.spanner_v1.database import Database
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from lab_helpers import sandbox
from lab_helpers.sandbox import client_env

PROJECT = "lab-project"
SPANNER_DDL = [
    "CREATE TABLE Person (id INT64, name STRING(MAX)) PRIMARY KEY (id)",
    "CREATE TABLE Knows (a INT64, b INT64) PRIMARY KEY (a, b)",
    "CREATE PROPERTY GRAPH People NODE TABLES (Person) EDGE TABLES (Knows "
    "SOURCE KEY (a) REFERENCES Person (id) DESTINATION KEY (b) REFERENCES Person (id))",
]
WALK = "GRAPH {graph} MATCH (p)-[:Knows]->(q) RETURN p.name AS who, q.name AS whom ORDER BY who"


@pytest.fixture
def local(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A running sandbox to which new clients of this test are pointed."""
    client_env.prepare_spanner_client()
    client_env.use_sandbox_bigquery(PROJECT)
    sandbox.ensure(home)
    for name, value in sandbox.env(home).items():
        monkeypatch.setenv(name, value)
    yield home


def spanner_database() -> Database:
    return spanner.Client(project=PROJECT).instance("lab").database("people")


def bigquery_client() -> bigquery.Client:
    return bigquery.Client(project=PROJECT, credentials=AnonymousCredentials())


def fill_spanner() -> None:
    instance = spanner.Client(project=PROJECT).instance(
        "lab", f"projects/{PROJECT}/instanceConfigs/regional-us-central1"
    )
    instance.create().result(30)
    database = instance.database("people", ddl_statements=SPANNER_DDL)
    database.create().result(30)
    with database.batch() as batch:
        batch.insert("Person", ["id", "name"], [(1, "Ada"), (2, "Bob"), (3, "Cyd")])
        batch.insert("Knows", ["a", "b"], [(1, 2), (2, 3)])


def fill_bigquery(client: bigquery.Client) -> None:
    client.create_dataset("people")
    client.query(
        "CREATE TABLE people.Person (id INT64, name STRING, PRIMARY KEY (id) NOT ENFORCED);"
        "CREATE TABLE people.Knows (a INT64, b INT64, PRIMARY KEY (a, b) NOT ENFORCED)"
    ).result()
    client.query(
        "CREATE PROPERTY GRAPH people.People NODE TABLES (people.Person) "
        "EDGE TABLES (people.Knows SOURCE KEY (a) REFERENCES Person (id) "
        "DESTINATION KEY (b) REFERENCES Person (id))"
    ).result()
    people = [{"id": i, "name": n} for i, n in ((1, "Ada"), (2, "Bob"), (3, "Cyd"))]
    assert client.insert_rows_json("people.Person", people) == []
    assert client.insert_rows_json("people.Knows", [{"a": 1, "b": 2}, {"a": 2, "b": 3}]) == []


def walk_both(database: Database, client: bigquery.Client) -> list[list[tuple[str, str]]]:
    with database.snapshot() as snapshot:
        in_spanner = [tuple(row) for row in snapshot.execute_sql(WALK.format(graph="People"))]
    asked = client.query(WALK.format(graph="people.People"))
    return [in_spanner, [tuple(row) for row in asked.result()]]


def test_what_was_acknowledged_outlives_a_kill_and_old_clients_go_on(local: Path) -> None:
    client = bigquery_client()
    fill_spanner()
    fill_bigquery(client)
    database = spanner_database()
    expected = [[("Ada", "Bob"), ("Bob", "Cyd")]] * 2
    assert walk_both(database, client) == expected

    os.kill(sandbox.ensure(local).pid, signal.SIGKILL)
    sandbox.ensure(local)

    assert walk_both(spanner_database(), bigquery_client()) == expected
    # The ports are the same, so clients made before the kill work too.
    assert walk_both(database, client) == expected


def test_spanner_graph_magic_draws_without_an_account(local: Path) -> None:
    import portpicker
    import spanner_graphs.magics as magics

    # It was picked when the module was imported; another test may have it by now.
    magics.GraphServer.port = portpicker.pick_unused_port()
    fill_spanner()
    shell = InteractiveShell.instance()
    try:
        magics.load_ipython_extension(shell)
        cell = "GRAPH People MATCH p = (a)-[e]->{1,2}(b) WHERE a.id = 1 RETURN TO_JSON(p) AS p"
        with capture_output() as captured:
            shell.run_cell_magic(
                "spanner_graph", f"--project {PROJECT} --instance lab --database people", cell
            )
        pages = [o.data["text/html"] for o in captured.outputs if "text/html" in o.data]
        assert pages, captured.stdout
        # What the page's own script asks for as soon as it is shown.
        selector = magics.DatabaseSelector.cloud(PROJECT, "lab", "people")
        params = json.dumps(
            {"selector": selector, "graph": "People"}, default=magics.custom_json_serializer
        )
        answer = requests.post(
            f"http://localhost:{magics.GraphServer.port}/post_query",
            json={"query": cell, "params": params},
            timeout=20,
        ).json()
    finally:
        magics.GraphServer.stop_server()
        InteractiveShell.clear_instance()

    assert str(magics.GraphServer.port) in pages[-1]
    drawn = answer["response"]
    assert len(drawn["nodes"]) == 3
    assert len(drawn["edges"]) == 2
    assert [table["name"] for table in drawn["schema"]["nodeTables"]] == ["Person"]
