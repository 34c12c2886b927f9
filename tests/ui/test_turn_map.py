"""The map of many turns: every decision counted once, in words and in squares."""

import re

import pytest

from lab_helpers.ui.turn_map import TurnMap


def row(customer, decision, code=None, turns=1):
    return {
        "customer_id": customer,
        "decision": decision,
        "failure_code": code,
        "turns": turns,
    }


ROWS = [
    row(None, "RELEASED", turns=3),
    row(1001, "PENDING_CONFIRMATION"),
    row(1001, "APPROVED", turns=2),
    row(2048, "DENIED", "MAX_REFUNDS_EXCEEDED", 40),
    row(77, "DENIED", "RETURN_WINDOW_EXPIRED"),
]


def test_it_reads_the_same_in_text():
    lines = repr(TurnMap(ROWS)).splitlines()
    assert lines[0] == "47 decisions by customer and outcome"
    assert [re.split(r"  +", line) for line in lines[1:2] + lines[3:]] == [
        ["decision", "failure code", "Customer A", "Customer B", "customer 77", "other agents"],
        ["APPROVED", "–", "2", "–", "–", "–"],
        ["DENIED", "MAX_REFUNDS_EXCEEDED", "–", "40", "–", "–"],
        ["DENIED", "RETURN_WINDOW_EXPIRED", "–", "–", "1", "–"],
        ["PENDING_CONFIRMATION", "–", "1", "–", "–", "–"],
        ["RELEASED", "–", "–", "–", "–", "3"],
    ]


@pytest.mark.parametrize(("turns", "squares"), [(1, 1), (12, 12), (13, 0), (4000, 0)])
def test_squares_are_drawn_while_they_can_be_counted_and_the_number_always(turns, squares):
    html = TurnMap([row(1001, "APPROVED", turns=turns)])._repr_html_()
    assert html.count('class="soa-dot') == squares
    assert re.search(rf" {turns}</td>", html)


def test_what_a_store_holds_stays_text():
    assert "<b>" not in TurnMap([row(1001, "<b>", "<b>")])._repr_html_()


def test_an_empty_trail_says_so():
    assert "no turn has been made yet" in repr(TurnMap([]))
    assert "no turn has been made yet" in TurnMap([])._repr_html_()


async def test_every_turn_of_the_trail_is_on_the_map(lab):
    lab.reset_all()
    await lab.refund.turn("Please refund my order ORD-90131.", "A", session="map")
    await lab.refund.turn("Yes.", "A", confirmed=True, session="map")
    await lab.refund.turn("Show my orders.", "C", session="map-c")
    found = {(r["decision"], r["failure code"]) for r in lab.turn_map().table}
    expired = "RETURN_WINDOW_EXPIRED"
    assert found == {
        ("DENIED", expired),
        ("PENDING_CONFIRMATION", expired),
        ("ORDER_LIST", None),
    }
    assert sum(r["turns"] for r in lab.turn_map().rows) == 3
