"""Customer A's orders as the store would give them, for tests that need no store."""

from lab_helpers.agents.refund.conversation import Conversation, Pending
from lab_helpers.stores.operations import Order, PolicyFacts

ORDERS = (
    Order(90137, "Shipped", None, "Sonar Headphones", "Audio", 1, 149.0),
    Order(90163, "Complete", 3, "Ridge Slim Jeans", "Jeans", 1, 79.0),
    Order(90124, "Complete", 12, "Harbor Straight Jeans", "Jeans", 1, 84.5),
    Order(90142, "Returned", 20, "Beacon Backpack", "Bags", 1, 89.0),
    Order(90158, "Complete", 30, "Lumen Electric Kettle, Opal Espresso Cups", "Kitchen", 2, 95.0),
    Order(90131, "Complete", 45, "Kestrel Running Shoes", "Shoes", 1, 124.0),
)

CONTRACT = {
    "catalog_term_id": "rolling-100d-refund-count",
    "secondary_term_id": "order-age-days",
    "tier_term_id": "customer-loyalty-tier",
    "returned_status": "Returned",
    "eligible_order_status": "Complete",
    "rolling_window_days": 100,
    "standard_tier": "STANDARD",
    "vip_tier": "VIP",
}


def facts(**changes) -> PolicyFacts:
    """A row that passes every rule, with changes."""
    row = {
        "user_id": 1001,
        "email": "a@example.com",
        "customer_tier": "STANDARD",
        "target_order_id": 90124,
        "target_order_status": "Complete",
        "product_names": "Harbor Straight Jeans",
        "distribution_center_names": "Portland Harbor",
        "target_order_price": 84.5,
        "target_order_age_days": 12,
        "prior_refund_count_100d": 1,
        "policy_id": "POL-REFUND-STD-V1",
        "policy_name": "Tiered Standard and VIP Refund Policy",
        "condition_id": "COND-REFUND-STD-100D-30D",
        "max_refunds_100d": 10,
        "return_window_days": 30,
        "restriction_action": "BLOCK_SPANNER_MUTATION",
    }
    return PolicyFacts(**{**row, **changes})


def memory(**changes) -> Conversation:
    return Conversation(1001, **changes)


def pending(order_id: int = 90124, **changes) -> Pending:
    row = {
        "user_id": 1001,
        "order_id": order_id,
        "evaluation_result": "PASS",
        "failure_code": None,
        "price": 84.5,
        "trace_id": "TRC-00000001",
    }
    return Pending(**{**row, **changes})
