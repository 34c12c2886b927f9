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
# Cyrillic and Greek letters that look like Latin ones.
_LOOK_ALIKE = str.maketrans("асеорхуіјѕԁоρντ", "aceopxyijsdopvt")
# "nº 90124" would fold to "no 90124".
_NUMBER_SIGN = re.compile(r"\bn\.?\s?[º°]", re.I)
_INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b-\x1f\x7f]")


@functools.cache
def vocabulary() -> dict[str, Any]:
    return schema.document("language/refund_vocabulary.json")


def plain(text: str) -> str:
    """Lower-case text with accents, look-alike widths, dashes and invisible characters folded."""
    text = _NUMBER_SIGN.sub("num ", _INVISIBLE.sub("", text))
    text = unicodedata.normalize("NFKC", text).translate(_DASHES | _QUOTES)
    text = "".join(
        c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)
    ).casefold()
    return re.sub(r"\s+", " ", text.translate(_LOOK_ALIKE)).strip()


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
    """Order numbers a message names. `malformed` are those that are not five digits, `excluded`
    those it says are not meant ("not 90124, the other one")."""

    ids: tuple[int, ...]
    malformed: tuple[str, ...]
    excluded: tuple[int, ...] = ()


_AND = r"(?:[,;&/+]|\b(?:and|or|maybe|y|e|o|u)\b)"
# "ord-90124", "ord 90124", "order no. 90124", "pedido #90-124": a number that says it is an order.
_NAMED = re.compile(
    r"(?<![^\W\d])(?:ord(?:er|en)?s?|o r d|pedidos?)(?:\s*(?:number|numero|num|no|nr|ids?)\b\.?)?"
    r"[\s:#_-]*(?=\d)((?:\d[\d .-]*\d|\d)"
    rf"(?:\s*{_AND}+\s*(?:{_AND}\s*)?(?:ord-|#)?\d{{5}}(?!\d))*)"
)
_HASHED = re.compile(r"#\s*(\d+)(?!\d)")
_BARE = re.compile(r"(?<![\w$€£.,#:/@+-])(\d{5})(?![\w%]|[.,:/-]\d)")
# What a bare number is instead, by the words around it: an address, a telephone, a price.
_FILLER = (
    r"(?:\s*(?:(?:code|number|numero|is|es|was|fue|of|de|el|la|the|my|mi|about)\b|:)){0,5}\s*$"
)
_NOT_AN_ORDER = re.compile(
    r"(?:\b(?:zip|postcode|postal|codigo|code|cp|phone|tel|telefono|usd|eur|euros?|price|precio|paid|"
    r"pay|pague|cost|costo|charged|cobraron|dollars?)|c\.p\.|[$€£])" + _FILLER
)
_UNIT = re.compile(
    r"^\s*(?:dollars?|usd|eur|euros?|€|\$|pesos|cop|mxn|ars|clp|gbp|pounds|libras|reais|points|"
    r"puntos|miles|km|(?:\w+ )?(?:street|avenue|road)|"
    r"(?:is|es) (?:my|mi|the|el) (?:zip|post|codigo|phone|tel))"
)
_MORE_DIGITS = re.compile(r"(?<!\d)(?!\d{5}(?!\d))\d{3,}$")
_DIGITS_FOLLOW = re.compile(r"^ (?!\d{5}(?!\d))\d{3,}")
_EXCLUDED = re.compile(
    r"(?:\bnot|(?<!order )(?<!orders )(?<!pedido )\bno|\bexcept|\bother than|\binstead of|"
    r"\bexcepto|\bsalvo|\bmenos|\ben vez de)\s+(?:(?:for|the|my|el|mi|order|pedido)\s+)*"
    r"(?:ord[\s:#_-]*|#\s*)?$"
)


def order_ids(text: str) -> OrderIds:
    """The order numbers in a message, in the order they stand, each once.

    Accepts ORD-90124, #90124, "order 90 124", full-width digits and a bare five-digit number;
    leaves out prices, postcodes and phone numbers.
    """
    folded = plain(text)
    found: list[tuple[int, str]] = []
    spans: list[tuple[int, int]] = []
    for match in _NAMED.finditer(folded):
        found += [(match.start(1), number) for number in _numbers(match.group(1))]
        spans.append(match.span())
    for pattern in (_HASHED, _BARE):
        for match in pattern.finditer(folded):
            at = match.start(1)
            if any(a <= at < b for a, b in spans):
                continue
            if pattern is _BARE and _something_else(folded[:at], folded[match.end() :]):
                continue
            found.append((at, match.group(1)))
            spans.append(match.span())
    found.sort(key=lambda pair: pair[0])
    good = [(at, int(n)) for at, n in found if len(n) == 5 and n[0] != "0"]
    bad = tuple(dict.fromkeys(n for _, n in found if len(n) != 5 or n[0] == "0"))
    out = tuple(dict.fromkeys(n for at, n in good if _EXCLUDED.search(folded[:at])))
    ids = tuple(dict.fromkeys(n for _, n in good if n not in out))
    return OrderIds(ids, bad, out)


def _numbers(digits: str) -> list[str]:
    """What stands after the word "order", as numbers: "90 124" is one, "90124 90131" are two."""
    pieces = re.findall(r"\d+", digits)
    whole = [piece for piece in pieces if len(piece) == 5]
    return whole or ["".join(pieces)]


def _something_else(before: str, after: str) -> bool:
    """True where a bare five-digit number is a price, a postcode or part of a telephone number."""
    return bool(
        _NOT_AN_ORDER.search(before)
        or _UNIT.match(after)
        or _MORE_DIGITS.search(before.rstrip(" "))
        or _DIGITS_FOLLOW.match(after)
    )


# Signs that leave a yes a yes. Any other may turn it round: "ok 👎", "yes?", "yes ❌".
_BESIDE_A_YES = re.compile(r'[\w\s.,;!¡"-]*')
# The words of a yes as a question or a condition, without its sign: "can you confirm", "si puedes".
_ASKS_BACK = re.compile(r"\b(?:can|may|do) (?:you|i)\b|\bsi puedes\b")


def affirms(text: str) -> bool:
    """True only for a message that is nothing but a yes: "yes", "sí, adelante", "ok please do"."""
    words = plain(text)
    return _only("yes", words) and not _turned(words)


def not_in_words(text: str) -> bool:
    """True for an answer by a sign, or one that asks back: "👍", "ok 👎", "can you confirm"."""
    words = plain(text)
    return _turned(words) and (_only("yes", words) or not re.search(r"\w", words))


def _turned(words: str) -> bool:
    return not _BESIDE_A_YES.fullmatch(words) or bool(_ASKS_BACK.search(words))


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
    r"\b(?:reembols|devol|devuelv)"
    r"|\b(?:cancel|stop|forget|cancela\w*|olvid\w*|deten\w*)\b[^.,;!?]{0,15}"
    r"\b(?:refund|reembols|devoluc))"
)


def negates_refund(text: str) -> bool:
    """True for "I do not want a refund", "no quiero devolverlo"; false for "why not refund it?"."""
    words = plain(text)
    return bool(_REFUND_NEGATED.search(words)) and not re.match(r"(?:why|por que)\b", words)
