"""Reading a message: plain words, cue phrases, order numbers, the customer's language.

Pure functions over text; the words themselves are data/language/refund_vocabulary.json.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from lab_helpers.stores import schema

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad\uff0d"), "-")
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u00b4\u02bc"), "'")
_INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b-\x1f\x7f]")


@functools.cache
def vocabulary() -> dict[str, Any]:
    return schema.document("language/refund_vocabulary.json")


def plain(text: str) -> str:
    """Lower-case text with accents, look-alike widths, dashes and invisible characters folded."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).translate(_DASHES | _QUOTES)
    text = "".join(
        c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)
    ).casefold()
    return re.sub(r"\s+", " ", text).strip()


@functools.cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    parts = sorted(
        (re.escape(p.removesuffix("*")) + (r"\w*" if p.endswith("*") else "") for p in phrases),
        key=len,
        reverse=True,
    )
    return re.compile(rf"(?<![\w'-])(?:{'|'.join(parts)})(?![\w'-])")


def find(phrases: list[str], text: str) -> list[str]:
    """The phrases' occurrences in plain text, in order."""
    return _pattern(tuple(phrases)).findall(text)


def has(cue: str, text: str) -> bool:
    """True when plain text holds a phrase of the vocabulary's list `cue`."""
    return bool(_pattern(tuple(vocabulary()[cue])).search(text))


def language(text: str, before: str = "en") -> str:
    """The language whose small words the text has more of: "es" or "en"; a tie keeps `before`."""
    words = plain(text)
    spanish = len(find(vocabulary()["spanish"], words)) + 2 * len(re.findall("[¿¡ñÑ]", text))
    english = len(find(vocabulary()["english"], words))
    if spanish == english:
        return before
    return "es" if spanish > english else "en"


@dataclass(frozen=True)
class OrderIds:
    """Order numbers a message names. `malformed` are those that are not five digits."""

    ids: tuple[int, ...]
    malformed: tuple[str, ...]


# "ord-90124", "ord 90124", "order no. 90124", "pedido #90124": a number that says it is an order.
_NAMED = re.compile(
    r"(?<![\w])(?:ord(?:er|en)?s?|pedidos?|orden)\s*(?:(?:number|numero|num|no|nr|id|ids)\b\.?)?"
    r"\s*[:#-]*\s*(?=[\d])((?:\d[\d .]*\d|\d)"
    r"(?:(?:\s*(?:,|and|y|or|o|&)\s*)(?:ord-|#)?\d{5}(?!\d))*)"
)
_HASHED = re.compile(r"#\s*(\d+)(?!\d)")
_BARE = re.compile(r"(?<![\w$€£.,#:/@-])(\d{5})(?![\w%]|[.,:/-]\d)")
_NOT_AN_ORDER = re.compile(
    r"(?:zip|postcode|postal|codigo postal|code|cp|c\.p\.|phone|tel|telefono|\$|usd|eur|euros?|€|£|"
    r"price|paid|pague|cost|costo|dollars?)\s*(?:code|number|is|es|of|de|:)?\s*$"
)
_UNIT = re.compile(r"^\s*(?:dollars?|usd|eur|euros?|€|\$|pesos|points|puntos|miles|km)\b")


def order_ids(text: str) -> OrderIds:
    """The order numbers in a message, in the order they stand, each once.

    Accepts ORD-90124, #90124, "order 90 124", full-width digits and a bare five-digit number;
    leaves out prices, postcodes and phone numbers.
    """
    folded = plain(text)
    found: list[tuple[int, str]] = []
    spans: list[tuple[int, int]] = []
    for match in _NAMED.finditer(folded):
        digits = match.group(1)
        pieces = re.split(r"\s*(?:,|\band\b|\by\b|\bor\b|\bo\b|&)\s*(?:ord-|#)?", digits)
        for piece in pieces:
            number = re.sub(r"[ .]", "", piece)
            spread = number if len(number) == 5 else re.split(r"[ .]", piece.strip())[0]
            found.append((match.start(1), spread if len(spread) == 5 else number))
        spans.append(match.span())
    for pattern in (_HASHED, _BARE):
        for match in pattern.finditer(folded):
            at = match.start(1)
            if any(a <= at < b for a, b in spans):
                continue
            if pattern is _BARE and (
                _NOT_AN_ORDER.search(folded[:at]) or _UNIT.match(folded[match.end() :])
            ):
                continue
            found.append((at, match.group(1)))
            spans.append(match.span())
    found.sort(key=lambda pair: pair[0])
    good = tuple(dict.fromkeys(int(n) for _, n in found if len(n) == 5 and n[0] != "0"))
    bad = tuple(dict.fromkeys(n for _, n in found if len(n) != 5 or n[0] == "0"))
    return OrderIds(good, bad)


def affirms(text: str) -> bool:
    """True only for a message that is nothing but a yes: "yes", "sí, adelante", "ok please do"."""
    return _only("yes", plain(text))


def declines(text: str) -> bool:
    """True for a message that starts with, or is nothing but, a no."""
    words = plain(text)
    first = _pattern(tuple(vocabulary()["no"])).match(words)
    return bool(first) or _only("no", words)


def _only(cue: str, words: str) -> bool:
    rest, hits = _pattern(tuple(vocabulary()[cue])).subn(" ", words)
    rest = _pattern(tuple(vocabulary()["polite"])).sub(" ", rest)
    return hits > 0 and not re.search(r"\w", rest)


_REASON = re.compile(r"\b(?:because|since|as it|porque|ya que)\b\s+(.{3,120})", re.I)


def refund_reason(text: str) -> str:
    """What the customer gives as the reason, at most 120 characters; "" where none is given."""
    match = _REASON.search(" ".join(text.split()))
    return match.group(1).rstrip(" .!") if match else ""


_REFUND_NEGATED = re.compile(
    r"(?:\b(?:do not|don't|dont|does not|not|never|no longer|rather not|without)\b[^.,;!?]{0,30}"
    r"\b(?:refund|return|send|give)|\b(?:no|ya no|nunca)\b[^.,;!?]{0,25}"
    r"\b(?:reembols|devol|devuelv))"
)


def negates_refund(text: str) -> bool:
    """True for "I do not want a refund", "no quiero devolverlo"; false for "why not refund it?"."""
    words = plain(text)
    return bool(_REFUND_NEGATED.search(words)) and not re.match(r"(?:why|por que)\b", words)
