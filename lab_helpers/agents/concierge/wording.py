"""Reading a message: plain words, its language, and the wish that the vector search is asked.

Pure functions over text; the words themselves are data/coffee/wording.json.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from lab_helpers.stores import schema
from lab_helpers.stores.coffee import MAX_TEXT

_NOT_WORDS = re.compile(r"[^\w'$%#-]+")
_ORDER = re.compile(
    r"(?:\b(?:ord|order|orders|pedido|orden)\b[ #-]*(?:number|numero|no|num|nr)?[ #-]*)?"
    r"(?<![\w$])#?\b[1-9]\d{4}\b"
)
_ORDER_ID = re.compile(r"(?<![\w$])#?(?:ord[ -]?)?([1-9]\d{4})\b")
_PRODUCT_ID = re.compile(r"\b(?:product|item|id|producto)\s+(?:number\s+|no\s+)?#?(\d{2,6})\b")


def plain(text: str) -> str:
    """Lower-case words with single spaces; accents, widths and punctuation are folded away."""
    text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    text = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return " ".join(_NOT_WORDS.sub(" ", text.casefold()).split())[:MAX_TEXT]


@functools.cache
def vocabulary() -> dict[str, Any]:
    """wording.json with its word lists as sets of plain words."""
    words = schema.document("coffee/wording.json")
    words["filler"] = {language: _set(listed) for language, listed in words["filler"].items()}
    words["stock"] = _set(words["stock"])
    return words


def _set(words: str) -> frozenset[str]:
    return frozenset(plain(word) for word in words.split())


def language(text: str, before: str = "en") -> str:
    """ "es" or "en": the language whose small words the text has more of; a tie keeps `before`."""
    filler = vocabulary()["filler"]
    words = plain(text).split()
    spanish = sum(w in filler["es"] or w in vocabulary()["spanish"] for w in words)
    spanish += 2 * len(re.findall("[¿¡ñáéíóú]", text.lower()))
    english = sum(w in filler["en"] for w in words)
    if spanish == english:
        return before
    return "es" if spanish > english else "en"


def order_ids(text: str) -> list[int]:
    """The five-digit order numbers a message names: ORD-90124, #90124, order 90124."""
    return list(dict.fromkeys(int(n) for n in _ORDER_ID.findall(plain(text))))


def product_ids(text: str) -> list[int]:
    """The numbers that a message calls a product: "product 103", "item #103"."""
    return [int(n) for n in _PRODUCT_ID.findall(plain(text))]


def content(text: str, also: frozenset[str] = frozenset()) -> str:
    """What is left of plain words without the small ones (and without `also`)."""
    filler = vocabulary()["filler"]
    drop = filler["en"] | filler["es"] | also
    return " ".join(word for word in text.split() if word not in drop)


def wish(text: str) -> str:
    """The words that matter, in the menu's own English: the query of the vector search.

    "¿Tienen té sin azúcar?" becomes "tea plain black". Empty where no word says anything.
    """
    words = plain(text)
    for phrase, meaning in vocabulary()["phrases"].items():
        words = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", meaning, words)
    spanish = vocabulary()["spanish"]
    return " ".join(spanish.get(word, word) for word in content(words).split())


class Names:
    """The shop's own names, put behind one word each, so that one example stands for them all."""

    ORDER, PRODUCT, STORE = "ordernumber", "productname", "storename"

    def __init__(self, products: Iterable[tuple[str, str]], stores: Iterable[str]) -> None:
        """`products` are (name, SKU); `stores` are names and cities."""
        names, prefixes = [], set()
        for name, sku in products:
            words = plain(name).split()
            names += [" ".join(words), plain(sku)]
            prefixes |= {" ".join(words[:2])} if len(words) > 2 else set()
        self._products = _any_of([*names, *prefixes])
        self._stores = _any_of(map(plain, stores), "(?:the )?", r"(?: (?:store|shop|cafe|branch))?")

    def folded(self, text: str) -> str:
        """Plain words with every product, store and order number replaced by its word."""
        words = self._stores.sub(self.STORE, self._products.sub(self.PRODUCT, plain(text)))
        return _ORDER.sub(self.ORDER, words)

    def without(self, text: str) -> str:
        """Plain words without the names of stores."""
        return " ".join(self._stores.sub(" ", plain(text)).split())


def _any_of(names: Iterable[str], before: str = "", after: str = "") -> re.Pattern[str]:
    parts = "|".join(map(re.escape, sorted(set(names), key=len, reverse=True)))
    return re.compile(rf"(?<!\w){before}(?:{parts or '(?!)'}){after}(?!\w)")
