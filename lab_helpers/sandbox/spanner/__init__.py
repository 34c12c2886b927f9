"""A Cloud Spanner for one machine: Spanner's gRPC services over DuckDB files, on 127.0.0.1.

Modules, from the wire down:
  server, rpc                     which services there are, and how errors travel
  admin_api, data_api             their methods; sessions, results
  instances                       what exists, by name, on disk
  database                        one database: schema, statements, open transactions
  transactions, lock, timeline    when a transaction sees what, and may write
  statements, mutations, keys, constraints
                                  what runs inside one
  translate, functions, graphs, information_schema, tokens
                                  GoogleSQL and GQL to DuckDB SQL
  ddl, ddl_parser, ddl_printer, ddl_statements, alterations, table_rules, physical
                                  DDL to a schema and to DuckDB tables
  schema, codec, errors, duckdb_errors, storage

Limits: a request has at most 100 MB and a commit 80,000 mutations, as in Spanner; replies come in
messages of about 1 MB. Timestamps keep microseconds. Stale reads read the newest data. A key column
holds no NULL, and a unique index takes any number of them. NUMERIC divided gives a FLOAT64. Row
deletion policies are kept but not carried out. Left out, and named when asked for: partitioned
queries, change streams, sequences, roles, backups, search and vector indexes, named schemas.
"""

from lab_helpers.sandbox.spanner.server import SpannerServer

__all__ = ["SpannerServer"]
