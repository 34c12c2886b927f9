"""A Cloud Spanner for one machine: Spanner's gRPC services over DuckDB files, on 127.0.0.1."""

from lab_helpers.sandbox.spanner.server import SpannerServer

__all__ = ["SpannerServer"]
