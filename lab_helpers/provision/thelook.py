"""The public thelook store beside the lab's own customers. Off by default; reads public tables."""

from __future__ import annotations

from typing import Any

from google.cloud import bigquery

from lab_helpers.provision import batches, store
from lab_helpers.provision.install import put_state, state
from lab_helpers.stores import schema

SOURCE = "bigquery-public-data.thelook_ecommerce"
LOCATION = "US"  # where the public tables are, whatever the lab's region
# Ids of the public store begin here, clear of the demo and of every generated order.
BASE = 1_000_000_000_000
# Parents first.
TABLES = (
    "distribution_centers",
    "products",
    "users",
    "orders",
    "inventory_items",
    "order_items",
)
_PAGE_ROWS = 5_000


def bring(
    database: Any,
    client: bigquery.Client,
    *,
    customers: int = 2_000,
    source: str = SOURCE,
    location: str | None = LOCATION,
) -> bool:
    """Copy the first `customers` with their orders into Spanner; False where they are there.

    Killed midway it copies again, onto the same rows. Raises the services' errors.
    """
    if int(state(database, "thelook") or 0) >= customers:
        return False
    (policy, *_), *_ = store.policy_rows()["policies"]
    known = {
        "base": ("INT64", BASE),
        "customers": ("INT64", customers),
        "policy": ("STRING", policy),
    }
    for table in TABLES:
        text = schema.text(f"thelook/{table}.sql").replace("{source}", source)
        # The local BigQuery takes a parameter's name in a comment for the parameter.
        sql = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
        named = [
            bigquery.ScalarQueryParameter(name, kind, value)
            for name, (kind, value) in known.items()
            if f"@{name}" in sql
        ]
        settings = bigquery.QueryJobConfig(query_parameters=named)
        found = client.query(sql, job_config=settings, location=location).result(_PAGE_ROWS)
        for page in found.pages:
            rows = [tuple(row[c] for c in store.COLUMNS[table]) for row in page]
            batches.write(database, table, store.COLUMNS[table], rows)
    put_state(database, thelook=str(customers))
    return True
