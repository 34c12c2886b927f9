"""What a model's sentence claims and the stores do not hold. The auditor of step 5, in code.

A claim is an order, an amount, a refund, a period or date, a term of policy, or any other number.
Whatever is not among the turn's facts is unbacked, and an unbacked draft is not released. Erring
is cheap on one side only: a draft stopped for nothing costs its wording, the template answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lab_helpers.agents.refund import language
from lab_helpers.agents.verdict import Verdict, shut

UNBACKED = "UNBACKED_CLAIM"

Facts = Mapping[str, Any]


def audit(text: str | None, known: Facts) -> Verdict:
    """Whether a draft may be said. Released only when it claims nothing beyond `known`."""
    if not text or not text.strip():
        return shut("NO_DRAFT", "the model wrote nothing")
    found = unbacked(text, known)
    if found:
        return Verdict(UNBACKED, f"the stores do not hold: {', '.join(found)}", tuple(found))
    return Verdict(None, "every claim is in the facts")


def unbacked(text: str, known: Facts) -> list[str]:
    """The claims that `known` does not hold, in plain words, each once."""
    plain = _without_names(language.plain(text), known)
    return list(dict.fromkeys(claim for rule in _RULES for claim in rule(text, plain, known)))


# -- rules: (text as written, text folded and without names, facts) to unbacked claims ------------


def _orders(text: str, plain: str, known: Facts) -> Iterator[str]:
    named = language.order_ids(text)
    mine = {known.get("order_id"), *(c["order_id"] for c in _cards(known))}
    yield from (f"order {number}" for number in named.malformed)
    yield from (f"order ORD-{number}" for number in named.ids if number not in mine)


_MONEY = (
    r"(?:[$€£]|\busd\b|\beur\b)\s?(\d[\d.,]*\d|\d)",
    r"(\d[\d.,]*\d|\d)\s?(?:[$€£]|usd\b|eur\b|dollars?\b|dolares\b|euros?\b|cents?\b|bucks\b)",
)


def _amounts(text: str, plain: str, known: Facts) -> Iterator[str]:
    prices = {round(c["price"], 2) for c in _cards(known)}
    prices.add(round(known.get("target_order_price") or 0, 2))
    for pattern in _MONEY:
        for found in re.findall(pattern, plain):
            if _number(found) not in prices:
                yield f"the amount {found}"


_DONE = re.compile(
    r"\b(?:refunded|reimbursed|credited|reembolsad[oa]s?|"
    r"refund (?:has been|was|is|is now|has) (?:made|issued|processed|completed?|approved|"
    r"initiated|sent|underway|on its way|being processed|gone through)|"
    r"(?:issued|processed|approved|initiated|completed|sent|made) (?:you )?(?:a |the |your |this )?"
    r"(?:full |partial )?refund|"
    r"money (?:is|was|has been) (?:on its way|returned|sent|paid)|"
    r"reembolso (?:(?!no\b|nunca\b)[\w-]+ ){0,4}?(?:se )?(?:ha sido |fue |esta )?"
    r"(?:hizo|hecho|procesado|aprobado|completado|en camino)|"
    r"dinero (?:fue|ha sido|esta) (?:devuelto|enviado|en camino))\b"
)
_PROMISED = re.compile(
    r"(?:\b(?:will|shall|going to)|'ll) (?:\w+ ){0,2}?(?:be )?"
    r"(?:refund|reimburse|credit|return your money|receive (?:a|the|your) (?:\w+ )?refund|"
    r"get (?:a|the|your) (?:\w+ )?(?:refund|money))|"
    r"\b(?:recibira|le reembolsar\w+|se le (?:reembolsara|devolvera))\b"
)
_NEGATED = re.compile(
    r"\b(?:not|never|no|nothing|cannot|can|could|may|would|whether|nada|nunca|puede|podria|sin)\b"
    r"|n't\b"
)
_OPEN = re.compile(r"\?|\b(?:if|once|when|unless|not|no|si|cuando|shall i)\b|n't\b")


def _refunds(text: str, plain: str, known: Facts) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?;])\s", plain):
        if _PROMISED.search(sentence) and not _OPEN.search(sentence) and not _paid(known, ()):
            yield "a refund to come"
        for clause in re.split(r"[,:]| but | and | pero ", sentence):
            done = _DONE.search(clause)
            # A "not" takes the claim back only where it stands before it, in the same clause.
            if not done or _NEGATED.search(clause[: done.start()]) or clause.endswith("?"):
                continue
            if not _paid(known, language.order_ids(clause).ids):
                yield "a refund made"


def _paid(known: Facts, named: Iterable[int]) -> bool:
    """True when the stores hold a refund of each order named, or of the turn's own order."""
    returned = {c["order_id"] for c in _cards(known) if c.get("status") == "Returned"}
    if known.get("decision_status") == "APPROVED" or known.get("target_order_status") == "Returned":
        returned.add(known.get("order_id"))
    wanted = set(named) or {known.get("order_id")}
    return wanted <= returned


_SPELLED = {
    word: n
    for n, words in {
        1: "one un una",
        2: "two dos",
        3: "three tres",
        5: "five cinco",
        7: "seven siete",
        10: "ten diez",
        14: "fourteen catorce",
        15: "fifteen quince",
        30: "thirty treinta",
        60: "sixty sesenta",
        90: "ninety noventa",
        100: "hundred cien",
    }.items()
    for word in words.split()
}
_PERIOD = re.compile(
    rf"\b(\d+|{'|'.join(_SPELLED)})(?:\s?(?:-|to|a)\s?(\d+))?[\s-]+"
    r"(?:more |further |full |business |working |mas )?"
    r"(days?|dias?|hours?|horas?|weeks?|semanas?|months?|mes(?:es)?|years?|anos?)\b"
)


