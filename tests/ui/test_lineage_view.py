"""The lineage of one turn: what it says is in the rows, and only what does not vary is shown."""

import pytest

from lab_helpers.agents.concierge import lineage as concierge
from lab_helpers.agents.gate import lineage as gate
from lab_helpers.agents.gate import workflow as gate_workflow
from lab_helpers.agents.refund import workflow
from lab_helpers.ui.lineage_view import LineageView, side_by_side
from lab_helpers.ui.reasons import CONCIERGE_POLICY, GATE_POLICY
from lab_helpers.ui.words import DECISIONS, STEPS, TONES
from lab_helpers.ui.workflow_view import ACTING
from tests.ui.turns import DENIED, step, turn

APPROVED = LineageView("TRC-0123456789ab", turn())
REFUSED = LineageView("TRC-ba9876543210", turn(order_id=90131, **DENIED))


def test_the_step_names_are_those_of_the_workflow():
    assert tuple(STEPS) == workflow.STEPS


def test_the_walk_has_one_edge_a_line():
    assert repr(APPROVED).splitlines() == [
        "AgentSession: customer 1001, ORD-90124",
        "  -[RAN_STEP]-> 1 IntentAgent",
        "  -[RAN_STEP]-> 2 resolve_catalog_contract",
        "  -[RAN_STEP]-> 3 evaluate_spanner_policy",
        "      -[EVALUATED]-> PASS, 12 days (window 30), 1 returned (limit 10)",
        "          -[DECIDED]-> APPROVED, COMMIT_SPANNER_REFUND",
        "  -[RAN_STEP]-> 4 route_and_commit_action",
        "  -[RAN_STEP]-> 5 ResponseAgent (template)",
        "Approved, because ORD-90124 was delivered 12 days ago (window 30 days) and customer 1001"
        " had 1 returned item in 100 days (limit 10, term rolling-100d-refund-count).",
    ]


PENDING = {"decision_status": "PENDING_CONFIRMATION", "action_type": "AWAIT_CUSTOMER_CONFIRMATION"}
MISSING = {"evaluation_result": "FAIL", "failure_code": "MISSING_ORDER_ID"}
INFO = {"evaluation_result": "INFO"}


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (
            DENIED,
            "Denied, because ORD-90124 was delivered 45 days ago and the return window is 30 days"
            " (term order-age-days).",
        ),
        (
            {**DENIED, "failure_code": "MAX_REFUNDS_EXCEEDED", "observed_refunds_100d": 11}
            | {"catalog_term_id": "rolling-100d-refund-count"},
            "Denied, because customer 1001 already had 11 returned items in 100 days and the limit"
            " is 10 (term rolling-100d-refund-count).",
        ),
        (
            {**DENIED, "failure_code": "ALREADY_RETURNED"},
            "Denied, because ORD-90124 had already been returned.",
        ),
        (
            {**DENIED, "failure_code": "ORDER_NOT_DELIVERED", "observed_order_age_days": None},
            "Denied, because ORD-90124 had not been delivered.",
        ),
        (
            {**DENIED, "failure_code": "ORDER_NOT_FOUND_OR_UNAUTHORIZED"},
            "Denied, because customer 1001 has no order ORD-90124.",
        ),
        (
            {**DENIED, "failure_code": "STORE_UNAVAILABLE"},
            "Denied, because ORD-90124 could not be checked, and unknown means refuse.",
        ),
        (
            {**DENIED, "failure_code": None, "rejection_reason": "A step failed."},
            "Denied, because A step failed.",
        ),
        (
            {**DENIED, "failure_code": "NEW_RULE", "rejection_reason": None},
            "Denied, because NEW_RULE.",
        ),
        (
            PENDING,
            "Not decided yet: ORD-90124 passes every rule, and nothing is refunded before the"
            " customer confirms.",
        ),
        (
            {**DENIED, **PENDING},
            "Not decided, and as it stands a refusal: ORD-90124 was delivered 45 days ago and the"
            " return window is 30 days (term order-age-days).",
        ),
        (
            {**PENDING, **MISSING},
            "Not decided: the message named no order, so the agent asked which one.",
        ),
        (
            {**PENDING, **INFO},
            "Nothing to decide: the customer said no, and nothing was refunded.",
        ),
        (
            {**INFO, "decision_status": "ORDER_LIST"},
            "Nothing to decide: the customer asked for their orders.",
        ),
        (
            {**INFO, "decision_status": "ORDER_INFO"},
            "Nothing to decide: the customer asked about ORD-90124.",
        ),
        (
            {**INFO, "decision_status": "POLICY_INFO"},
            "Nothing to decide: the customer asked what the policy is.",
        ),
        (
            {"evaluation_result": "FAIL", "failure_code": "RETURN_WINDOW_EXPIRED"},
            "Approved with no PASS behind it. This must never happen.",
        ),
        (
            {"decision_status": None, "action_type": None},
            "Evaluated as PASS, but no action is on record.",
        ),
        (
            {"decision_status": "HELD", "rejection_reason": "The gate was not told true."},
            "Not released: draft 2 is held for a person (The gate was not told true).",
        ),
        (
            {"decision_status": "RELEASED", "observed_refunds_100d": 0},
            "Released and locked: the auditor said true about draft 1.",
        ),
        (
            {"decision_status": "RELEASED", "evaluation_result": "FAIL"},
            "Released with no PASS behind it. This must never happen.",
        ),
        ({"decision_status": "ANSWERED"}, "Answered from rows of the store."),
        ({**INFO, "decision_status": "ANSWERED"}, "Nothing to decide: it was conversation."),
        (
            {"decision_status": "NOT_ANSWERED", "evaluation_result": "FAIL"}
            | {"failure_code": "NOTHING_FITS"},
            "Not answered, because no row fits the question.",
        ),
        (
            {"decision_status": "UNHEARD_OF", "rejection_reason": "A new agent."},
            "UNHEARD_OF, verdict PASS: A new agent.",
        ),
    ],
)
def test_one_sentence_says_why(verdict, sentence):
    assert LineageView("TRC-1", turn(**verdict)).sentence() == sentence


