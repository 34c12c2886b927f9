"""The local BigQuery: bqemulator, plus property graphs and GQL."""

from lab_helpers.sandbox.bigquery.service import BigQueryServer

__all__ = ["BigQueryServer"]
