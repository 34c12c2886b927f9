"""The policy query and the refund transaction, on the real client."""

import functools
import time

import pytest

from lab_helpers.agents.refund import policy
from tests.stores.shop import CONTRACT, ago, customer, order, status

FAILURE = functools.partial(policy.failure, contract=CONTRACT)


def facts(lab, user_id, number):
    return lab.operations.policy_facts(user_id, number, CONTRACT)


def commit(lab, user_id, number, trace="TRC-1"):
    return lab.operations.commit_refund(
        user_id, number, trace, CONTRACT, failure=FAILURE, trail=lambda f: "{}"
    )


def test_the_sixteen_columns_of_a_demo_order(lab):
    row = facts(lab, 1001, 90158)
    assert row.as_dict() == {
        "user_id": 1001,
        "email": "customer.a@example.com",
        "customer_tier": "STANDARD",
        "target_order_id": 90158,
        "target_order_status": "Complete",
        "product_names": "Lumen Electric Kettle, Opal Espresso Cups",
        "distribution_center_names": row.distribution_center_names,
        "target_order_price": 95.0,
        "target_order_age_days": 30,
        "prior_refund_count_100d": 1,
        "policy_id": "POL-REFUND-STD-V1",
        "policy_name": "Tiered Standard and VIP Refund Policy",
        "condition_id": "COND-REFUND-STD-100D-30D",
        "max_refunds_100d": 10,
        "return_window_days": 30,
        "restriction_action": "BLOCK_SPANNER_MUTATION",
    }
    assert len(row.distribution_center_names.split(", ")) in (1, 2)


@pytest.mark.parametrize(
    ("user_id", "number", "tier", "earlier", "limit"),
    [
        (1001, 90124, "STANDARD", 1, 10),
        (1001, 90142, "STANDARD", 0, 10),
        (2048, 90477, "STANDARD", 10, 10),
        (3072, 90910, "VIP", 12, 20),
    ],
)
def test_demo_customers_have_the_returns_the_design_says(
    lab, user_id, number, tier, earlier, limit
):
    row = facts(lab, user_id, number)
    assert (row.customer_tier, row.prior_refund_count_100d, row.max_refunds_100d) == (
        tier,
        earlier,
        limit,
    )


def test_the_query_agrees_with_plain_sql_over_the_generated_store(lab):
    sql = """
      SELECT o.user_id, o.order_id, ROUND(SUM(i.sale_price), 2) AS price, (
        SELECT COUNT(DISTINCT h.id)
        FROM orders AS p JOIN order_items AS h ON h.order_id = p.order_id
        WHERE p.user_id = o.user_id AND p.order_id != o.order_id AND h.status = 'Returned'
          AND COALESCE(h.returned_at, p.returned_at, p.created_at)
              >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 100 DAY)) AS earlier
      FROM orders AS o JOIN order_items AS i ON i.order_id = o.order_id
      WHERE o.order_id BETWEEN 20001 AND 20060 GROUP BY o.user_id, o.order_id"""
    expected = lab.operations.query(sql)
    assert len(expected) == 60
    for want in expected:
        row = facts(lab, want["user_id"], want["order_id"])
        assert (row.target_order_price, row.prior_refund_count_100d) == (
            want["price"],
            want["earlier"],
        )


@pytest.mark.parametrize(
    ("user_id", "number"), [(2048, 90124), (1001, 90910), (1001, 99999), (4242, 90124)]
)
def test_someone_elses_order_is_no_row(lab, user_id, number):
    assert facts(lab, user_id, number) is None


@pytest.mark.parametrize(
    ("delivered", "age", "code"),
    [
        (0.01, 0, None),
        (29.99, 29, None),
        (30.0, 30, None),
        (30.99, 30, None),
        (31.01, 31, policy.WINDOW_EXPIRED),
        (None, None, policy.NOT_DELIVERED),
    ],
)
def test_age_counts_whole_days(lab, delivered, age, code):
    user = customer(lab)
    row = facts(lab, user, order(lab, user, delivered=delivered))
    assert (row.target_order_age_days, FAILURE(row)) == (age, code)


@pytest.mark.parametrize(
    ("tier", "items", "code"),
    [
        ("STANDARD", 9, None),
        ("STANDARD", 10, policy.LIMIT_EXCEEDED),
        ("VIP", 10, None),
        ("VIP", 19, None),
        ("VIP", 20, policy.LIMIT_EXCEEDED),
        ("GOLD", 0, policy.NOT_FOUND),
    ],
)
def test_the_limit_of_a_tier(lab, tier, items, code):
    user = customer(lab, tier)
    if items:
        order(lab, user, status="Returned", items=items, returned=10)
    assert FAILURE(facts(lab, user, order(lab, user))) == code


