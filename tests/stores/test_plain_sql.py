"""GQL written as plain SQL gives the same rows, on the local BigQuery and on the local Spanner."""

from pathlib import Path

import pytest

from lab_helpers import plain_sql
from lab_helpers.config import DATA
from lab_helpers.stores import schema

# A path as JSON is made of lists and structs; it is drawn from the rows of `trace` instead.
DRAWN = {"draw_trace", "refund_map"}


def files(room):
    return sorted({p.stem for p in Path(DATA / "gql" / room).glob("*.gql")} - DRAWN)


@pytest.fixture(scope="module")
def told(provisioned):
    """A trail with an approval, refusals, information and a gate's run in it."""
    import asyncio

    lab = provisioned

    async def talk():
        for number in (90124, 90131, 90137, 90477):
            persona = "B" if number == 90477 else "A"
            await lab.refund.turn(f"Please refund my order ORD-{number}.", persona, session="p")
            await lab.refund.turn("Yes.", persona, confirmed=True, session="p")
        await lab.refund.turn("Show my orders.", "A", session="p")
        await lab.gate.run(seed=1)

    lab.reset_all()
    asyncio.run(talk())
    yield lab
    lab.reset_all()


@pytest.mark.parametrize("name", files("lineage"))
def test_every_question_to_the_trail_has_the_same_rows_in_plain_sql(told, name):
    dataset = told.config.dataset
    text = schema.gql(f"lineage/{name}", dataset)
    traces = [
        r["trace_id"] for r in told.trail.query(f"SELECT trace_id FROM `{dataset}.agent_sessions`")
    ]
    params = {}
    if "@trace_ids" in text:
        params = {"trace_ids": traces}
    elif "@trace_id" in text:
        params = {"trace_id": traces[0]}
    sql = plain_sql.of_lineage(text, dataset)
    assert "GRAPH" not in sql and "$" not in sql
    expected = told.trail.query(text, params)
    assert told.trail.query(sql, params) == expected
    assert expected or name == "unbacked_actions"


@pytest.mark.parametrize("name", files("operations"))
def test_every_question_to_the_shop_has_the_same_rows_in_plain_sql(lab, name):
    text = schema.gql(f"operations/{name}")
    sql = plain_sql.of_operations(text)
    contract = {
        "returned_status": "Returned",
        "rolling_window_days": 100,
        "standard_tier": "STANDARD",
        "vip_tier": "VIP",
    }
    cases = [(1001, 90124), (1001, 90158), (2048, 90477), (3072, 90910), (1001, 90477), (5001, 1)]
    found = 0
    for user_id, order_id in cases:
        params = {"user_id": user_id}
        if "@target_order_id" in text:
            params |= {"target_order_id": order_id, **contract}
        expected = lab.operations.query(text, params)
        assert _sorted_names(lab.operations.query(sql, params)) == _sorted_names(expected)
        found += len(expected)
    assert found


def _sorted_names(rows):
    lists = ("product_names", "distribution_center_names", "categories")
    return [{k: sorted(v.split(", ")) if k in lists else v for k, v in row.items()} for row in rows]


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_a_path_has_no_plain_sql(name):
    text = schema.gql(f"lineage/{name}" if name == "draw_trace" else f"operations/{name}", "d")
    of = plain_sql.of_operations if name == "refund_map" else lambda t: plain_sql.of_lineage(t, "d")
    assert of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 AS one",
        "GRAPH `d.ActionLineageGraph` MATCH (n:Nothing) RETURN n.trace_id AS t",
        "GRAPH `d.Elsewhere` MATCH (n) RETURN 1 AS one",
        "GRAPH `d.ActionLineageGraph` MATCH (n:AgentSession) RETURN n.trace AS t",
        "GRAPH `d.ActionLineageGraph` MATCH (n:AgentSession RETURN n.trace_id AS t",
    ],
)
def test_what_is_no_query_of_the_trail_has_no_plain_sql(text):
    assert plain_sql.of_lineage(text, "d") is None
