"""Vector search in the store: what is near, what is not, and what a model's scale means."""

import asyncio

import pytest

from lab_helpers.agents.concierge import embedding
from lab_helpers.agents.concierge.tools import Tools
from lab_helpers.agents.model import Model
from lab_helpers.config import LabConfig
from lab_helpers.stores import schema
from lab_helpers.stores.coffee import NAME
from tests.agents.concierge.wishes import GRANTED, NOT_ON_THE_MENU


@pytest.fixture(scope="module")
def tools(shop, offline):
    embedder = embedding.LocalEmbedder()
    asyncio.run(embedding.embed_menu(shop, embedder))
    return Tools(shop, embedder, embedding.Idioms())


def search(tools, text, **more):
    return asyncio.run(tools.search(text, **more))


def test_the_threshold_parts_wishes_that_the_menu_grants_from_others(tools):
    granted = [text for text in GRANTED if search(tools, text).products]
    refused = [text for text in NOT_ON_THE_MENU if not search(tools, text).products]
    assert len(granted) == len(GRANTED)
    assert len(refused) == len(NOT_ON_THE_MENU)


def test_the_nearest_product_grants_the_wish(tools):
    wrong = {}
    for text, skus in GRANTED.items():
        best = search(tools, text).products[0]
        if not best.sku.startswith(tuple(skus.split())):
            wrong[text] = best.name
    assert len(wrong) <= 0.1 * len(GRANTED), wrong


def test_the_store_ranks_by_cosine_distance_and_keeps_to_the_top(tools, shop):
    found = search(tools, "wake me up", threshold=-1.0).products
    assert len(found) == 3
    assert [p.distance for p in found] == sorted(p.distance for p in found)
    assert "COSINE_DISTANCE" in schema.text("coffee/queries/vector_search.sql")


def test_every_row_says_its_model_and_dimension(shop, tools):
    rows = shop._rows(
        "SELECT DISTINCT embedding_model, embedding_dimension, ARRAY_LENGTH(embedding),"
        " ARRAY_LENGTH(name_embedding) FROM menu_products"
    )
    assert rows == [["wordllama-256", 256, 256, 256]]


def test_each_model_has_thresholds_of_its_own():
    gemini, local = (embedding.profile(m) for m in (embedding.GEMINI, embedding.LOCAL))
    assert (gemini.search, gemini.availability) == (0.5, 0.6)
    assert (local.search, local.availability) != (0.5, 0.6)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gemini", "Gemini Rush"),
        ("nitro", "Nitro Anchor"),
        ("kenya beans", "Kenya Ridge Beans"),
        ("pumpkin", "Pumpkin Lantern Latte"),
        ("motor oil", None),
        ("pizza", None),
    ],
)
def test_a_part_of_a_name_finds_its_product(tools, text, name):
    found = asyncio.run(tools.by_name(text))
    assert (found and found.name) == name


def test_another_model_embeds_the_menu_again(provisioned, shop, gemini, tools):
    size = embedding.profile(embedding.GEMINI).dimension
    gemini.vector = lambda text: [float(len(text)), *[1.0] * (size - 1)]
    config = LabConfig(model_endpoint=gemini.url)
    other = embedding.GeminiEmbedder(Model(config))
    try:
        products = len(shop.unembedded(embedding.GEMINI))
        assert asyncio.run(embedding.embed_menu(shop, other)) == products > 80
        assert asyncio.run(embedding.embed_menu(shop, other)) == 0
        assert shop.search([1.0] * size, model=embedding.GEMINI, threshold=0.0, top=1)
        assert shop.search([1.0] * 256, model=embedding.LOCAL, threshold=-1.0, top=1) == []
    finally:
        asyncio.run(embedding.embed_menu(shop, embedding.LocalEmbedder()))


def test_a_model_that_gives_no_vectors_says_what_to_do(shop, gemini):
    other = embedding.GeminiEmbedder(Model(LabConfig(model_endpoint=gemini.url)))
    from lab_helpers.errors import LabError

    with pytest.raises(LabError, match="gave no vectors"):
        asyncio.run(embedding.embed_menu(shop, other))


def test_the_query_of_the_search_is_kept_in_the_second_cache(tools, shop):
    shop.forget_caches()
    first = search(tools, "something minty")
    assert first.cache_hit is False and len(first.fresh_vector) == 256
    shop.keep(
        embedding={
            "model": embedding.LOCAL,
            "query_text": first.wish,
            "embedding": first.fresh_vector,
        }
    )
    second = search(tools, "something minty")
    assert second.cache_hit is True
    assert [p.id for p in second.products] == [p.id for p in first.products]


def test_a_name_is_searched_among_names(shop, tools):
    vector = embedding.local_vectors(["cheesecake"])[0]
    (best,) = shop.search(vector, model=embedding.LOCAL, threshold=0.5, top=1, by=NAME)
    assert best.name == "New York Cheesecake"