def test_the_limit_counts_items_on_other_orders_inside_the_window(lab):
    user = customer(lab)
    target = order(lab, user, items=4)
    order(lab, user, status="Returned", items=3, returned=99.9)
    order(lab, user, status="Returned", items=5, returned=100.1)
    order(lab, user, status="Complete", items=7)
    assert facts(lab, user, target).prior_refund_count_100d == 3


def test_a_three_item_refund_adds_three(lab):
    user = customer(lab)
    first, second = order(lab, user, items=3), order(lab, user)
    assert facts(lab, user, second).prior_refund_count_100d == 0
    assert commit(lab, user, first).committed
    assert facts(lab, user, second).prior_refund_count_100d == 3


def test_a_commit_writes_orders_items_and_outbox_at_once(lab):
    user = customer(lab)
    number = order(lab, user, items=2)
    assert commit(lab, user, number, "TRC-W").committed
    rows = lab.operations.query(
        "SELECT status, refund_trace_id, returned_at FROM order_items WHERE order_id = @order_id",
        {"order_id": number},
    )
    assert [(r["status"], r["refund_trace_id"]) for r in rows] == [("Returned", "TRC-W")] * 2
    assert all(ago(0.01) < r["returned_at"] for r in rows)
    assert status(lab, number) == "Returned"
    assert "TRC-W" in lab.operations.pending_outbox()


def test_a_second_refund_is_refused_and_keeps_the_first_trace(lab):
    user = customer(lab)
    number = order(lab, user)
    assert commit(lab, user, number, "TRC-FIRST").committed
    again = commit(lab, user, number, "TRC-SECOND")
    assert (again.committed, again.failure_code) == (False, policy.ALREADY_RETURNED)
    assert lab.operations.refund_trace(number) == {"TRC-FIRST"}


def test_the_same_turn_again_reports_the_same_commit(lab):
    user = customer(lab)
    number = order(lab, user)
    assert commit(lab, user, number, "TRC-SAME").committed
    assert commit(lab, user, number, "TRC-SAME").committed


@pytest.fixture
def raced(at_once, capsys):
    """`at_once`, with how long it took printed beside the test."""

    def run(what, n, work):
        since = time.perf_counter()
        out = at_once(n, work)
        with capsys.disabled():
            print(f"\n{what}: {n} in {time.perf_counter() - since:.2f} s")
        return out

    return run


@pytest.mark.parametrize("threads", [20, 50])
def test_one_order_is_refunded_once_however_many_confirm(lab, raced, threads):
    user = customer(lab)
    number = order(lab, user)
    refund = functools.partial(commit, lab, user)
    done = raced("commits of one order", threads, lambda i: refund(number, f"TRC-{number}-{i}"))
    assert [type(d).__name__ for d in done] == ["Commit"] * threads
    assert sum(d.committed for d in done) == 1
    assert {d.failure_code for d in done if not d.committed} == {policy.ALREADY_RETURNED}
    (trace,) = lab.operations.refund_trace(number)
    assert done[int(trace.rsplit("-", 1)[1])].committed


@pytest.mark.parametrize("threads", [20, 50])
def test_at_limit_minus_three_exactly_three_are_refunded(lab, raced, threads):
    user = customer(lab)
    order(lab, user, status="Returned", items=7, returned=3)
    numbers = [order(lab, user) for _ in range(threads)]
    refund = functools.partial(commit, lab, user)
    done = raced("commits at the limit", threads, lambda i: refund(numbers[i], f"TRC-{numbers[i]}"))
    assert sum(d.committed for d in done) == 3
    assert {d.failure_code for d in done if not d.committed} == {policy.LIMIT_EXCEEDED}
    assert sum(status(lab, n) == "Returned" for n in numbers) == 3


@pytest.mark.parametrize("delivered", [False, True])
def test_what_the_outbox_knows_is_not_added_again(lab, delivered):
    trace_id = f"TRC-known-{delivered}"
    lab.operations.add_outbox(trace_id, "the commit's own")
    if delivered:
        lab.operations.mark_delivered([trace_id])
    lab.operations.add_outbox(trace_id, "what a dead kernel noted")
    owed = {t: p for t, p in lab.operations.pending_outbox().items() if t == trace_id}
    assert owed == ({} if delivered else {trace_id: "the commit's own"})
    lab.operations.mark_delivered([trace_id])
