"""Check my progress: every check reads the stores, never the kernel, and never raises.

A check is a list of conditions, each worth one point, each with one plain line for "yes" and one
for "not yet, and what to do". An exercise with an answer compares it with what the stores say.
"""

from __future__ import annotations

import contextlib
import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab_helpers.errors import LabError
from lab_helpers.stores import schema
from lab_helpers.stores.personas import persona

if TYPE_CHECKING:
    from lab_helpers.lab import Lab

Condition = tuple[bool, str, str]

_BAR = 20
_DONE = "check:"
_CSS = "padding:2px 0;margin:0"


@dataclass(frozen=True)
class CheckResult:
    """One task's result. `conditions` are (met, line)."""

    task: str
    title: str
    conditions: tuple[tuple[bool, str], ...]

    @property
    def score(self) -> int:
        return sum(met for met, _ in self.conditions)

    @property
    def maximum(self) -> int:
        return len(self.conditions)

    @property
    def done(self) -> bool:
        return self.score == self.maximum

    def __repr__(self) -> str:
        head = f"{self.title}: {self.score} of {self.maximum}"
        lines = [f"  {'✓' if met else '·'} {line}" for met, line in self.conditions]
        return "\n".join([head + (", done" if self.done else ", not yet"), *lines])

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li style='{_CSS}'>{'✓' if met else '·'} {html.escape(line)}</li>"
            for met, line in self.conditions
        )
        state = "done" if self.done else "not yet"
        return (
            f"<div role='status'><b>{html.escape(self.title)}</b>: {self.score} of"
            f" {self.maximum}, {state}<ul style='list-style:none;padding-left:1em;margin:4px 0'>"
            f"{items}</ul></div>"
        )


@dataclass(frozen=True)
class Progress:
    """Every check as (task, title, done). A check that was done once stays done."""

    tasks: tuple[tuple[str, str, bool], ...]

    @property
    def done(self) -> int:
        return sum(done for *_, done in self.tasks)

    @property
    def line(self) -> str:
        """The progress in one line."""
        filled = _BAR * self.done // len(self.tasks)
        bar = "█" * filled + "░" * (_BAR - filled)
        return f"{bar} {self.done} of {len(self.tasks)} checks done"

    def __repr__(self) -> str:
        lines = [f"  {'✓' if done else '·'} {task:<18} {title}" for task, title, done in self.tasks]
        return "\n".join([self.line, *lines])


def check(lab: Lab, task: str, answer: Any = None) -> CheckResult:
    """Run one check. Raises LabError only for a task that does not exist."""
    if task not in TASKS:
        raise LabError(
            f"There is no check named {task!r}.",
            f"The checks are {', '.join(TASKS)}.",
            "Copy the name from the task's cell.",
        )
    title, conditions = TASKS[task]
    if not lab.is_provisioned():
        line = "the stores are not set up: run lab.provision() (notebook 01)"
        return CheckResult(task, title, ((False, line),))
    try:
        found = list(conditions(lab, answer))
    except Exception as error:
        line = f"the stores could not be read ({type(error).__name__}): run the setup cell again"
        return CheckResult(task, title, ((False, line),))
    result = CheckResult(task, title, tuple((bool(ok), yes if ok else no) for ok, yes, no in found))
    if result.done:
        # A reset undoes what a check looked at, and an answer is gone with its kernel.
        with contextlib.suppress(Exception):
            lab.operations.remember(_DONE + task, "done")
    return result


def progress(lab: Lab) -> Progress:
    """What has been done so far, in any notebook; nothing is where the stores are not set up."""
    done = lab.operations.remembered(_DONE) if lab.is_provisioned() else set()
    return Progress(tuple((task, title, task in done) for task, (title, _) in TASKS.items()))


# -- conditions -------------------------------------------------------------------------------


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


def _refund_of(order_id: int) -> Callable[[Lab, Any], Iterable[Condition]]:
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


def _stores(lab: Lab, _: Any) -> Iterable[Condition]:
    from lab_helpers.provision.store import COLUMNS

    empty = [t for t in COLUMNS if not lab.operations.count(t)]
    yield not empty, "Spanner: nine tables hold rows", f"empty tables: {', '.join(empty)}"
    tables = lab.trail.counts()
    yield len(tables) == 4, "BigQuery: the four tables of the trail exist", "run lab.provision()"


