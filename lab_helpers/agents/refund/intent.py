"""Step 1: what does the customer want, and with which order? Deterministic, no model in sight.

`resolve` is a pure function from the message, the session's memory and the customer's orders to
an `Intent`. It is also what checks a model's reading: an order must be named, matched or asked
about; nothing falls through to some other order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lab_helpers.agents.refund import language, products
from lab_helpers.agents.refund.conversation import Conversation
from lab_helpers.stores.operations import Order

MAX_PROMPT = 2_000

# resolution_mode values. The first three carry an order; the rest have none.
CONFIRMED, EXPLICIT, INFERRED, ORDER_INFO = "confirmed", "explicit_id", "inferred", "order_info"
LIST, POLICY, CANCELLED, CLARIFY = "list_orders", "policy_info", "cancelled", "clarify"
INFORMATION = frozenset({LIST, POLICY, CANCELLED})
# A sign in place of a yes or a no: the question is asked again, and how to answer it is said.
IN_WORDS = "in_words"
# Notes of turns that code has decided: there is nothing in the words for a model to read.
SETTLED_NOTES = frozenset(
    {"several_ids", "malformed_id", "empty", "too_long", "nothing_pending", IN_WORDS}
)


@dataclass(frozen=True)
class Intent:
    """The outcome of step 1. `confirmed` is True only for a button or a plain typed yes."""

    resolution_mode: str
    order_id: int | None = None
    confirmed: bool = False
    candidates: tuple[Order, ...] = ()
    unmatched_product: str | None = None
    inferred: Order | None = None
    refund_reason: str = ""
    status_filter: str | None = None
    list_limit: int | None = None
    # How many orders a list would hold without its limit.
    list_total: int | None = None
    # Why a turn asks: "in_words" where an order is pending; of a clarify turn "empty", "too_long",
    # "malformed_id", "several_ids", "several_orders", "nothing_pending" or "" (no order named).
    note: str = ""
    detail: str = ""


def active(orders: Sequence[Order]) -> tuple[Order, ...]:
    """Orders that a refund could be asked for: not returned, not cancelled."""
    return tuple(o for o in orders if o.status not in ("Returned", "Cancelled"))


def resolve(
    prompt: str,
    memory: Conversation,
    orders: Callable[[], Sequence[Order]],
    *,
    button: bool = False,
) -> Intent:
    """The customer's intent. `orders` is called only where the message does not settle it.

    `button` is True for the confirm button and nothing else.
    """
    if len(prompt) > MAX_PROMPT:
        return Intent(
            CLARIFY, note="too_long", candidates=active(orders()), detail=str(len(prompt))
        )
    text = language.plain(prompt)
    ids = language.order_ids(prompt)
    if ids.excluded:
        orders = _without(orders, ids.excluded)
    if button:
        return _button(memory, ids, orders)
    if not text:
        return Intent(CLARIFY, note="empty", candidates=active(orders()))
    intent = _by_number(text, prompt, ids, orders) or _by_answer(prompt, memory, orders)
    intent = intent or _by_words(text, memory, orders)
    return replace(intent, refund_reason=language.refund_reason(prompt))


def _button(
    memory: Conversation, ids: language.OrderIds, orders: Callable[[], Sequence[Order]]
) -> Intent:
    pending = memory.pending
    if pending is not None and (not ids.ids or ids.ids == (pending.order_id,)):
        return Intent(CONFIRMED, pending.order_id, confirmed=True)
    if len(ids.ids) == 1:
        # Pressed for an order that is not the one shown: policy is asked, but step 4 finds no
        # pending record for it and pauses instead of committing.
        return Intent(CONFIRMED, ids.ids[0], confirmed=True)
    if memory.last_confirmed is not None and not ids.ids:
        return Intent(CONFIRMED, memory.last_confirmed, confirmed=True)
    return Intent(CLARIFY, note="nothing_pending", candidates=active(orders()))


def _by_number(
    text: str, prompt: str, ids: language.OrderIds, orders: Callable[[], Sequence[Order]]
) -> Intent | None:
    if len(ids.ids) > 1:
        own = {o.order_id: o for o in orders()}
        named = tuple(own[i] for i in ids.ids if i in own)
        return Intent(CLARIFY, note="several_ids", candidates=named or active(tuple(own.values())))
    if not ids.ids:
        if ids.malformed:
            return Intent(
                CLARIFY,
                note="malformed_id",
                detail=ids.malformed[0],
                candidates=active(orders()),
            )
        return None
    (number,) = ids.ids
    if language.negates_refund(prompt):
        return Intent(CANCELLED)
    if not language.has("refund", text) and language.has("info", text):
        return Intent(ORDER_INFO, number)
    if other := _other_product(text, number, orders):
        return other
    return Intent(EXPLICIT, number)


def _without(
    orders: Callable[[], Sequence[Order]], excluded: tuple[int, ...]
) -> Callable[[], Sequence[Order]]:
    return lambda: tuple(o for o in orders() if o.order_id not in excluded)


def _other_product(text: str, number: int, orders: Callable[[], Sequence[Order]]) -> Intent | None:
    """ "ORD-90124 or the headphones": a number, and a product that another order holds. Ask."""
    if not products.names_any(text):
        return None
    own = tuple(orders())
    named = products.match(text, own).orders
    if not named or any(o.order_id == number for o in named):
        return None
    both = tuple(o for o in own if o.order_id == number) + named
    return Intent(CLARIFY, note="several_orders", candidates=both)


def _by_answer(
    prompt: str, memory: Conversation, orders: Callable[[], Sequence[Order]]
) -> Intent | None:
    """A yes or a no. Without something pending a yes confirms nothing."""
    if language.negates_refund(prompt):
        return Intent(CANCELLED)
    if memory.pending is not None:
        if language.affirms(prompt):
            return Intent(CONFIRMED, memory.pending.order_id, confirmed=True)
        if language.declines(prompt):
            return Intent(CANCELLED)
        if language.not_in_words(prompt):
            return Intent(INFERRED, memory.pending.order_id, note=IN_WORDS)
    elif language.affirms(prompt):
        return Intent(CLARIFY, note="nothing_pending", candidates=active(orders()))
    elif language.declines(prompt) and len(language.plain(prompt).split()) <= 4:
        return Intent(CANCELLED)
    return None


def _by_words(text: str, memory: Conversation, orders: Callable[[], Sequence[Order]]) -> Intent:
    refund, info = language.has("refund", text), language.has("info", text)
    if language.has("policy", text):
        return Intent(POLICY)
    pool = tuple(orders())
    status = _status(text)
    found = products.match(text, pool)
    listing = language.has("list", text) and not refund
    if listing and not found.orders and not found.unmatched and not _single(text):
        return _listing(text, pool, status)
    if found.unmatched and (refund or info or memory.awaiting_order):
        return Intent(CLARIFY, unmatched_product=found.unmatched, candidates=active(pool))
    chosen = _chosen(text, memory, pool, found.orders, status)
    mode = ORDER_INFO if info and not refund else INFERRED
    wanted = refund or info or memory.awaiting_order
    if wanted and len(chosen) == 1:
        order = chosen[0]
        return Intent(mode, order.order_id, inferred=order, candidates=(order,))
    if wanted and len(chosen) > 1:
        return Intent(CLARIFY, note="several_orders", candidates=chosen)
    if listing or (info and not refund and status):
        return _listing(text, pool, status)
    return Intent(CLARIFY, candidates=active(pool))


def _chosen(
    text: str,
    memory: Conversation,
    pool: tuple[Order, ...],
    named: tuple[Order, ...],
    status: str | None,
) -> tuple[Order, ...]:
    """The orders a message can mean: by product, by place in what was shown, by status, by "it"."""
    if named:
        narrowed = tuple(o for o in named if status is None or o.status == status) or named
        if len(narrowed) > 1 and (place := _place(text, narrowed)):
            return place
        # Only orders that can still be refunded compete, unless all have been.
        return active(narrowed) or narrowed
    by_id = {o.order_id: o for o in pool}
    shown = tuple(by_id[i] for i in memory.last_shown if i in by_id)
    filtered = tuple(o for o in pool if status is None or o.status == status)
    if place := _place(text, (shown if status is None else ()) or filtered):
        return place
    if status is not None and filtered:
        return filtered
    if memory.focused_order in by_id and language.has("focus", text):
        return (by_id[memory.focused_order],)
    return ()


def _place(text: str, orders: tuple[Order, ...]) -> tuple[Order, ...]:
    """ "the second one", "my last order": one order by its place, or nothing."""
    for place, cues in language.vocabulary()["ordinals"].items():
        if language.find(cues, text):
            index = int(place) - 1
            return orders[index : index + 1]
    # Orders come newest first.
    if language.has("newest", text):
        return orders[:1]
    if language.has("oldest", text):
        return orders[-1:]
    return ()


def _status(text: str) -> str | None:
    for status, cues in language.vocabulary()["statuses"].items():
        if language.find(cues, text):
            return status
    return None


def _single(text: str) -> bool:
    """One order is meant, not a list: "my last order", "the second order"."""
    return not re.search(r"\b(?:orders|pedidos|compras|purchases)\b", text) and (
        language.has("newest", text)
        or language.has("oldest", text)
        or any(language.find(c, text) for c in language.vocabulary()["ordinals"].values())
    )


_COUNT = re.compile(r"\b(?:last|latest|first|top|ultimos|ultimas|primeros)\s+(\d{1,2})\b")


def _listing(text: str, pool: tuple[Order, ...], status: str | None) -> Intent:
    limit = int(m.group(1)) if (m := _COUNT.search(text)) else None
    return listed(pool, status, limit)


def listed(pool: Sequence[Order], status: str | None, limit: int | None) -> Intent:
    """A list of orders, and how many there would be without the limit."""
    found = tuple(o for o in pool if status is None or o.status == status)
    return Intent(
        LIST,
        candidates=found[:limit],
        status_filter=status,
        list_limit=limit,
        list_total=len(found),
    )