def test_a_turn_of_another_age_is_counted_in_the_singular():
    view = LineageView("TRC-1", turn(observed_order_age_days=1, observed_refunds_100d=0))
    assert "delivered 1 day ago" in view.sentence()
    assert "0 returned items" in view.sentence()


@pytest.mark.parametrize(
    ("without", "lines"),
    [
        ((5,), ["  -[RAN_STEP]-> 5 ResponseAgent: missing"]),
        (
            (4, 5),
            [
                "  -[RAN_STEP]-> 4 route_and_commit_action: missing",
                "  -[RAN_STEP]-> 5 ResponseAgent: missing",
            ],
        ),
        ((1,), ["  -[RAN_STEP]-> 1 IntentAgent: missing"]),
    ],
)
def test_a_step_that_never_ran_is_visibly_missing(without, lines):
    view = LineageView("TRC-1", turn(without=without))
    assert [line for line in repr(view).splitlines() if "missing" in line] == lines
    assert view._repr_html_().count("missing: it left no trace") == len(without)
    assert view.counts["workflow_nodes"] == 5 - len(without)


def test_without_an_evaluation_nothing_is_made_up():
    view = LineageView("TRC-1", turn(without=(3, 4, 5)))
    assert view.sentence() == "Not decided: no policy evaluation is on record for this turn."
    assert "EVALUATED" not in repr(view)
    assert view.counts == {
        "agent_sessions": 1,
        "workflow_nodes": 2,
        "policy_evaluations": 0,
        "agent_actions": 0,
    }


def test_a_failed_step_says_so():
    rows = turn()
    rows[2]["error"] = "ServiceUnavailable"
    view = LineageView("TRC-1", rows)
    assert "3 evaluate_spanner_policy failed: ServiceUnavailable" in repr(view)


def test_another_agents_steps_are_walked_by_their_numbers():
    view = LineageView("TRC-1", [step(1, "Triage"), step(3, "Gate")])
    assert [name for _, name, _ in view.steps] == ["Triage", "unknown step", "Gate"]


def test_an_unknown_turn_names_what_to_do():
    view = LineageView("TRC-0123456789ab", [])
    for shown in (repr(view), view._repr_html_(), repr(view.details())):
        assert "not in BigQuery (yet)" in shown
        assert "lab.reconcile()" in shown
    assert set(view.counts.values()) == {0}


def test_a_whole_turn_is_counted_one_five_one_one():
    assert list(APPROVED.counts.values()) == [1, 5, 1, 1]


def test_the_same_decision_reads_the_same_with_other_ids_and_times():
    again = [
        {**row, "trace_id": "TRC-ffffffffffff", "latency_ms": 99.0 + row["step_order"]}
        for row in reversed(turn())
    ]
    other = LineageView("TRC-ffffffffffff", again)
    assert repr(other) == repr(APPROVED)
    assert other._repr_html_() == APPROVED._repr_html_()
    assert repr(other.details()) != repr(APPROVED.details())


def test_ids_and_times_are_shown_on_request():
    text = APPROVED.text(ids=True)
    assert "TRC-0123456789ab" in text
    assert "2 resolve_catalog_contract 14.2 ms" in text
    details = APPROVED.details()
    assert details.caption == "Turn TRC-0123456789ab"
    assert details[1]["latency (ms)"] == 14.2


