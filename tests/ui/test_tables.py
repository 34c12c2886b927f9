"""Tables: the same rows always read the same, and nothing in a row can become markup."""

import datetime as dt

import pytest

from lab_helpers.errors import LabError
from lab_helpers.stores.operations import Order
from lab_helpers.stores.personas import persona
from lab_helpers.ui.tables import Table, cell, orders_table, query_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (84.5, "84.5"),
        (0.1 + 0.2, "0.3"),
        (12.0, "12"),
        (1234.5678, "1234.568"),
        (-0.25, "-0.25"),
        (dt.datetime(2026, 3, 1, 9, 30, tzinfo=dt.UTC), "2026-03-01T09:30:00+00:00"),
        (["a", None, 2.50], "a, –, 2.5"),
        ("", ""),
    ],
)
def test_a_value_has_one_text(value, text):
    assert cell(value) == text


def test_text_is_aligned_words_left_numbers_right():
    table = Table(
        [{"step": "IntentAgent", "ms": 1.5}, {"step": "ResponseAgent", "ms": 12}], caption="Steps"
    )
    assert repr(table).splitlines() == [
        "Steps",
        "step            ms",
        "-------------  ---",
        "IntentAgent    1.5",
        "ResponseAgent   12",
    ]


def test_a_row_may_lack_a_column():
    table = Table([{"a": 1}, {"b": 2}])
    assert table.columns == ["a", "b"]
    assert repr(table).splitlines()[2:] == ["1  –", "–  2"]


@pytest.mark.parametrize(
    ("caption", "text"), [("", "nothing here"), ("Orders", "Orders\nnothing here")]
)
def test_no_rows_says_so(caption, text):
    table = Table([], caption=caption, empty="nothing here")
    assert repr(table) == text
    assert "nothing here" in table._repr_html_()
    assert "<table" not in table._repr_html_()


def test_long_text_is_cut_in_text_and_whole_in_html():
    long = "a wordy reason " * 10
    table = Table([{"reason": long}])
    assert max(map(len, repr(table).splitlines())) == 60
    assert repr(table).endswith("…")
    assert long in table._repr_html_()


def test_text_of_several_lines_stays_one_line():
    assert repr(Table([{"a": "one\ntwo", "b": 1}])).splitlines()[2] == "one two  1"


def test_html_is_a_semantic_table():
    html = Table([{"name": "x", "n": 1}], caption="Rows")._repr_html_()
    assert "<caption>Rows</caption>" in html
    assert '<th scope="col">name</th><th scope="col" class="soa-num">n</th>' in html
    assert '<td>x</td><td class="soa-num">1</td>' in html


@pytest.mark.parametrize("place", ["value", "column", "caption", "empty"])
def test_nothing_becomes_markup(place):
    evil = "<img src=x onerror=alert('1')>\""
    table = {
        "value": Table([{"a": evil}]),
        "column": Table([{evil: 1}]),
        "caption": Table([{"a": 1}], caption=evil),
        "empty": Table([], caption=evil, empty=evil),
    }[place]
    html = table._repr_html_()
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(&#x27;1&#x27;)&gt;&quot;" in html


def test_a_column_of_sentences_keeps_room_for_them():
    html = Table([{"said": "Twelve cartons for Thursday, please.", "n": 1}])._repr_html_()
    assert (
        '<th scope="col" class="soa-text">said</th><th scope="col" class="soa-num">n</th>' in html
    )


def test_a_price_is_not_read_as_a_formula():
    html = Table([{"reply": "$18.40 a carton, $220.80 in all"}])._repr_html_()
    assert '<div class="soa soa-page mathjax_ignore tex2jax_ignore">' in html


def test_a_table_is_its_rows():
    rows = [{"a": 1}, {"a": None}]
    table = Table(rows)
    assert (list(table), len(table), table[1], table.rows) == (rows, 2, {"a": None}, rows)
    assert table.frame.shape == (2, 1)
    rows[0]["a"] = 99
    assert table[0] == {"a": 1}


ORDERS = [
    Order(90137, "Shipped", None, "Sonar Headphones", "Audio", 1, 149.0),
    Order(90124, "Complete", 12, "Harbor Jeans", "Jeans", 1, 1084.5),
]


def test_orders_read_as_a_customer_would_say_them():
    assert repr(orders_table(persona("A"), ORDERS)).splitlines() == [
        "Orders of Customer A, STANDARD tier",
        "order      status    products              price  age (days)",
        "---------  --------  ----------------  ---------  ----------",
        "ORD-90137  Shipped   Sonar Headphones    $149.00           –",
        "ORD-90124  Complete  Harbor Jeans      $1,084.50          12",
    ]


def test_a_customer_without_orders():
    assert repr(orders_table(persona("C"), [])) == (
        "Orders of Customer C, VIP tier\nThis customer has no orders."
    )


@pytest.mark.parametrize(
    ("name", "part"),
    [("policy_evaluation", "GRAPH OperationalContextGraph"), ("trace", "`trail.ActionLineage")],
)
def test_a_query_is_shown_as_it_runs(name, part):
    shown = query_text(name, "trail")
    assert part in repr(shown)
    assert "{dataset}" not in repr(shown)
    assert "<pre" in shown._repr_html_()
    assert "-&gt;" in shown._repr_html_()


@pytest.mark.parametrize("name", ["nope", "../../pyproject", "", "operations/my_orders"])
def test_an_unknown_query_names_the_known_ones(name):
    with pytest.raises(LabError) as caught:
        query_text(name, "trail")
    assert repr(name) in caught.value.what
    assert "policy_evaluation" in caught.value.next