def _graphs(lab: Lab, _: Any) -> Iterable[Condition]:
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


def _center(lab: Lab, answer: Any) -> Iterable[Condition]:
    rows = lab.operations.query(
        schema.gql("operations/my_centers"), {"user_id": persona("A").user_id}
    )
    yield (
        answer is not None and str(answer).strip() == rows[0]["center"],
        "that is the centre which ships most of Customer A's items",
        "not yet: extend the walk with -[:supplied_by]->(center:distribution_centers) and count",
    )


def _outcomes(lab: Lab, _: Any) -> Iterable[Condition]:
    seen = _decisions(lab, persona("A").user_id)
    codes = {(status, code) for status, code, _ in seen}
    for status, code, how in (
        ("DENIED", "RETURN_WINDOW_EXPIRED", "confirm a refund of ORD-90131"),
        ("DENIED", "ORDER_NOT_DELIVERED", "confirm a refund of ORD-90137"),
        ("DENIED", "ALREADY_RETURNED", "confirm a refund of ORD-90142"),
        ("PENDING_CONFIRMATION", "MISSING_ORDER_ID", "ask for 'the jeans'"),
    ):
        yield (status, code) in codes, f"seen: {code}", f"not seen yet: {code} ({how})"


def _tiers(lab: Lab, _: Any) -> Iterable[Condition]:
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


def _information(lab: Lab, _: Any) -> Iterable[Condition]:
    statuses = {s for p in "ABC" for s, _, _ in _decisions(lab, persona(p).user_id)}
    for status, how in (
        ("ORDER_LIST", "ask 'show my orders'"),
        ("ORDER_INFO", "ask 'where is ORD-90137?'"),
        ("POLICY_INFO", "ask 'what is your return policy?'"),
    ):
        yield status in statuses, f"seen: {status}", f"not seen yet: {status} ({how})"


def _one_fact(lab: Lab, answer: Any) -> Iterable[Condition]:
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


def _auditor(lab: Lab, _: Any) -> Iterable[Condition]:
    bare = lab.trail.ask("unbacked_actions")
    yield not bare, "no approval without a PASS behind it", f"{len(bare)} approvals have no PASS"
    turns = {r["trace_id"] for r in lab.operations.refunds()}
    lost = [t for t in sorted(turns) if not _whole(lab, t)]
    yield (
        not lost,
        "every refund in Spanner has its trail in BigQuery",
        f"{len(lost)} of {len(turns)} refunds have none: run lab.reconcile()",
    )


def _refused_twice(lab: Lab, answer: Any) -> Iterable[Condition]:
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


def _tiers_held(lab: Lab, _: Any) -> Iterable[Condition]:
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


def _race(lab: Lab, _: Any) -> Iterable[Condition]:
    turns = [t for t in _tried_by(lab, 1001) if t["order_id"] == 90124 and t["confirms"]]
    paid = sum(t["decision"] == "APPROVED" for t in turns)
    late = sum(t["failure_code"] == "ALREADY_RETURNED" for t in turns)
    yield paid == 1, "one confirmation of ORD-90124 was paid", f"{paid} were paid: run the race"
    yield late >= 2, f"{late} came too late, and were told so", "run the race: many must confirm"


def _mended(lab: Lab, _: Any) -> Iterable[Condition]:
    turns = [r["trace_id"] for r in lab.operations.refunds()]
    counts = [list(lab.trail.counts(t).values()) for t in turns]
    owed = len(lab.operations.pending_outbox())
    yield not owed, "Spanner owes BigQuery no trail", f"{owed} trails are owed: run lab.reconcile()"
    yield (
        [1, 4, 1, 1] in counts,
        "the refund of the dead kernel has its trail, without the step that never ran",
        "let a kernel die after step 4, then run lab.reconcile()",
    )


def _breach(lab: Lab, answer: Any) -> Iterable[Condition]:
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


