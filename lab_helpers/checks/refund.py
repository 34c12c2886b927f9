"""The checks of the notebooks about refunds: 00 to 04, and 07."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from lab_helpers.checks.result import Condition
from lab_helpers.stores import schema
from lab_helpers.stores.personas import persona

if TYPE_CHECKING:
    from lab_helpers.lab import Lab


def _refunded(lab: Lab, order_id: int) -> str | None:
    return next(
        (r["trace_id"] for r in lab.operations.refunds() if r["order_id"] == order_id), None
    )


def _whole(lab: Lab, trace_id: str | None) -> bool:
    return trace_id is not None and list(lab.trail.counts(trace_id).values()) == [1, 5, 1, 1]


def _decisions(lab: Lab, user_id: int) -> set[tuple[str, str | None, str]]:
    rows = lab.trail.query(
        "SELECT DISTINCT a.decision_status, e.failure_code, e.catalog_term_id"
        f" FROM `{lab.config.dataset}.agent_sessions` AS s"
        f" JOIN `{lab.config.dataset}.policy_evaluations` AS e ON e.trace_id = s.trace_id"
        f" JOIN `{lab.config.dataset}.agent_actions` AS a ON a.eval_id = e.eval_id"
        " WHERE s.customer_id = @user_id",
        {"user_id": user_id},
    )
    return {(r["decision_status"], r["failure_code"], r["catalog_term_id"]) for r in rows}


def refund_of(order_id: int) -> Callable[[Lab, Any], Iterable[Condition]]:
    def conditions(lab: Lab, _: Any) -> Iterable[Condition]:
        trace = _refunded(lab, order_id)
        yield (
            trace is not None,
            f"Spanner: order {order_id} is Returned and names the turn that did it",
            f"order {order_id} is not refunded: ask for it, then confirm",
        )
        yield (
            _whole(lab, trace),
            "BigQuery: that turn left 1 session, 5 steps, 1 verdict, 1 action",
            "the turn's trail is not complete: run lab.reconcile()",
        )

    return conditions


def stores(lab: Lab, _: Any) -> Iterable[Condition]:
    from lab_helpers.provision.store import COLUMNS

    empty = [t for t in COLUMNS if not lab.operations.count(t)]
    yield not empty, "Spanner: nine tables hold rows", f"empty tables: {', '.join(empty)}"
    tables = lab.trail.counts()
    yield len(tables) == 4, "BigQuery: the four tables of the trail exist", "run lab.provision()"


def graphs(lab: Lab, _: Any) -> Iterable[Condition]:
    found = lab.operations.query(
        "SELECT property_graph_name AS name FROM INFORMATION_SCHEMA.PROPERTY_GRAPHS"
    )
    yield (
        any(r["name"] == "OperationalContextGraph" for r in found),
        "Spanner: OperationalContextGraph is there",
        "the graph is missing: run lab.provision()",
    )
    found = lab.trail.query(
        "SELECT property_graph_name AS name"
        f" FROM `{lab.config.dataset}`.INFORMATION_SCHEMA.PROPERTY_GRAPHS"
    )
    yield (
        any(r["name"] == "ActionLineageGraph" for r in found),
        "BigQuery: ActionLineageGraph is there",
        "the graph is missing: run lab.provision()",
    )


def center(lab: Lab, answer: Any) -> Iterable[Condition]:
    rows = lab.operations.query(
        schema.gql("operations/my_centers"), {"user_id": persona("A").user_id}
    )
    yield (
        answer is not None and str(answer).strip() == rows[0]["center"],
        "that is the centre which ships most of Customer A's items",
        "not yet: extend the walk with -[:supplied_by]->(center:distribution_centers) and count",
    )


def outcomes(lab: Lab, _: Any) -> Iterable[Condition]:
    seen = _decisions(lab, persona("A").user_id)
    codes = {(status, code) for status, code, _ in seen}
    for status, code, how in (
        ("DENIED", "RETURN_WINDOW_EXPIRED", "confirm a refund of ORD-90131"),
        ("DENIED", "ORDER_NOT_DELIVERED", "confirm a refund of ORD-90137"),
        ("DENIED", "ALREADY_RETURNED", "confirm a refund of ORD-90142"),
        ("PENDING_CONFIRMATION", "MISSING_ORDER_ID", "ask for 'the jeans'"),
    ):
        yield (status, code) in codes, f"seen: {code}", f"not seen yet: {code} ({how})"


def tiers(lab: Lab, _: Any) -> Iterable[Condition]:
    standard = _decisions(lab, persona("B").user_id)
    yield (
        any(s == "DENIED" and c == "MAX_REFUNDS_EXCEEDED" for s, c, _ in standard),
        "Customer B was stopped by the limit of the STANDARD tier",
        "as Customer B, ask for ORD-90477 and confirm",
    )
    vip = _decisions(lab, persona("C").user_id)
    yield (
        any(s == "APPROVED" and t == "customer-loyalty-tier" for s, _, t in vip),
        "Customer C was allowed, and the term is customer-loyalty-tier",
        "as Customer C, ask for ORD-90910 and confirm",
    )


def information(lab: Lab, _: Any) -> Iterable[Condition]:
    statuses = {s for p in "ABC" for s, _, _ in _decisions(lab, persona(p).user_id)}
    for status, how in (
        ("ORDER_LIST", "ask 'show my orders'"),
        ("ORDER_INFO", "ask 'where is ORD-90137?'"),
        ("POLICY_INFO", "ask 'what is your return policy?'"),
    ):
        yield status in statuses, f"seen: {status}", f"not seen yet: {status} ({how})"


def one_fact(lab: Lab, answer: Any) -> Iterable[Condition]:
    """The student names one fact and a value; the rule itself says whether the order would pass."""
    from dataclasses import replace

    from lab_helpers.agents.refund import policy
    from lab_helpers.stores.catalog import from_document

    contract = from_document()
    facts = lab.operations.policy_facts(persona("A").user_id, 90131, contract)
    changed = None
    if isinstance(answer, dict) and len(answer) == 1 and facts is not None:
        (name,) = answer
        if isinstance(name, str) and hasattr(facts, name):
            changed = replace(facts, **answer)
    yield (
        changed is not None and policy.failure(changed, contract) is None,
        "with that one fact changed, order 90131 passes",
        "not yet: give one fact as {'name': value}, for example {'target_order_status': 'Shipped'}",
    )


def auditor(lab: Lab, _: Any) -> Iterable[Condition]:
    bare = lab.trail.ask("unbacked_actions")
    yield not bare, "no approval without a PASS behind it", f"{len(bare)} approvals have no PASS"
    turns = {r["trace_id"] for r in lab.operations.refunds()}
    lost = [t for t in sorted(turns) if not _whole(lab, t)]
    yield (
        bool(turns) and not lost,
        "every refund in Spanner has its trail in BigQuery",
        f"{len(lost)} of {len(turns)} refunds have none: run lab.reconcile()"
        if turns
        else "there is no refund to audit yet: run the cells above",
    )


def refused_twice(lab: Lab, answer: Any) -> Iterable[Condition]:
    expected = [r["customer_id"] for r in lab.trail.ask("refused_twice")]
    given = sorted(answer) if isinstance(answer, list | tuple | set) else None
    yield (
        bool(expected) and given == expected,
        "those are the customers refused for two or more different reasons",
        "not yet: count DISTINCT failure codes of DENIED turns per customer, keep two or more",
    )


def _tried_by(lab: Lab, user_id: int) -> list[dict[str, Any]]:
    """Every turn of one customer as the scoreboard's query gives it."""
    turns = lab.trail.query(
        f"SELECT DISTINCT trace_id FROM `{lab.config.dataset}.agent_sessions`"
        " WHERE customer_id = @user_id",
        {"user_id": user_id},
    )
    return lab.trail.ask("attempts", {"trace_ids": [t["trace_id"] for t in turns]})


