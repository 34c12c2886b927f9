"""The whole journey in a terminal: provision, one turn for every outcome, its lineage, reset."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from lab_helpers.lab import Lab
from lab_helpers.stores.personas import all_personas

ROWS_PER_TURN = {
    "agent_sessions": 1,
    "workflow_nodes": 5,
    "policy_evaluations": 1,
    "agent_actions": 1,
}


@dataclass
class Told:
    """One demo order: what was asked, what came of it, and the trail of its turns."""

    persona: str
    order_id: int
    shows: str
    expected: str
    outcome: str
    term: str
    asked: str
    reply: str
    spoke: str
    traces: list[str] = field(default_factory=list)
    lineage: list[dict[str, int]] = field(default_factory=list)

    @property
    def as_promised(self) -> bool:
        return self.outcome == self.expected and all(n == ROWS_PER_TURN for n in self.lineage)


# An order that shows ambiguity is asked for by name, the others by number.
def _question(order: dict[str, Any]) -> str:
    if order["outcome"] == "MISSING_ORDER_ID":
        return "Please refund the jeans."
    return f"Please refund my order ORD-{order['order_id']}."


async def tell(lab: Lab, persona: str, order: dict[str, Any]) -> Told:
    """Ask for one order's refund and, where a confirmation is asked for, confirm."""
    question = _question(order)
    session = f"demo-{persona}-{order['order_id']}"
    results = [await lab.refund.turn(question, persona, session=session)]
    if results[0].decision_status == "PENDING_CONFIRMATION" and results[0].order_id:
        results.append(
            await lab.refund.turn("Yes, please.", persona, confirmed=True, session=session)
        )
    last = results[-1]
    outcome = last.failure_code or last.decision_status
    traces = [r.trace_id for r in results]
    return Told(
        persona,
        order["order_id"],
        order["shows"],
        order["outcome"],
        outcome,
        last.catalog_term_id,
        question,
        last.reply,
        last.spoke,
        traces,
        [await asyncio.to_thread(lab.trail.counts, t) for t in traces],
    )


def run(as_json: bool = False) -> int:
    """Run the demo; 0 when every outcome and every trail is as promised."""
    lab = Lab.open(quiet=as_json)
    lab.provision(progress=None)
    lab.reset_orders()
    told = asyncio.run(_all(lab))
    refunds = lab.operations.refunds()
    # Read before the reset: every refund in Spanner must have its trail in BigQuery.
    untold = [r for r in refunds if lab.trail.counts(r["trace_id"]) != ROWS_PER_TURN]
    if not as_json:
        for t in told:
            _print(lab, t)
    put_back = lab.reset_orders().orders_put_back
    good = all(t.as_promised for t in told) and not untold and put_back == len(refunds)
    if as_json:
        record = {
            "backend": lab.config.backend,
            "orders": [{**asdict(t), "as_promised": t.as_promised} for t in told],
            "refunds_without_trail": untold,
            "orders_put_back": put_back,
            "ok": good,
        }
        print(json.dumps(record, indent=2, ensure_ascii=False))
    else:
        print(f"Reset: {put_back} refunded orders put back; the trail stays.")
        print("Every outcome and every trail is as promised." if good else "NOT as promised.")
    lab.close()
    return 0 if good else 1


async def _all(lab: Lab) -> list[Told]:
    # The ambiguous question first: a refunded pair of jeans would leave only one to mean.
    orders = [(p.key, order) for p in all_personas().values() for order in p.shown]
    orders.sort(key=lambda pair: pair[1]["outcome"] != "MISSING_ORDER_ID")
    told = []
    for n, (key, order) in enumerate(orders, start=1):
        print(f"\r{n}/{len(orders)} …", end="", file=sys.stderr, flush=True)
        told.append(await tell(lab, key, order))
    print("\r      \r", end="", file=sys.stderr)
    return sorted(told, key=lambda t: (t.persona, t.order_id))


def _print(lab: Lab, told: Told) -> None:
    mark = "✓" if told.as_promised else "✗"
    print(f"{mark} Customer {told.persona}, ORD-{told.order_id}: {told.shows} → {told.outcome}")
    print(f"    customer: {told.asked}")
    print(f"    {told.spoke}: {told.reply}")
    for line in repr(lab.lineage(told.traces[-1])).splitlines():
        print(f"    {line}")
    print()
