"""The refund rules, one row each (the checklist of the design)."""

import pytest

from lab_helpers.agents.refund import policy
from tests.unit.shop import CONTRACT, facts

VIP = {"customer_tier": "VIP", "max_refunds_100d": 20}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, None),
        ({"target_order_age_days": 0}, None),
        ({"target_order_age_days": 30}, None),
        ({"target_order_age_days": 31}, policy.WINDOW_EXPIRED),
        ({"prior_refund_count_100d": 9}, None),
        ({"prior_refund_count_100d": 10}, policy.LIMIT_EXCEEDED),
        ({**VIP, "prior_refund_count_100d": 10}, None),
        ({**VIP, "prior_refund_count_100d": 19}, None),
        ({**VIP, "prior_refund_count_100d": 20}, policy.LIMIT_EXCEEDED),
        ({"target_order_status": "Returned", "target_order_age_days": 99}, policy.ALREADY_RETURNED),
        (
            {"target_order_status": "Returned", "prior_refund_count_100d": 50},
            policy.ALREADY_RETURNED,
        ),
        ({"target_order_status": "Shipped"}, policy.NOT_DELIVERED),
        ({"target_order_status": "Processing"}, policy.NOT_DELIVERED),
        ({"target_order_status": "Cancelled"}, policy.NOT_DELIVERED),
        (
            {
                "target_order_status": "Shipped",
                "target_order_age_days": None,
                "prior_refund_count_100d": 99,
            },
            policy.NOT_DELIVERED,
        ),
        ({"target_order_age_days": None}, policy.NOT_DELIVERED),
        ({"target_order_age_days": 31, "prior_refund_count_100d": 10}, policy.WINDOW_EXPIRED),
        ({"customer_tier": "PLATINUM"}, policy.NOT_FOUND),
        ({"customer_tier": ""}, policy.NOT_FOUND),
    ],
)
def test_first_failing_rule_in_priority_order(changes, code):
    assert policy.failure(facts(**changes), CONTRACT) == code


def test_no_row_is_not_found():
    assert policy.failure(None, CONTRACT) == policy.NOT_FOUND


@pytest.mark.parametrize(
    ("result", "code", "changes", "term"),
    [
        ("PASS", None, {}, "rolling-100d-refund-count"),
        ("FAIL", policy.WINDOW_EXPIRED, {}, "order-age-days"),
        ("FAIL", policy.NOT_DELIVERED, {}, "order-age-days"),
        ("FAIL", policy.LIMIT_EXCEEDED, {}, "rolling-100d-refund-count"),
        ("PASS", None, {**VIP, "prior_refund_count_100d": 9}, "rolling-100d-refund-count"),
        ("PASS", None, {**VIP, "prior_refund_count_100d": 10}, "customer-loyalty-tier"),
        ("PASS", None, {**VIP, "prior_refund_count_100d": 19}, "customer-loyalty-tier"),
        (
            "FAIL",
            policy.LIMIT_EXCEEDED,
            {**VIP, "prior_refund_count_100d": 20},
            "rolling-100d-refund-count",
        ),
        ("PASS", None, {"prior_refund_count_100d": 12}, "rolling-100d-refund-count"),
    ],
)
def test_term_that_governed(result, code, changes, term):
    assert policy.catalog_term(result, code, facts(**changes), CONTRACT, 10) == term


def test_reasons_are_worded_as_in_seed_000():
    held = policy.evaluation(
        eval_id="EVAL-1",
        node_exec_id="NODE-1",
        result="FAIL",
        failure_code=policy.WINDOW_EXPIRED,
        facts=facts(target_order_age_days=45),
        contract=CONTRACT,
        standard_limit=10,
    )
    assert policy.reason(policy.WINDOW_EXPIRED, held, 90131, 1001) == (
        "Order was delivered 45 days ago, exceeding the 30-day return window."
    )
    assert policy.reason(policy.NOT_FOUND, held, 90131, 1001) == (
        "Order 90131 was not found for user 1001."
    )
    assert policy.reason(policy.LIMIT_EXCEEDED, held, 90131, 1001) == (
        "Customer (STANDARD tier) already has 1 returned items in the last 100 days (limit: 10)."
    )


def test_without_facts_the_baseline_fills_every_required_column():
    held = policy.evaluation(
        eval_id="EVAL-1",
        node_exec_id="NODE-1",
        result="FAIL",
        failure_code=policy.MISSING_ORDER_ID,
        facts=None,
        contract=CONTRACT,
        standard_limit=10,
    )
    assert held["order_found"] is False
    assert (held["policy_id"], held["condition_id"]) == (
        "POL-REFUND-STD-V1",
        "COND-REFUND-STD-100D-30D",
    )
    assert (held["prior_refund_count_100d"], held["max_refunds_100d"]) == (0, 10)
    assert held["target_order_age_days"] is None
