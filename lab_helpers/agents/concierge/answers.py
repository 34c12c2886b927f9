"""Answers rendered from rows: facts in, text out. The tone changes the words around the facts.

The wording is data/coffee/replies.json. Nothing here is written by a model.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Sequence
from typing import Any

from lab_helpers.agents.concierge import wording
from lab_helpers.stores import schema
from lab_helpers.stores.coffee import Product, Shop, Stock
from lab_helpers.stores.operations import Order

TONES = ("novice", "enthusiast", "expert", "barista")
_SHOWN_STORES = 5


@functools.cache
def _wording() -> dict[str, Any]:
    return schema.document("coffee/replies.json")


def say(key: str, language: str, **facts: Any) -> str:
    """One sentence of replies.json, with its facts filled in."""
    return _wording()[language][key].format(**facts)


def products(found: Sequence[Product], language: str, tone: str) -> str:
    """The answer about these rows; "nothing fits" where there are none."""
    if not found:
        return say("nothing", language)
    words = _wording()[language]
    lines = [_product(n, product, language) for n, product in enumerate(found, start=1)]
    return "\n".join([words["found"][tone], *lines, words["closing"][tone]])


def _product(n: int, product: Product, language: str) -> str:
    diet = say("diet", language, diet=", ".join(product.diet)) if product.diet else ""
    return say(
        "product",
        language,
        n=n,
        name=product.name,
        size=f" ({product.size})" if product.size else "",
        price=product.price,
        says=product.says_es if language == "es" else product.says,
        notes=", ".join(product.notes),
        caffeine=product.caffeine_mg,
        allergens=", ".join(product.allergens) or say("none", language),
        diet=diet,
    )


def availability(
    product: Product, stock: Sequence[Stock], language: str, *, place: str = "", near: bool = False
) -> str:
    """Where a product is in stock. `place` narrows it to a store or a city; `near` says that the
    product was not named exactly."""
    have = [row for row in stock if row.units > 0]
    here = [row for row in have if place in (row.store, row.city)]
    facts = {"name": product.name, "n": len(have), "all": len(stock), "place": place}
    if not have:
        text = say("stock_none", language, **facts)
    elif not place:
        text = say("stock", language, where=_units(have, language), **facts)
    elif here:
        text = say("stock_here", language, where=_units(here, language), **facts)
    else:
        text = say("stock_here_none", language, where=_units(have, language), **facts)
    return (say("nearest", language, name=product.name) if near else "") + text


def _units(rows: Sequence[Stock], language: str) -> str:
    parts = [
        say("units", language, store=r.store, city=r.city, units=r.units)
        for r in rows[:_SHOWN_STORES]
    ]
    if len(rows) > _SHOWN_STORES:
        parts.append(say("more", language, n=len(rows) - _SHOWN_STORES))
    return "; ".join(parts)


# A wish about stores to the feature that grants it.
_FEATURES = {
    "parking": ("parking", "park", "aparcamiento", "estacionamiento", "aparcar"),
    "wifi": ("wifi", "internet"),
    "power sockets": ("socket", "sockets", "outlet", "outlets", "plug", "laptop", "enchufes"),
    "step-free": ("wheelchair", "accessible", "step-free", "ramp", "silla", "rampa", "accesible"),
    "terrace": ("terrace", "outside", "outdoor", "outdoors", "terraza", "afuera"),
    "dogs welcome": ("dog", "dogs", "pet", "pets", "perro", "perros", "mascotas"),
    "drive-through": ("drive-through", "drive-thru", "drive", "thru"),
    "roastery": ("roastery", "tostador"),
}


def named_places(text: str, shops: Sequence[Shop]) -> list[str]:
    """The stores' names and cities that stand in a message."""
    words = f" {wording.plain(text)} "
    names = dict.fromkeys([s.name for s in shops] + [s.city for s in shops])
    return [name for name in names if f" {wording.plain(name)} " in words]


def stores(text: str, shops: Sequence[Shop], language: str) -> str:
    """The stores a message asks for: by name, city, what they offer, or when they are open."""
    words = set(wording.plain(text).split())
    places = named_places(text, shops)
    fit = [s for s in shops if not places or s.name in places or s.city in places]
    for feature, cues in _FEATURES.items():
        if words & set(cues):
            fit = [s for s in fit if feature in s.features]
    if words & {"latest", "late", "last", "tarde"}:
        fit = _most(fit, lambda s: s.weekdays[6:])
    elif words & {"earliest", "first", "early", "temprano"}:
        fit = _most(fit, lambda s: _later(s.weekdays[:5]))
    if not fit:
        cities = ", ".join(sorted({s.city for s in shops}))
        return say("stores_none", language, n=len(shops), cities=cities)
    key = "stores_all" if len(fit) == len(shops) else "stores_some"
    return "\n".join([say(key, language, n=len(fit)), *(_store(s, language) for s in fit)])


def _most(shops: Sequence[Shop], by: Any) -> list[Shop]:
    best = max(map(by, shops), default=None)
    return [shop for shop in shops if by(shop) == best]


def _later(hour: str) -> dt.timedelta:
    return dt.timedelta(hours=24) - dt.timedelta(hours=int(hour[:2]), minutes=int(hour[3:]))


def _store(shop: Shop, language: str) -> str:
    features = ", ".join(shop.features)
    line = say(
        "store",
        language,
        name=shop.name,
        address=shop.address,
        city=shop.city,
        weekdays=shop.weekdays,
        weekend=shop.weekend,
        features=say("features", language, features=features) if features else "",
    )
    return line.strip()


def orders(text: str, found: Sequence[Order] | None, language: str) -> str:
    """A customer's own orders, or the one a message names. `found` is None without a customer."""
    if found is None:
        return say("order_who", language)
    asked = wording.order_ids(text)
    own = [o for o in found if o.order_id in asked] if asked else list(found)
    lines = [_order(order, language) for order in own]
    lines += [
        say("order_unknown", language, order_id=i)
        for i in asked
        if i not in {o.order_id for o in own}
    ]
    if asked:
        return "\n".join(lines)
    return "\n".join([say("orders", language), *lines]) if own else say("orders_none", language)


def _order(order: Order, language: str) -> str:
    age = "" if order.age_days is None else say("age", language, age_days=order.age_days)
    return say(
        "order",
        language,
        order_id=order.order_id,
        status=order.status,
        products=order.product_names,
        price=order.price,
        age=age,
    )


def small_talk(text: str, language: str) -> str:
    """What is said without a model to a message that asks for no row."""
    words = set(wording.plain(text).split())
    for key, cues in _wording()["cues"].items():
        if words & set(cues):
            return say(key, language)
    return say("general", language)