def _door(lab: Lab, _: Any) -> Iterable[Condition]:
    drafts = lab.trail.ask("drafts", {"trace_ids": []})
    ends = {d["decision"] for d in drafts}
    yield "RETURNED" in ends, "a draft was stopped and went back", "run lab.gate.run(seed=1)"
    opened = {r["verdict"] for r in lab.trail.ask("releases", {"trace_ids": []})}
    yield (
        opened == {"PASS"},
        "every release was opened by the auditor's own true",
        "no release yet: run lab.gate.run(seed=1)",
    )
    chain = lab.gate.verify()
    yield (
        chain.intact and chain.locks > 0,
        "Spanner: the ledger's chain is intact, and every lock has its release",
        chain.why or "nothing is locked yet: run lab.gate.run(seed=1)",
    )


def _recall(lab: Lab, _: Any) -> Iterable[Condition]:
    from lab_helpers.agents.gate import shift

    question = shift.load().steps[-1].message
    ends = {
        d["decision"]
        for d in lab.trail.ask("drafts", {"trace_ids": []})
        if d["message"] == question
    }
    yield (
        "RELEASED" in ends,
        "the forgotten promise came back and was released",
        "run lab.gate.run(seed=1)",
    )
    yield (
        "HELD" in ends,
        "with recall off the question was held for a person",
        "run lab.gate.run(seed=1, recall=False)",
    )


def _tried(lab: Lab, _: Any) -> Iterable[Condition]:
    codes = {d["failure_code"] for d in lab.trail.ask("drafts", {"trace_ids": []})} - {None}
    yield (
        len(codes) >= 6,
        "the door was tried in six different ways or more",
        f"{len(codes)} of 6 ways: say more wrong things, or run(adversarial=True)",
    )
    bare = lab.trail.query(
        f"SELECT a.action_id FROM `{lab.config.dataset}.agent_actions` AS a"
        f" JOIN `{lab.config.dataset}.policy_evaluations` AS e ON e.eval_id = a.eval_id"
        " WHERE a.decision_status = 'RELEASED' AND e.evaluation_result != 'PASS'"
    )
    yield not bare, "and it never opened for one of them", f"{len(bare)} releases have no PASS"


def _repaired(lab: Lab, answer: Any) -> Iterable[Condition]:
    """The student's parser against a good reply and every wrong one that is not fine print."""
    from lab_helpers.agents.gate import shift

    def opens(reply: str | None) -> bool:
        try:
            return answer(reply, "DRF-1") is True
        except Exception:
            return False  # in the gate, an exception stops

    rows = [r for r in shift.wrong_replies() if not r.get("fine_print")]
    replies = [r["says"] and r["says"].replace("$draft", "DRF-1") for r in rows]
    open_for = [r["name"] for r, reply in zip(rows, replies, strict=True) if opens(reply)]
    yield (
        callable(answer) and opens('{"draft": "DRF-1", "released": true}'),
        "it opens for true about this draft",
        "not yet: it must still open for {'draft': this draft, 'released': true}",
    )
    yield (
        callable(answer) and not open_for,
        f"it stays shut for {len(rows)} wrong replies",
        f"not yet: it opens for {', '.join(open_for[:3]) or 'everything, being no function'}",
    )


def _steps_run(lab: Lab, action_type: str) -> set[str]:
    """Names of the steps of turns that ended in this action."""
    rows = lab.trail.query(
        f"SELECT DISTINCT n.node_name AS name FROM `{lab.config.dataset}.workflow_nodes` AS n"
        f" JOIN `{lab.config.dataset}.agent_actions` AS a ON a.trace_id = n.trace_id"
        " WHERE a.action_type = @action_type",
        {"action_type": action_type},
    )
    return {row["name"] for row in rows}


def _from_rows(lab: Lab, _: Any) -> Iterable[Condition]:
    kept = lab.operations.query("SELECT COUNT(*) AS n FROM response_cache")[0]["n"]
    found = lab.operations.query(
        "SELECT COUNT(*) AS n FROM search_metrics WHERE grounded_answer_mode != 'nothing_fits'"
    )[0]["n"]
    ran = _steps_run(lab, "ANSWER_FROM_ROWS")
    yield found > 0, "Spanner: a search found rows", "ask for something to wake you up"
    yield kept > 0, "Spanner: the answer is in the response cache", "no answer is kept: ask again"
    yield (
        {"response_cache", "intent_classifier", "search_products_by_vector"} <= ran,
        "BigQuery: cache, classifier and search left their steps",
        "the trail lacks the steps: `await lab.concierge.settled()`, then check again",
    )


