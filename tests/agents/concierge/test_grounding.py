"""No product, price or stock but those of the rows, whatever a model says."""

import asyncio
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab_helpers.agents.concierge import products
from lab_helpers.agents.concierge.classifier import PRODUCT_RAG
from lab_helpers.agents.concierge.workflow import may_be_said
from tests.agents.concierge import gemini_server
from tests.agents.concierge.conftest import final, update

INVENTED = [
    '{"product_ids": [999]}',
    '{"product_ids": ["103"]}',
    '{"product_ids": [true]}',
    '{"product_ids": "all"}',
    '{"products": [{"name": "Unicorn Latte", "price": 1.0}]}',
    "Try our Unicorn Latte for $1.99, 12 left in stock!",
    "```tool_code\nsearch_products_by_vector('unicorn')\n```",
    "[]",
    "null",
    "",
]

anything = st.one_of(
    st.sampled_from(INVENTED),
    st.text(max_size=60),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["product_ids", "name", "price"]), inner, max_size=3)
        ),
        max_leaves=8,
    ).map(json.dumps),
)

WISHES = ["wake me up", "something sweet", "algo sin cafeína", "a vegan latte", "motor oil"]

_LINE = re.compile(
    r"^\d\. (?P<name>.+?)(?: \((?P<size>[^)]*)\))?, \$(?P<price>[\d.]+): .*?"
    r"(?:Caffeine|Cafeína): (?P<caffeine>\d+) mg"
)


def spoken_of(answer):
    """(name, size, price, caffeine) of every product line in an answer."""
    return [m.groups() for line in answer.splitlines() if (m := _LINE.match(line))]


def rows(shop):
    return {
        (p.name, p.size, f"{p.price:.2f}", str(p.caffeine_mg))
        for p in shop.products([row[0] for row in shop._rows("SELECT id FROM menu_products")])
    }


def only_rows(answer, shop):
    told = spoken_of(answer)
    assert set(told) <= rows(shop)
    # Every amount of money stands in a product's line.
    assert len(re.findall(r"\$\d", answer)) == len(told)
    assert "Unicorn" not in answer


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(said=anything, wish=st.sampled_from(WISHES))
def test_an_answer_about_products_holds_only_rows(with_gemini, gemini, shop, said, wish):
    with_gemini.forget_caches()
    gemini.answer = lambda body: PRODUCT_RAG if gemini_server.asks_for(body) == "label" else said

    deltas, result = asyncio.run(final(with_gemini.stream(wish, session="invention")))
    assert deltas == []
    assert result.intent_detected == PRODUCT_RAG
    only_rows(result.answer, shop)
    assert {p.name for p in result.products} == {name for name, *_ in spoken_of(result.answer)}


@settings(max_examples=200, deadline=None)
@given(said=anything)
def test_a_selection_is_returned_ids_or_nothing(said):
    found = [_product(1), _product(2)]
    assert set(products.validated(said, found)) <= set(found)


@pytest.mark.parametrize(
    ("said", "ids"),
    [
        ('{"product_ids": [2, 1]}', [2, 1]),
        ('{"product_ids": [2, 2]}', [2]),
        *((said, []) for said in INVENTED),
        ('{"product_ids": [1, 999]}', []),
    ],
)
def test_one_wrong_id_voids_the_whole_selection(said, ids):
    found = [_product(1), _product(2)]
    assert [p.id for p in products.validated(said, found)] == ids


async def test_a_selection_within_the_rows_counts(with_gemini, gemini, session):
    gemini.answer = lambda body: (
        PRODUCT_RAG
        if gemini_server.asks_for(body) == "label"
        else json.dumps({"product_ids": [offered(body)[1]]})
    )

    def offered(body):
        prompt = json.loads(body["contents"][0]["parts"][0]["text"])
        return [p["id"] for p in prompt["products"]]

    result = await with_gemini.ask("wake me up", session=session)
    assert result.search_metrics["grounded_answer_mode"] == "selected"
    assert [p.id for p in result.products] == [offered(gemini.calls[-1][1])[1]]


async def test_a_changed_price_is_told_at_once_also_from_the_cache(concierge, shop, session):
    first = await concierge.ask("wake me up", session=session)
    product = first.products[0]
    try:
        update(shop, f"UPDATE menu_products SET price = 77.77 WHERE id = {product.id}")
        again = await concierge.ask("wake me up", session=session)
        assert again.from_cache is False and "$77.77" in again.answer
        only_rows(again.answer, shop)
    finally:
        update(shop, f"UPDATE menu_products SET price = {product.price} WHERE id = {product.id}")


async def test_stock_is_that_of_the_rows(concierge, shop, session):
    result = await concierge.ask("is the Gemini Rush in stock?", session=session)
    (product,) = result.products
    units = {(s.store, s.city, str(s.units)) for s in shop.stock(product.id)}
    told = re.findall(r"(?:: |; )([^;:,]+), ([^;(]+) \((\d+)\)", result.answer)
    assert told and set(told) <= units


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("Espresso is brewed under pressure.", True),
        ("Arabica tastes sweeter than robusta.", True),
        ("Try our Unicorn Latte!", False),
        ("That costs $4.50.", False),
        ("It is 4.50 euros.", False),
        ("We have 12 left.", False),
        ("It is in stock at Harbor Street.", False),
        ("search_products_by_vector(query='x')", False),
        ("```tool_code\nfind_stores()```", False),
        ("  ", False),
    ],
)
def test_conversation_claims_nothing_of_the_shop(text, ok):
    assert may_be_said(text) is ok


async def test_invented_products_in_conversation_are_not_the_final_answer(
    with_gemini, gemini, session
):
    said = "You should try our Unicorn Latte for $1.99!"
    gemini.answer = lambda body: (
        "GENERAL_CONVERSATION" if gemini_server.asks_for(body) == "label" else said
    )
    result = await with_gemini.ask("tell me something", session=session)
    assert "Unicorn" not in result.answer and "$" not in result.answer
    assert result.spoke == "template"


def _product(number):
    from lab_helpers.stores.coffee import Product

    return Product(number, f"S{number}", f"P{number}", None, "drink", 1.0, 1, (), (), (), "", "")
