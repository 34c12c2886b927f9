"""One local BigQuery for the folder, a fresh dataset for every test, Google's own client."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from lab_helpers.sandbox import client_env
from lab_helpers.sandbox.bigquery import BigQueryServer

PROJECT = "lab-project"
Rows = list[tuple[Any, ...]]
Ask = Callable[..., Rows]


def connect(port: int) -> bigquery.Client:
    return bigquery.Client(
        project=PROJECT,
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": f"http://127.0.0.1:{port}"},
    )


@pytest.fixture(scope="session")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    client_env.use_sandbox_bigquery(PROJECT)
    server = BigQueryServer(tmp_path_factory.mktemp("bigquery"))
    yield server.start()
    server.stop()


@pytest.fixture(scope="session")
def client(port: int) -> bigquery.Client:
    return connect(port)


@pytest.fixture
def dataset(client: bigquery.Client) -> Iterator[str]:
    name = f"d{uuid4().hex[:12]}"
    client.create_dataset(name)
    yield name
    client.delete_dataset(name, delete_contents=True)


@pytest.fixture
def ask(client: bigquery.Client, dataset: str) -> Ask:
    """Run a statement; {d} in it is the test's dataset. Returns the rows as tuples."""

    def asked(sql: str, **config: Any) -> Rows:
        settings = bigquery.QueryJobConfig(**config)
        job = client.query(sql.replace("{d}", dataset), job_config=settings)
        return [tuple(row) for row in job.result()]

    return asked


TABLES = """
CREATE TABLE {d}.person (
  id INT64 NOT NULL, name STRING, born DATE, seen TIMESTAMP, extra JSON, tags ARRAY<STRING>,
  PRIMARY KEY (id) NOT ENFORCED
);
CREATE TABLE {d}.knows (
  a INT64, b INT64, since INT64,
  PRIMARY KEY (a, b) NOT ENFORCED,
  FOREIGN KEY (a) REFERENCES {d}.person (id) NOT ENFORCED
);
INSERT INTO {d}.person VALUES
  (1, 'Ada', DATE '1815-12-10', TIMESTAMP '2026-01-02 03:04:05.678901+00', JSON '{"k":[1]}',
   ['x', 'y']),
  (2, 'Bob', NULL, NULL, NULL, []),
  (3, 'Cyd', DATE '2000-02-29', TIMESTAMP '2026-06-01 00:00:00+02', JSON '"s"', ['z']);
INSERT INTO {d}.knows VALUES (1, 2, 2001), (2, 3, 2002);
"""
GRAPH = """
CREATE OR REPLACE PROPERTY GRAPH {d}.People
  NODE TABLES ({d}.person LABEL Person)
  EDGE TABLES (
    {d}.knows
      SOURCE KEY (a) REFERENCES person (id)
      DESTINATION KEY (b) REFERENCES person (id)
      LABEL Knows
  )
"""


@pytest.fixture
def people(ask: Ask, dataset: str) -> str:
    """Ada knows Bob knows Cyd, as a graph; returns its dotted name."""
    ask(TABLES)
    ask(GRAPH)
    return f"{dataset}.People"
