"""Reply templates in English and Spanish: what is said when no model speaks. Facts in, text out.

The wording is data/language/refund_replies.json; the choice of the template follows the outcome
that step 4 decided.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from lab_helpers.agents.refund import policy
from lab_helpers.agents.refund.intent import IN_WORDS
from lab_helpers.stores import schema


def reply(facts: Mapping[str, Any]) -> str:
    """The reply of one turn, in the turn's language. `facts` is what `response.facts` gathers."""
    return _Speaker(facts).say()


@functools.cache
def _wording() -> dict[str, Any]:
    return schema.document("language/refund_replies.json")


class _Speaker:
    """The templates of one language over the facts of one turn."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        words = _wording()[facts["language"]]
        self.replies, self.failures, self.statuses = (
            words["replies"],
            words["failures"],
            words["statuses"],
        )
        self.f = dict(facts)
        status = facts.get("target_order_status")
        self.f["target_order_status"] = self.statuses.get(status, status)

    def say(self) -> str:
        f = self.f
        match f["decision_status"]:
            case "PENDING_CONFIRMATION":
                return self.pending()
            case "APPROVED":
                return self.fill("approved")
            case "DENIED" if f.get("unknown"):
                return self.fill("unknown")
            case "DENIED" if f["failure_code"] is None:
                return self.fill("denied_write")
            case "DENIED":
                return self.fill("denied", failure=self.failure(f["failure_code"]))
            case "ORDER_INFO":
                return self.order_info()
            case "ORDER_LIST":
                return self.listing()
            case "POLICY_INFO":
                return self.fill("policy" if f["candidate_orders"] else "policy_only")
        raise ValueError(f"no template for {f['decision_status']!r}")

    def fill(self, key: str, **more: Any) -> str:
        return self.replies[key].format(**{**self.f, "cards": self.cards(), **more})

    def failure(self, code: str) -> str:
        return self.failures[code].format(**self.f)

    def cards(self) -> str:
        return "; ".join(
            self.replies["card"].format(**{**c, "status": self.statuses.get(c["status"])})
            for c in self.f["candidate_orders"]
        )

    def pending(self) -> str:
        f = self.f
        if f["resolution_mode"] == "cancelled":
            return self.fill("cancelled")
        if f["order_id"] is None:
            return self.clarify()
        code = f["failure_code"]
        ask = self.fill("ask_fail", failure=self.failure(code)) if code else self.fill("ask_pass")
        if f["stale_approval"]:
            return self.fill("stale", again=ask)
        return self.fill(IN_WORDS, again=ask) if f["note"] == IN_WORDS else ask

    def clarify(self) -> str:
        f, some = self.f, bool(self.f["candidate_orders"])
        if f["store_down"]:
            return self.fill("down")
        if f["unmatched_product"]:
            key = "unmatched" if some else "unmatched_none"
            return self.fill(key, product=f["unmatched_product"])
        if f["note"] == "too_long":
            return self.fill("too_long")
        return self.fill(f["note"] or "which") if some else self.fill("no_active")

    def order_info(self) -> str:
        if self.f["store_down"]:
            return self.fill("down")
        if not self.f["order_found"]:
            return self.failure(policy.NOT_FOUND)
        known = self.f["target_order_age_days"] is not None
        return self.fill("order_info", age=self.fill("age") if known else "")

    def listing(self) -> str:
        if self.f["store_down"]:
            return self.fill("down")
        status = self.statuses.get(self.f["status_filter"])
        label = self.replies["filter"].format(status=status) if status else ""
        shown, total = len(self.f["candidate_orders"]), self.f.get("list_total") or 0
        label += self.fill("some", shown=shown, total=total) if shown < total else ""
        return self.fill("list" if self.f["candidate_orders"] else "list_none", filter=label)
