"""The context of one running turn, bound by a ContextVar: ADK state holds only plain values."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from lab_helpers.agents.refund.conversation import Conversation, Pending
from lab_helpers.agents.trace import Trace
from lab_helpers.stores.operations import Order


@dataclass
class Turn:
    """What the nodes of one turn share besides ADK state."""

    prompt: str
    user_id: int
    memory: Conversation
    trace: Trace
    language: str
    pending: Pending | None
    # The outcome of the steps so far, also when a later step fails.
    intent: Any = None
    contract: dict[str, Any] | None = None
    policy_eval: dict[str, Any] | None = None
    action: dict[str, Any] | None = None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    reply: str = ""
    spoke: str = "template"
    stale_approval: bool = False
    store_down: bool = False
    # A commit was begun, and nobody could be asked whether it was taken.
    unknown: bool = False
    # Closed when the turn has acted, and at its end, whatever happened in between.
    at_work: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)


TURN: contextvars.ContextVar[Turn] = contextvars.ContextVar("lab_refund_turn")


def card(order: Order) -> dict[str, Any]:
    """An order as a candidate card: what the customer may see of it."""
    return {
        "order_id": order.order_id,
        "status": order.status,
        "product_names": order.product_names,
        "price": order.price,
        "age_days": order.age_days,
    }


def cards(orders: Sequence[Order]) -> list[dict[str, Any]]:
    return [card(order) for order in orders]