def _in_context(lab: Lab, _: Any) -> Iterable[Condition]:
    yield (
        "find_stores_with_product" in _steps_run(lab, "ANSWER_FROM_ROWS"),
        "BigQuery: a stock question was answered from rows",
        "after a recommendation, ask 'is that in stock?'",
    )


def _nothing_invented(lab: Lab, _: Any) -> Iterable[Condition]:
    menu = {row["name"] for row in lab.operations.query("SELECT name FROM menu_products")}
    kept = lab.operations.query("SELECT model, answer, product_names FROM response_cache")
    told = {name for row in kept for name in row["product_names"]}
    yield (
        any(row["model"] != "template" for row in kept),
        "Spanner: an answer given with a model is kept",
        "ask a concierge that has a model (task 4)",
    )
    yield told <= menu, "every product told is on the menu", f"not on the menu: {told - menu}"
    yield (
        not any("Unicorn" in row["answer"] for row in kept),
        "the invented drink is in no answer",
        "an answer speaks of the invented drink",
    )


# What the exercise's idiom must stand for: no example may repeat it.
UNTAUGHT = ("captain, the tank is empty", "running on an empty tank over here")


def _idiom(lab: Lab, answer: Any) -> Iterable[Condition]:
    from lab_helpers.agents.concierge import wording
    from lab_helpers.agents.concierge.classifier import PRODUCT_RAG

    given = [text for text in answer if isinstance(text, str)] if isinstance(answer, list) else []
    repeated = {wording.plain(t) for t in given} & {wording.plain(t) for t in UNTAUGHT}
    heard = lab.concierge.taught(PRODUCT_RAG, given) if given and not repeated else None
    yield (
        heard is not None,
        "examples of your own, none of them the sentence that is asked",
        "not yet: give a list of three or more short sentences, other than the ones asked",
    )
    for text in UNTAUGHT:
        yield (
            heard is not None and heard.classify(text).label == PRODUCT_RAG,
            f"understood: {text!r}",
            f"not yet understood: {text!r}",
        )


def _reset(lab: Lab, _: Any) -> Iterable[Condition]:
    left = lab.operations.refunds()
    yield not left, "no order carries a refund", f"{len(left)} refunds are left: run the reset"


TASKS: dict[str, tuple[str, Callable[[Lab, Any], Iterable[Condition]]]] = {
    "00-refund": ("A first refund", _refund_of(90124)),
    "01-stores": ("Both stores hold the lab", _stores),
    "01-graphs": ("Both graphs are there", _graphs),
    "01-center": ("The centre behind Customer A's parcels", _center),
    "02-refund": ("Customer A's refund", _refund_of(90124)),
    "02-outcomes": ("Every way to be refused", _outcomes),
    "02-tiers": ("One query, two tiers", _tiers),
    "02-information": ("Asking without acting", _information),
    "02-one-fact": ("One fact away", _one_fact),
    "03-auditor": ("The auditor's questions", _auditor),
    "03-refused-twice": ("Refused twice", _refused_twice),
    "04-tiers": ("Three tiers, one attack each", _tiers_held),
    "04-race": ("Fifty at once", _race),
    "04-mended": ("The dead kernel's trail", _mended),
    "04-breach": ("What tier 1 was for", _breach),
    "05-door": ("The door holds", _door),
    "05-recall": ("A forgotten promise comes back", _recall),
    "05-tried": ("Tried, and shut", _tried),
    "05-repaired": ("A gate that fails closed", _repaired),
    "06-rows": ("Answers from rows", _from_rows),
    "06-context": ('What "that" means', _in_context),
    "06-invented": ("Nothing invented is said", _nothing_invented),
    "06-idiom": ("An idiom taught", _idiom),
    "07-reset": ("Everything put back", _reset),
}
