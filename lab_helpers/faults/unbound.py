"""A copy of the refund agent with tier 1 taken out: who owns an order is no longer asked.

For the exercise of notebook 04. Nothing else differs, and the lab's own agent is not touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lab_helpers import config as configuration
from lab_helpers.agents.refund.agent import RefundAgent
from lab_helpers.stores.operations import Commit, OperationsStore, PolicyFacts

if TYPE_CHECKING:
    from lab_helpers.lab import Lab


class UnboundStore(OperationsStore):
    """Reads and refunds an order as if the customer of the session were its owner."""

    def policy_facts(
        self, user_id: int, order_id: int, contract: Mapping[str, Any]
    ) -> PolicyFacts | None:
        return super().policy_facts(self._owner(order_id, user_id), order_id, contract)

    def commit_refund(self, user_id: int, order_id: int, *rest: Any, **more: Any) -> Commit:
        return super().commit_refund(self._owner(order_id, user_id), order_id, *rest, **more)

    def _owner(self, order_id: int, otherwise: int) -> int:
        rows = self.query(
            "SELECT user_id FROM orders WHERE order_id = @order_id", {"order_id": order_id}
        )
        return rows[0]["user_id"] if rows else otherwise


def without_tier_1(lab: Lab) -> RefundAgent:
    """The refund workflow over the lab's stores, with every check but ownership."""
    store = UnboundStore(lab.operations.database, configuration.revive(lab.config))
    return RefundAgent(lab.config, store, lab.trail, lab.refund.catalog, lab.model)
