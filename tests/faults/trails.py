"""What the stores hold of turns; a whole trail is 1 session, 5 steps, 1 verdict, 1 action."""

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


def refunds(lab):
    """Order id to trace id of every refund that Spanner holds."""
    return {r["order_id"]: r["trace_id"] for r in lab.operations.refunds()}
