"""The coffee shop's rows: what there is, how it comes into the store."""

import pytest

from lab_helpers.provision import coffee
from lab_helpers.stores import schema
from lab_helpers.stores.coffee import TABLES


def test_the_menu_and_the_stores_are_as_large_as_they_should_be():
    rows = coffee.rows()
    menu, stores = rows["menu_products"], rows["coffee_stores"]
    assert len(menu) >= 80 and len(stores) == 15
    assert {row[4] for row in menu} == {"drink", "food", "beans"}
    assert len(rows["coffee_stock"]) == len(menu) * len(stores)
    for column in (0, 1, 2):
        assert len({row[column] for row in menu}) == len(menu)


@pytest.mark.parametrize("key", ["notes", "price", "caffeine_mg", "allergens", "says", "says_es"])
def test_every_product_says_what_it_must(key):
    for product in schema.document("coffee/menu.json"):
        assert product[key] is not None
        assert product["notes"] and product["price"] > 0 and product["caffeine_mg"] >= 0


def test_every_store_has_its_hours():
    for store in schema.document("coffee/stores.json"):
        for hours in (store["weekdays"], store["weekend"]):
            opens, closes = hours.split("-")
            assert opens < closes and len(opens) == len(closes) == 5


def test_provisioning_made_every_table(shop):
    have = {t.table_id for t in shop.database.list_tables()}
    assert set(TABLES) <= have
    assert len(shop.shops()) == 15


def test_a_database_from_before_gets_what_it_lacks(lab, shop):
    for table in ("search_metrics", "coffee_stock"):
        shop.database.update_ddl([f"DROP TABLE {table}"]).result()
    shop.database.run_in_transaction(
        lambda t: t.execute_update("DELETE FROM lab_state WHERE name IN ('ddl-coffee', 'coffee')")
    )
    assert lab.provision(progress=None).changed is True
    assert len(shop.stock(103)) == 15
    assert lab.provision(progress=None).changed is False


def test_after_a_reload_the_menu_is_embedded_again(shop, offline):
    coffee.load(shop.database)
    assert len(shop.unembedded("wordllama-256")) == len(coffee.rows()["menu_products"])
    offline._ready = False


@pytest.mark.parametrize(
    ("text", "ids", "names"),
    [
        ("is gemini rush in stock", [], ["Gemini Rush"]),
        ("esp03", [], ["Gemini Rush"]),
        ("product 103", [103], ["Gemini Rush"]),
        ("gemini rushes", [], []),
        ("vanilla drift cold brew or house latte", [], ["Vanilla Drift Cold Brew", "House Latte"]),
        ("' OR 1=1", [], []),
    ],
)
def test_a_name_counts_only_as_a_whole(shop, text, ids, names):
    assert [p.name for p in shop.named(text, ids)] == names
