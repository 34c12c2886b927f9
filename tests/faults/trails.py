"""Whole trails: one session, five steps, one verdict, one action."""

from lab_helpers.stores.lineage import TABLES

WHOLE = (1, 5, 1, 1)


def whole(lab, trace_ids):
    """Those of the turns whose trail in BigQuery is whole, in one query."""
    counts = " ".join(
        f"JOIN (SELECT trace_id, COUNT(DISTINCT {key}) AS n FROM `{lab.config.dataset}.{table}`"
        f" GROUP BY trace_id) AS {table} ON {table}.trace_id = asked.t AND {table}.n = {n}"
        for (table, key), n in zip(TABLES.items(), WHOLE, strict=True)
    )
    rows = lab.trail.query(
        "WITH asked AS (SELECT t FROM UNNEST(@trace_ids) AS t)"
        f" SELECT asked.t AS t FROM asked {counts}",
        {"trace_ids": list(trace_ids)},
    )
    return {row["t"] for row in rows}
