"""Provisioning, reset, re-anchoring and clean-up."""

import datetime as dt
import itertools

import pytest

from lab_helpers.provision import install, reset, store
from lab_helpers.stores import schema
from lab_helpers.stores.personas import all_personas


def test_a_second_provisioning_changes_nothing(lab):
    before = lab.table_counts("Spanner").rows
    again = lab.provision(progress=None)
    assert again.changed is False
    assert {result for _, result in again.steps} == {"there"}
    assert lab.table_counts("Spanner").rows == before


def test_a_second_provisioning_repeats_no_ddl(lab, monkeypatch):
    said = []
    database = type(lab.operations.database)
    monkeypatch.setattr(database, "update_ddl", lambda *a, **k: said.append(a))
    lab.provision(progress=None)
    assert said == []


def test_the_generated_store_is_deterministic_and_coherent():
    anchor = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
    first = list(store.generated_rows(anchor))
    assert first == list(store.generated_rows(anchor))
    tables = {}
    for table, rows in [*first, *store.demo_rows(anchor).items(), *store.reference_rows().items()]:
        tables.setdefault(table, []).extend(rows)
    column = lambda t, c: [r[store.COLUMNS[t].index(c)] for r in tables[t]]
    assert len(tables["users"]) == 203 and len(tables["products"]) == 60
    assert len(tables["distribution_centers"]) == 10
    assert len(tables["orders"]) == 2000 + sum(len(p.orders) for p in all_personas().values())
    for child, key, parent, target in (
        ("orders", "user_id", "users", "id"),
        ("order_items", "order_id", "orders", "order_id"),
        ("order_items", "inventory_item_id", "inventory_items", "id"),
        ("inventory_items", "product_id", "products", "id"),
        ("products", "distribution_center_id", "distribution_centers", "id"),
        ("products", "policy_id", "policies", "policy_id"),
        ("policy_conditions", "policy_id", "policies", "policy_id"),
    ):
        assert set(column(child, key)) <= set(column(parent, target)), (child, key)
    for table in tables:
        keys = column(table, store.COLUMNS[table][0])
        assert len(keys) == len(set(keys)), table


def test_a_larger_scale_keeps_what_was_there_and_reaches_far():
    anchor = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
    orders = {1: [], 3: []}
    for scale, rows in orders.items():
        for table, batch in store.generated_rows(anchor, scale):
            rows += [r[0] for r in batch] if table == "orders" else []
    assert len(orders[3]) == 6000 and set(orders[1]) <= set(orders[3])
    batches = store.generated_rows(anchor, 500)
    assert len(list(itertools.islice(batches, 25))) == 25


def test_storefront_products_are_bought_by_nobody(lab):
    names = {p["name"] for p in schema.document("demo/storefront.json")["products"]}
    bought = {r["name"] for r in lab.operations.query("SELECT name FROM products")}
    assert names.isdisjoint(bought)


def test_two_kinds_of_jeans_are_sold():
    products = schema.document("demo/products.json")
    assert sum(p["category"] == "Jeans" for p in products) >= 2


def test_the_policy_rows_are_those_of_the_document():
    rows = store.policy_rows()
    assert rows["policies"] == [
        (
            "POL-REFUND-STD-V1",
            "Tiered Standard and VIP Refund Policy",
            "ACTIVE",
            "policies/refund_policy.md",
        )
    ]
    assert rows["policy_conditions"] == [
        ("COND-REFUND-STD-100D-30D", "POL-REFUND-STD-V1", "STANDARD", 10, 30),
        ("COND-REFUND-VIP-100D-30D", "POL-REFUND-STD-V1", "VIP", 20, 30),
    ]


def _snapshot(lab):
    return lab.operations.query(
        "SELECT o.order_id, o.status, o.returned_at IS NULL AS open, i.refund_trace_id"
        " FROM orders AS o JOIN order_items AS i ON i.order_id = o.order_id"
        " WHERE o.user_id = 1001 ORDER BY i.id"
    )