def _periods(text: str, plain: str, known: Facts) -> Iterator[str]:
    names = ("target_order_age_days", "return_window_days", "rolling_window_days")
    days = {known.get(name) for name in names} | {c.get("age_days") for c in _cards(known)}
    for found in _PERIOD.finditer(plain):
        low, high, unit = found.groups()
        number = int(low) if low.isdigit() else _SPELLED[low]
        settled = "business" in found.group() or "working" in found.group() or high
        if unit[0] != "d" or settled or number not in days:
            yield f"the period {found.group()!r}"


_MONTHS = (
    "january february march april may june july august september october november december"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
).replace(" ", "|")
_WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday"
    " lunes martes miercoles jueves viernes sabado domingo"
).replace(" ", "|")
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of| de)? (?:{_MONTHS})\b|\b(?:{_MONTHS}) \d{{1,4}}\b"
    rf"|\b\d{{4}}-\d{{1,2}}-\d{{1,2}}\b|\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}\b"
    rf"|\b(?:{_WEEKDAYS}|yesterday|tomorrow|ayer|manana)\b"
    r"|\b(?:next|last|this) (?:week|month|year)\b|\b(?:proxim|pasad)[oa] (?:semana|mes|ano)\b"
)


def _dates(text: str, plain: str, known: Facts) -> Iterator[str]:
    # The facts hold ages in days and no calendar date, so no date can be backed.
    yield from (f"the date {found.group()!r}" for found in _DATE.finditer(plain))


_TERMS = re.compile(
    r"\d+(?:[.,]\d+)?\s?(?:%|percent|por ciento)|\b(?:store credit|gift cards?|vouchers?|coupons?|"
    r"discounts?|restocking|free shipping|exchanges?|replacements?|warrant(?:y|ies)|compensation|"
    r"exceptions?|waive[ds]?|goodwill|descuentos?|cupon(?:es)?|vales?|cambios? de producto|"
    r"envio gratis|garantia|compensacion|excepcion(?:es)?)\b"
)
_POLICY_ID = re.compile(r"\b(?:pol|cond)-[\w-]+")


def _policy(text: str, plain: str, known: Facts) -> Iterator[str]:
    yield from (f"the term {found.group()!r}" for found in _TERMS.finditer(plain))
    ids = {str(known.get(name)).casefold() for name in ("policy_id", "condition_id")}
    yield from (f"the policy {p}" for p in _POLICY_ID.findall(plain) if p not in ids)
    tier = known.get("customer_tier")
    if tier is not None and tier != "VIP" and re.search(r"\bvip\b", plain):
        yield "the VIP tier"


_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


def _numbers(text: str, plain: str, known: Facts) -> Iterator[str]:
    held = set(_held(known)) | {float(len(_cards(known))), 5.0}  # five: the digits of an order
    # The numbers of a list are its layout, not a claim.
    body = language.plain(re.sub(r"(?m)^\s*\d{1,2}[.)]\s", "", text))
    for found in _DIGITS.findall(_without_names(body, known)):
        if _number(found) not in held:
            yield f"the number {found}"


# Words that English and Spanish lack. What these rules cannot read is not said: who writes in
# another language is answered by the template, in one of the two.
_UNREADABLE = re.compile(
    r"\b(?:vous|votre|vos|nous|ete|cette|avez|commandes?|rembours\w*|c'est|je|avec|"
    r"sie|ihre?n?|ihnen|wurden?|wird|ist|und|bestellung\w*|\w*erstatte\w*|nicht|wir|fur|haben|"
    r"foi|voce|seus?|suas?|nao|dinheiro|devolvid\w*|estorn\w*|pela|isso|obrigad[oa]|"
    r"sono|rimbors\w*|stato|della|ordine)\b"
)


def _foreign(text: str, plain: str, known: Facts) -> Iterator[str]:
    found = _UNREADABLE.search(plain)
    if found:
        yield f"words these rules cannot read ({found.group()!r})"


_INTERNAL = re.compile(
    r"\b(?:ctx\.state|policy_eval|action_outcome|user_id|trace_buffer|lineage_buffer|"
    r"catalog_contract|resolution_mode|evaluation_result|failure_code|decision_status|"
    r"pending_order_id|customer_tier)\b"
)


def _internals(text: str, plain: str, known: Facts) -> Iterator[str]:
    yield from (f"the internal name {name}" for name in _INTERNAL.findall(text))


_RULES: tuple[Callable[[str, str, Facts], Iterator[str]], ...] = (
    _orders,
    _amounts,
    _refunds,
    _periods,
    _dates,
    _policy,
    _numbers,
    _foreign,
    _internals,
)


def _cards(known: Facts) -> list[dict[str, Any]]:
    return known.get("candidate_orders") or []


def _number(text: str) -> float | None:
    try:
        return round(float(text.replace(",", "")), 2)
    except ValueError:
        return None


def _held(value: Any) -> Iterator[float]:
    """Every number in the facts, also those inside their texts."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield round(float(value), 2)
    elif isinstance(value, str):
        yield from (n for found in _DIGITS.findall(value) if (n := _number(found)) is not None)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _held(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _held(inner)


def _without_names(plain: str, known: Facts) -> str:
    """The text without the names that the stores hold: a product may well be called after a day."""
    names = [known.get("product_names"), known.get("policy_name"), known.get("trace_id")]
    names += [known.get("unmatched_product"), *(c.get("product_names") for c in _cards(known))]
    for name in names:
        for part in (name or "").split(", "):
            if part:
                plain = plain.replace(language.plain(part), " ")
    return plain
