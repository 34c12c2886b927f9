"""A tiny graph in DuckDB, and a runner that takes GQL and gives rows."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

from lab_helpers.sandbox.gql import build_graph, lower, parse_graph_ddl

TABLES = """
CREATE TABLE person (id BIGINT PRIMARY KEY, name VARCHAR, age BIGINT, city VARCHAR,
                     joined TIMESTAMPTZ);
INSERT INTO person VALUES
  (1, 'Ana', 30, 'LIS', '2024-01-01 12:00:00+00'), (2, 'Ben', 40, 'LIS', '2024-02-01 12:00:00+00'),
  (3, 'Cleo', NULL, 'POR', NULL), (4, 'Dan', 25, NULL, '2024-03-01 12:00:00+00');
CREATE TABLE city (code VARCHAR PRIMARY KEY, name VARCHAR, population BIGINT);
INSERT INTO city VALUES ('LIS', 'Lisbon', 500), ('POR', 'Porto', 230), ('FAR', 'Faro', 60);
CREATE TABLE knows (id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, weight BIGINT, since DATE);
INSERT INTO knows VALUES
  (10, 1, 2, 5, '2020-01-01'), (11, 2, 1, 7, '2020-01-02'), (12, 2, 3, 1, '2021-05-05'),
  (13, 3, 3, 2, '2022-02-02');
CREATE TABLE road (start VARCHAR, stop VARCHAR, km DOUBLE, PRIMARY KEY (start, stop));
INSERT INTO road VALUES ('LIS', 'POR', 300), ('POR', 'LIS', 310), ('LIS', 'FAR', 280);
"""

GRAPH = """
CREATE PROPERTY GRAPH world
NODE TABLES (
  person AS Person
    DEFAULT LABEL PROPERTIES (id, name, age, joined)
    LABEL Named PROPERTIES (name),
  city AS City
    DEFAULT LABEL PROPERTIES (code, name, population, population * 1000 AS people)
    LABEL Named PROPERTIES (name))
EDGE TABLES (
  person AS Lives KEY (id)
    SOURCE KEY (id) REFERENCES Person
    DESTINATION KEY (city) REFERENCES City
    DEFAULT LABEL NO PROPERTIES,
  knows AS Knows
    SOURCE KEY (a) REFERENCES Person (id)
    DESTINATION KEY (b) REFERENCES Person (id)
    DEFAULT LABEL PROPERTIES (id, weight, since),
  road AS Road
    SOURCE KEY (start) REFERENCES City (code)
    DESTINATION KEY (stop) REFERENCES City (code)
    DEFAULT LABEL PROPERTIES (km))
"""


class DuckTables:
    """`Tables` over a DuckDB connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection):
        self.connection = connection

    def names(self) -> list[str]:
        rows = self.connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY table_oid")
        return [name for (name,) in rows.fetchall()]

    def resolve(self, name: str) -> exp.Table:
        self.columns(name)
        return exp.Table(this=exp.to_identifier(name, quoted=True))

    def columns(self, name: str) -> dict[str, str]:
        rows = self.connection.execute(
            "SELECT column_name, data_type FROM duckdb_columns() "
            "WHERE lower(table_name) = lower(?) ORDER BY column_index",
            [name],
        ).fetchall()
        if not rows:
            raise KeyError(name)
        return dict(rows)

    def primary_key(self, name: str) -> list[str]:
        rows = self.connection.execute(
            "SELECT constraint_column_names FROM duckdb_constraints() "
            "WHERE lower(table_name) = lower(?) AND constraint_type = 'PRIMARY KEY'",
            [name],
        ).fetchall()
        return rows[0][0] if rows else []

    def expression_type(self, name: str, sql: str) -> str:
        query = f'DESCRIBE SELECT {sql} AS x FROM "{name}"'
        return self.connection.execute(query).fetchall()[0][1]


class World:
    """Tables, graphs and a way to ask them."""

    def __init__(self, tables: str = TABLES, *graphs: str):
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'America/Los_Angeles'")
        self.connection.execute(tables)
        self.tables = DuckTables(self.connection)
        self.graphs = {}
        for ddl in graphs or (GRAPH,):
            graph = build_graph(parse_graph_ddl(ddl), self.tables)
            self.graphs[graph.name] = graph

    def lower(self, query: str):
        return lower(query, self.graphs, self.tables)

    def sql(self, query: str) -> str:
        return self.lower(query).tree.sql("duckdb")

    def rows(self, query: str, **parameters) -> list[tuple]:
        return self.connection.execute(self.sql(query), parameters or None).fetchall()

    def gql(self, body: str, **parameters) -> list[tuple]:
        return self.rows(f"GRAPH world {body}", **parameters)


@pytest.fixture(scope="session")
def world() -> World:
    return World()