async def _refund(lab, number=90124):
    await lab.refund.turn(f"Please refund my order ORD-{number}.", "A", session="provision")
    return await lab.refund.turn("Yes.", "A", confirmed=True, session="provision")


async def test_reset_clears_status_date_and_trace(lab):
    before = _snapshot(lab)
    assert (await _refund(lab)).decision_status == "APPROVED"
    assert _snapshot(lab) != before
    assert lab.reset_orders().orders_put_back == 1
    assert _snapshot(lab) == before


async def test_a_reset_of_orders_keeps_the_trail_and_a_full_reset_does_not(lab):
    done = await _refund(lab)
    lab.reset_orders()
    assert lab.trail.counts(done.trace_id)["agent_actions"] == 1
    lab.reset_all()
    assert sum(lab.trail.counts().values()) == 0
    assert lab.operations.count("lineage_outbox") == 0


async def test_a_turn_right_after_a_full_reset_leaves_its_trail(lab):
    lab.reset_all()
    done = await _refund(lab)
    assert list(lab.trail.counts(done.trace_id).values()) == [1, 5, 1, 1]


def _ages(lab):
    return {o.order_id: o.age_days for o in lab.operations.orders(1001)}


def _back(lab, days):
    """The lab as it would be found that many days later."""
    shift = f"INTERVAL {days * 24} HOUR"
    columns = ("created_at", "delivered_at", "returned_at")
    sets = ", ".join(f"{c} = TIMESTAMP_SUB({c}, {shift})" for c in columns)

    def work(transaction):
        list(transaction.execute_sql("SELECT 1"))
        transaction.execute_update(f"UPDATE orders SET {sets} WHERE user_id IN (1001, 2048, 3072)")
        old = (install.now() - dt.timedelta(days=days)).isoformat()
        transaction.insert_or_update("lab_state", ("name", "value"), [("anchor", old)])

    lab.operations.database.run_in_transaction(work)


@pytest.mark.parametrize("days", [1, 3])
def test_orders_that_went_stale_overnight_are_re_anchored(lab, days):
    fresh = _ages(lab)
    _back(lab, days)
    assert _ages(lab) != fresh
    assert reset.reanchor(lab.operations) is not None
    assert _ages(lab) == fresh
    assert reset.reanchor(lab.operations) is None


def test_a_lab_of_hours_moves_no_order_across_a_line(lab):
    fixtures = {o["order_id"]: o["delivered_days_ago"] for o in all_personas()["A"].orders}
    assert _ages(lab) == fixtures
    later = install.now() + dt.timedelta(hours=17)
    rows = store.demo_rows(install.now())["orders"]
    for number, _, _, _, delivered, _ in rows:
        if number in fixtures and delivered is not None:
            assert (later - delivered).days == fixtures[number]


async def test_re_anchoring_puts_no_refund_into_the_future(lab):
    await _refund(lab)
    _back(lab, 1)
    reset.reanchor(lab.operations)
    rows = lab.operations.query(
        "SELECT COUNTIF(returned_at > CURRENT_TIMESTAMP()) AS ahead FROM orders"
    )
    assert rows[0]["ahead"] == 0


def test_clean_up_lists_before_it_removes(tmp_path):
    from lab_helpers import sandbox
    from lab_helpers.lab import Lab

    home = tmp_path.resolve()
    lab = Lab.open(env={"LAB_HOME": str(home)}, quiet=True)
    try:
        lab.provision(progress=None)
        listed = lab.cleanup()
        assert {r["state"] for r in listed} == {"would be removed"}
        assert lab.is_provisioned()
        removed = lab.cleanup(confirm=True)
        assert [r["name"] for r in removed] == [r["name"] for r in listed]
        assert not lab.is_provisioned()
        assert lab.provision(progress=None).changed
    finally:
        lab.close()
        sandbox.stop(home)
