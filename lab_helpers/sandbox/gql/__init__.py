"""The GQL front end: property graph DDL and graph queries to DuckDB SQL.

It understands GoogleSQL's graph dialect (Spanner Graph, BigQuery Graph) on top of sqlglot's
parser, and reaches the engine only through the `Tables` protocol.

    create = parse_graph_ddl("CREATE PROPERTY GRAPH g NODE TABLES (users)")
    graph = build_graph(create, tables)
    lowered = lower("GRAPH g MATCH (u:users) RETURN u.email", {"g": graph}, tables)
    rows = connection.execute(lowered.tree.sql("duckdb")).fetchall()

Modules, from the text down: `errors` and `syntax` (what went wrong, what was written) ·
`pattern_parser`, `parser`, `ddl` (grammar) · `schema`, `metadata`, `typenames` (graphs) ·
`sqlnodes`, `labels`, `elements`, `columns`, `scope`, `working` (values and names) · `calls`,
`registry`, `*_functions`, `functions`, `aggregate_syntax`, `aggregates`, `json_shape`,
`expressions` (scalars) · `alternatives`, `candidates`, `sources`, `costs`, `branches`, `walks`,
`patterns`, `matching` (MATCH) · `projection`, `setops`, `statements`, `outer` (queries) ·
`needs`, `lower` (entry and cache) · `googlesql` (plain SQL where there are no graphs).
"""

from .ddl import CreateGraph, DropGraph, is_graph_ddl, parse_graph_ddl
from .errors import GqlError, GraphNotFound, Unsupported, did_you_mean, from_token_error
from .googlesql import googlesql
from .lower import Lowered, lower, mentions_graph
from .schema import PropertyGraph, Tables, build_graph

__all__ = [
    "CreateGraph",
    "DropGraph",
    "GqlError",
    "GraphNotFound",
    "Lowered",
    "PropertyGraph",
    "Tables",
    "Unsupported",
    "build_graph",
    "did_you_mean",
    "from_token_error",
    "googlesql",
    "is_graph_ddl",
    "lower",
    "mentions_graph",
    "parse_graph_ddl",
]