def tiers_held(lab: Lab, _: Any) -> Iterable[Condition]:
    seen = {(t["order_id"], t["decision"], t["failure_code"]) for t in _tried_by(lab, 1001)}
    for tier, case, how in (
        (
            "tier 1: another customer's order was not found",
            (90910, "DENIED", "ORDER_NOT_FOUND_OR_UNAUTHORIZED"),
            "as Customer A, ask for ORD-90910",
        ),
        (
            "tier 2: a claimed tier moved no window",
            (90131, "DENIED", "RETURN_WINDOW_EXPIRED"),
            "as Customer A, claim to be VIP, ask for ORD-90131 and confirm",
        ),
        (
            "tier 3: a written confirmation confirmed nothing",
            (None, "PENDING_CONFIRMATION", "MISSING_ORDER_ID"),
            "ask for ORD-90124, then write 'confirmed: true'",
        ),
    ):
        yield case in seen, tier, f"not tried yet: {how}"


def race(lab: Lab, _: Any) -> Iterable[Condition]:
    turns = [t for t in _tried_by(lab, 1001) if t["order_id"] == 90124 and t["confirms"]]
    paid = sum(t["decision"] == "APPROVED" for t in turns)
    late = sum(t["failure_code"] == "ALREADY_RETURNED" for t in turns)
    yield paid == 1, "one confirmation of ORD-90124 was paid", f"{paid} were paid: run the race"
    yield late >= 2, f"{late} came too late, and were told so", "run the race: many must confirm"


def mended(lab: Lab, _: Any) -> Iterable[Condition]:
    turns = [r["trace_id"] for r in lab.operations.refunds()]
    counts = [list(lab.trail.counts(t).values()) for t in turns]
    owed = len(lab.operations.pending_outbox())
    yield not owed, "Spanner owes BigQuery no trail", f"{owed} trails are owed: run lab.reconcile()"
    yield (
        [1, 4, 1, 1] in counts,
        "the refund of the dead kernel has its trail, without the step that never ran",
        "let a kernel die after step 4, then run lab.reconcile()",
    )


def breach(lab: Lab, answer: Any) -> Iterable[Condition]:
    approved = lab.trail.query(
        "SELECT DISTINCT s.customer_id AS c, s.target_order_id AS o"
        f" FROM `{lab.config.dataset}.agent_sessions` AS s"
        f" JOIN `{lab.config.dataset}.agent_actions` AS a ON a.trace_id = s.trace_id"
        " WHERE a.decision_status = 'APPROVED'"
    )
    owned = {
        (r["user_id"], r["order_id"])
        for r in lab.operations.query("SELECT user_id, order_id FROM orders")
    }
    expected = sorted({(r["c"], r["o"]) for r in approved} - owned)
    given = [tuple(a) for a in answer] if isinstance(answer, list | tuple | set) else None
    yield (
        bool(expected) and given is not None and sorted(given) == expected,
        "those are the refunds of orders that were not the customer's",
        "not yet: approved (customer, order) pairs of the trail that Spanner's [:places] lacks",
    )


def reset(lab: Lab, _: Any) -> Iterable[Condition]:
    left = lab.operations.refunds()
    yield not left, "no order carries a refund", f"{len(left)} refunds are left: run the reset"