def test_what_the_customer_typed_stays_text():
    rows = turn()
    for row in rows:
        row["user_prompt"] = "<script>alert(1)</script>"
    html = LineageView("TRC-1", rows)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_two_turns_side_by_side_mark_where_they_part():
    lines = repr(side_by_side(APPROVED, REFUSED)).splitlines()
    parted = [line.split("≠")[1].strip() for line in lines if "≠" in line]
    assert parted == [
        "AgentSession: customer 1001, ORD-90131",
        "-[EVALUATED]-> FAIL, RETURN_WINDOW_EXPIRED, 45 days (window 30), 1 returned (limit 10)",
        "-[DECIDED]-> DENIED, BLOCK_SPANNER_MUTATION",
    ]
    assert lines[-2].startswith("Left: Approved")
    assert lines[-1].startswith("Right: Denied")
    html = side_by_side(APPROVED, REFUSED)._repr_html_()
    assert html.count("<figure") == 2
    assert html.count("<style>") == 1


def test_the_picture_holds_the_walk_and_no_edge_to_a_missing_step():
    picture = LineageView("TRC-1", turn(without=(5,))).picture()
    assert [edge.label for edge in picture.edges].count("RAN_STEP") == 4
    assert [node.label for node in picture.nodes if node.tone == "missing"] == [
        "5  ResponseAgent: missing"
    ]


def test_the_names_of_the_other_agents_are_theirs():
    assert GATE_POLICY == gate.POLICY_ID
    assert concierge._POLICY["policy_id"] == CONCIERGE_POLICY
    assert {workflow.STEPS[3], gate_workflow.LEDGER} == ACTING


@pytest.mark.parametrize(
    "status", [*gate.ACTIONS, *(status for _, status in concierge._ACTIONS.values())]
)
def test_every_decision_of_the_other_agents_has_words_and_a_tone(status):
    assert status in DECISIONS
    assert status in TONES


def audited(order: int, draft: int, result: str, status: str | None) -> dict:
    return step(
        order,
        "auditor",
        customer_id=None,
        order_id=None,
        policy_id=GATE_POLICY,
        evaluation_result=result,
        failure_code=None if result == "PASS" else "NOT_TRUE",
        observed_refunds_100d=draft - 1,
        max_refunds_100d=2,
        return_window_days=0,
        decision_status=status,
        action_type=gate.ACTIONS.get(status),
        rejection_reason=None if result == "PASS" else "the auditor did not say true",
    )


RETURNED = audited(2, 1, "FAIL", "RETURNED")


@pytest.mark.parametrize(
    ("last", "lines", "sentence", "actions"),
    [
        (
            audited(4, 2, "PASS", "RELEASED"),
            ["-[EVALUATED]-> PASS, draft 2 of 2", "-[DECIDED]-> RELEASED, LOCK_LEDGER"],
            "Released and locked: the auditor said true about draft 2.",
            2,
        ),
        (
            audited(4, 2, "FAIL", "HELD"),
            ["-[EVALUATED]-> FAIL, NOT_TRUE, draft 2 of 2", "-[DECIDED]-> HELD, HOLD_FOR_A_PERSON"],
            "Not released: draft 2 is held for a person (the auditor did not say true).",
            2,
        ),
        (
            audited(4, 2, "PASS", None),
            ["-[EVALUATED]-> PASS, draft 2 of 2", "-[DECIDED]-> missing"],
            "Evaluated as PASS, but no action is on record.",
            1,
        ),
    ],
)
def test_each_draft_of_the_gate_is_shown_and_the_last_makes_the_sentence(
    last, lines, sentence, actions
):
    rows = [step(1, "handler"), RETURNED, step(3, "handler"), last]
    view = LineageView("TRC-1", [{**row, "customer_id": None, "order_id": None} for row in rows])
    text = [line.strip() for line in repr(view).splitlines()]
    assert text[0] == "AgentSession: no customer, no order"
    assert [line for line in text if line.startswith(("-[EVAL", "-[DECI"))] == [
        "-[EVALUATED]-> FAIL, NOT_TRUE, draft 1 of 2",
        "-[DECIDED]-> RETURNED, RETURN_DRAFT",
        *lines,
    ]
    assert view.sentence() == sentence
    assert list(view.counts.values()) == [1, 4, 2, actions]
    assert view._repr_html_().count("EVALUATED →") == 2
    assert [edge.label for edge in view.picture().edges].count("EVALUATED") == 2
    assert [edge.label for edge in view.picture().edges].count("DECIDED") == actions
