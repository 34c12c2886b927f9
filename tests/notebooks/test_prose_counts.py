"""Numbers in the README and in the notebooks' prose that come from data are those of the data."""

import json
import re
from pathlib import Path

import pytest

from lab_helpers.provision import store
from lab_helpers.stores import schema
from lab_helpers.stores.lineage import TABLES
from lab_helpers.stores.personas import all_personas, persona
from lab_helpers.ui.words import STEPS

ROOT = Path(__file__).parents[2]
WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
]
CUSTOMERS = {c["persona"]: c for c in schema.document("demo/customers.json")["customers"]}
POLICY = {
    (subject, predicate): value
    for subject, predicate, value in schema.document("policies/policy_triples.json")["triples"]
}
STANDARD = "COND-REFUND-STD-100D-30D"


def prose(name: str) -> str:
    if name == "README":
        return (ROOT / "README.md").read_text(encoding="utf-8")
    cells = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def number(text: str) -> int:
    text = text.lower().replace(",", "")
    return WORDS.index(text) if text in WORDS else int(text)


def returned(key: str) -> int:
    """Items that a customer has returned in the last 100 days."""
    orders = CUSTOMERS[key]["orders"]
    return sum(len(o["items"]) for o in orders if (o["returned_days_ago"] or 101) <= 100)


def age(order_id: int) -> int:
    orders = [o for c in CUSTOMERS.values() for o in c["orders"]]
    return next(o["delivered_days_ago"] for o in orders if o["order_id"] == order_id)


def requests() -> int:
    """Orders that notebook 03 asks a refund for."""
    text = (ROOT / "notebooks" / "03_decision_lineage.ipynb").read_text(encoding="utf-8")
    line = next(x for x in text.splitlines() if "requests = [" in x)
    return len(re.findall(r"\(\\\"[ABC]", line))


@pytest.mark.parametrize(
    ("where", "pattern", "found"),
    [
        ("README", r", (\w+) steps with", lambda: len(STEPS)),
        ("00_start_here", r"goes through (\w+) steps", lambda: len(STEPS)),
        ("01_provision", r"(\w+) demo customers", lambda: len(all_personas())),
        ("01_provision", r"store of (\d+) customers", lambda: store.CUSTOMERS),
        ("01_provision", r"and ([\d,]+) orders", lambda: store.ORDERS),
        ("01_provision", r"whose id is (\d+)", lambda: persona("A").user_id),
        ("02_refund_agent", r"(\w+) steps, and only", lambda: len(STEPS)),
        ("02_refund_agent", r"(\d+) days after delivery", lambda: age(90131)),
        (
            "02_refund_agent",
            r"notebook 01: (\d+) days",
            lambda: POLICY[STANDARD, "return_window_days"],
        ),
        (
            "02_refund_agent",
            r"fewer than (\d+) returned items",
            lambda: POLICY[STANDARD, "max_refunds_100d"],
        ),
        ("02_refund_agent", r"Customer B has (\w+) returned items", lambda: returned("B")),
        ("02_refund_agent", r"Customer C has (\w+), and is VIP", lambda: returned("C")),
        ("02_refund_agent", r"ADK graph of (\w+) nodes", lambda: len(STEPS)),
        ("03_decision_lineage", r"asks for (\w+) refunds", requests),
        ("03_decision_lineage", r"(\w+) messages:", lambda: 2 * requests()),
        ("03_decision_lineage", r"(\w+) questions and", requests),
        ("03_decision_lineage", r"one session, (\w+) steps", lambda: len(STEPS)),
        ("instructor_demo", r"leaves the same (\w+) tables", lambda: len(TABLES)),
        ("instructor_demo", r"goes through (\w+) steps", lambda: len(STEPS)),
    ],
)
def test_a_number_in_prose_is_that_of_the_data(where, pattern, found):
    match = re.search(pattern, prose(where), re.I)
    assert match, f"{where} no longer says {pattern!r}: move the row with the sentence"
    assert number(match[1]) == int(found())
