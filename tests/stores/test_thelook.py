"""Importing the public store: its queries run over tables of that shape, and disturb nothing."""

import pytest

from lab_helpers.errors import LabError
from lab_helpers.provision import thelook

# The public tables' columns, as far as the queries read them, and a few rows.
TABLES = {
    "distribution_centers": "SELECT 1 AS id, 'Memphis TN' AS name, 35.1 AS latitude",
    "products": "SELECT 7 AS id, CAST(NULL AS STRING) AS name, 'Jeans' AS category,"
    " 59.999 AS retail_price, 1 AS distribution_center_id"
    " UNION ALL SELECT 8, 'Belt', 'Accessories', 20.0, 1",
    "users": "SELECT 9 AS id, 'a@x.org' AS email UNION ALL SELECT 10, 'b@x.org'"
    " UNION ALL SELECT 11, 'c@x.org'",
    "orders": "SELECT 90 AS order_id, 9 AS user_id, 'Complete' AS status,"
    " TIMESTAMP '2026-01-01' AS created_at, TIMESTAMP '2026-01-04' AS delivered_at,"
    " CAST(NULL AS TIMESTAMP) AS returned_at"
    " UNION ALL SELECT 91, 11, 'Shipped', TIMESTAMP '2026-01-02', NULL, NULL",
    "order_items": "SELECT 900 AS id, 90 AS order_id, 9 AS user_id, 7 AS product_id,"
    " 70 AS inventory_item_id, 'Complete' AS status, 59.999 AS sale_price,"
    " CAST(NULL AS TIMESTAMP) AS returned_at"
    " UNION ALL SELECT 901, 91, 11, 8, 71, 'Shipped', 20.0, NULL",
}


@pytest.fixture
def source(lab):
    name = "thelook_shape"
    lab.bigquery.create_dataset(name, exists_ok=True)
    for table, rows in TABLES.items():
        lab.bigquery.query(f"CREATE OR REPLACE TABLE `{name}.{table}` AS {rows}").result()
    yield f"{lab.config.project}.{name}"
    lab.bigquery.delete_dataset(name, delete_contents=True)

    def forget(transaction):
        list(transaction.execute_sql("SELECT 1"))
        for table in thelook.TABLES:
            key = "order_id" if table == "orders" else "id"
            transaction.execute_update(f"DELETE FROM {table} WHERE {key} >= {thelook.BASE}")
        transaction.execute_update("DELETE FROM lab_state WHERE name = 'thelook'")

    lab.operations.database.run_in_transaction(forget)


def test_the_first_customers_come_with_their_orders_and_once(lab, source):
    before, base = lab.orders("A").rows, thelook.BASE

    def bring(customers):
        return thelook.bring(
            lab.operations.database,
            lab.bigquery,
            customers=customers,
            source=source,
            location=None,
        )

    assert bring(10) is True and bring(10) is False
    imported = {
        table: lab.operations.query(
            f"SELECT COUNT(*) AS n FROM {table}"
            f" WHERE {'order_id' if table == 'orders' else 'id'} >= {base}"
        )[0]["n"]
        for table in thelook.TABLES
    }
    assert imported == {
        "distribution_centers": 1,
        "products": 2,
        "users": 2,
        "orders": 1,
        "inventory_items": 1,
        "order_items": 1,
    }
    (order,) = lab.operations.orders(base + 9)
    assert (order.order_id, order.product_names, order.price) == (base + 90, "Jeans", 60.0)
    assert lab.orders("A").rows == before
    assert bring(11) is True
    assert [o.status for o in lab.operations.orders(base + 11)] == ["Shipped"]


def test_the_sandbox_says_that_it_has_no_public_tables(lab):
    with pytest.raises(LabError, match="not in the sandbox"):
        lab.import_thelook()
