"""Reply templates in English and Spanish: what is said when no model speaks. Facts in, text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab_helpers.agents.refund import policy

Cards = Sequence[Mapping[str, Any]]

STATUS_ES = {
    "Processing": "en preparación",
    "Shipped": "enviado",
    "Complete": "entregado",
    "Cancelled": "cancelado",
    "Returned": "devuelto",
}

_FAIL = {
    "en": {
        policy.NOT_FOUND: "I can't find order ORD-{order_id} among your orders.",
        policy.ALREADY_RETURNED: "Order ORD-{order_id} ({product_names}) has already been returned.",
        policy.NOT_DELIVERED: (
            "Order ORD-{order_id} ({product_names}) has the status {target_order_status} and has"
            " not been delivered yet."
        ),
        policy.WINDOW_EXPIRED: (
            "Order ORD-{order_id} ({product_names}) was delivered {target_order_age_days} days ago;"
            " the return window is {return_window_days} days."
        ),
        policy.LIMIT_EXCEEDED: (
            "You already have {prior_refund_count_100d} returned items in the last 100 days; the"
            " limit for the {customer_tier} tier is {max_refunds_100d}."
        ),
        policy.UNAVAILABLE: "I can't check order ORD-{order_id} right now: the store is not answering.",
    },
    "es": {
        policy.NOT_FOUND: "No encuentro el pedido ORD-{order_id} entre sus pedidos.",
        policy.ALREADY_RETURNED: "El pedido ORD-{order_id} ({product_names}) ya fue devuelto.",
        policy.NOT_DELIVERED: (
            "El pedido ORD-{order_id} ({product_names}) tiene el estado {target_order_status} y"
            " todavía no se ha entregado."
        ),
        policy.WINDOW_EXPIRED: (
            "El pedido ORD-{order_id} ({product_names}) se entregó hace {target_order_age_days}"
            " días; el plazo de devolución es de {return_window_days} días."
        ),
        policy.LIMIT_EXCEEDED: (
            "Ya tiene {prior_refund_count_100d} artículos devueltos en los últimos 100 días; el"
            " límite del nivel {customer_tier} es {max_refunds_100d}."
        ),
        policy.UNAVAILABLE: (
            "Ahora mismo no puedo comprobar el pedido ORD-{order_id}: el almacén de datos no responde."
        ),
    },
}

_TEXT = {
    "en": {
        "ask_pass": (
            "Order ORD-{order_id} ({product_names}, ${target_order_price:.2f}) can be refunded."
            " Shall I go ahead?"
        ),
        "ask_fail": "{failure} Confirm if you still want a decision on record; it will be a refusal.",
        "approved": (
            "Done: order ORD-{order_id} ({product_names}) is refunded, ${target_order_price:.2f}."
            " Trace {trace_id}."
        ),
        "denied": "{failure} The refund was not made, and nothing changed.",
        "denied_write": "The refund of order ORD-{order_id} could not be written. Nothing was paid; please try again.",
        "stale": (
            "Nothing was refunded: your approval was not for what is true of order ORD-{order_id}"
            " now. {again}"
        ),
        "cancelled": "All right, nothing was refunded. Your orders are unchanged.",
        "which": "Which order would you like to refund? Select one of your active orders: {cards}.",
        "no_active": "Please give a valid 5-digit order number, for example ORD-12345; there is no active order on your account.",
        "unmatched": "I can't find a {product} among your orders, so there is nothing to refund for it. Your active orders: {cards}.",
        "unmatched_none": "I can't find a {product} among your orders, so there is nothing to refund for it.",
        "empty": "I did not get a message. Tell me which order it is about. Your active orders: {cards}.",
        "too_long": "Your message has {detail} characters; I read at most 2,000. Please say it in fewer words.",
        "malformed_id": "{detail} is not an order number: they have five digits, like ORD-12345. Your active orders: {cards}.",
        "several_ids": "One order at a time, please. Which of these do you mean: {cards}?",
        "several_orders": "More than one of your orders fits. Which one do you mean: {cards}?",
        "nothing_pending": "There is nothing waiting for your confirmation. Which order is it about? Your active orders: {cards}.",
        "order_info": (
            "Order ORD-{order_id}: {product_names}, ${target_order_price:.2f}, status"
            " {target_order_status}{age}."
        ),
        "age": ", delivered {target_order_age_days} days ago",
        "list": "Your orders{filter}: {cards}.",
        "list_none": "You have no orders{filter}.",
        "filter": " with the status {status}",
        "policy": (
            "{policy_name}: a delivered order can be returned within {return_window_days} days. On"
            " the {customer_tier} tier you may have fewer than {max_refunds_100d} returned items in"
            " 100 days. Your orders: {cards}."
        ),
        "card": "ORD-{order_id} ({product_names}, {status})",
        "down": "The store is not answering, so I can't look anything up right now. Nothing changed.",
    },
    "es": {
        "ask_pass": (
            "El pedido ORD-{order_id} ({product_names}, ${target_order_price:.2f}) se puede"
            " reembolsar. ¿Lo hago?"
        ),
        "ask_fail": "{failure} Confirme si aun así quiere que quede constancia; será un rechazo.",
        "approved": (
            "Listo: el pedido ORD-{order_id} ({product_names}) está reembolsado,"
            " ${target_order_price:.2f}. Traza {trace_id}."
        ),
        "denied": "{failure} El reembolso no se hizo y nada ha cambiado.",
        "denied_write": "No se pudo registrar el reembolso del pedido ORD-{order_id}. No se ha pagado nada; inténtelo de nuevo.",
        "stale": (
            "No se reembolsó nada: su aprobación no corresponde a lo que hoy es cierto del pedido"
            " ORD-{order_id}. {again}"
        ),
        "cancelled": "De acuerdo, no se reembolsó nada. Sus pedidos siguen igual.",
        "which": "¿Qué pedido quiere devolver? Elija uno de sus pedidos activos: {cards}.",
        "no_active": "Indique un número de pedido válido de 5 cifras, por ejemplo ORD-12345; no hay pedidos activos en su cuenta.",
        "unmatched": "No encuentro «{product}» entre sus pedidos, así que no hay nada que reembolsar. Sus pedidos activos: {cards}.",
        "unmatched_none": "No encuentro «{product}» entre sus pedidos, así que no hay nada que reembolsar.",
        "empty": "No recibí ningún mensaje. Dígame de qué pedido se trata. Sus pedidos activos: {cards}.",
        "too_long": "Su mensaje tiene {detail} caracteres; leo como máximo 2.000. Dígalo con menos palabras, por favor.",
        "malformed_id": "{detail} no es un número de pedido: tienen cinco cifras, como ORD-12345. Sus pedidos activos: {cards}.",
        "several_ids": "De uno en uno, por favor. ¿Cuál de estos es: {cards}?",
        "several_orders": "Más de un pedido encaja. ¿Cuál de estos es: {cards}?",
        "nothing_pending": "No hay nada pendiente de confirmar. ¿De qué pedido se trata? Sus pedidos activos: {cards}.",
        "order_info": (
            "Pedido ORD-{order_id}: {product_names}, ${target_order_price:.2f}, estado"
            " {target_order_status}{age}."
        ),
        "age": ", entregado hace {target_order_age_days} días",
        "list": "Sus pedidos{filter}: {cards}.",
        "list_none": "No tiene pedidos{filter}.",
        "filter": " con el estado {status}",
        "policy": (
            "{policy_name}: un pedido entregado se puede devolver en {return_window_days} días. En"
            " el nivel {customer_tier} puede tener menos de {max_refunds_100d} artículos devueltos"
            " en 100 días. Sus pedidos: {cards}."
        ),
        "card": "ORD-{order_id} ({product_names}, {status})",
        "down": "El almacén de datos no responde y no puedo consultar nada ahora. Nada ha cambiado.",
    },
}


def reply(facts: Mapping[str, Any]) -> str:
    """The reply for one turn. `facts` is what `response.facts` gathers; wording only, no choice
    of outcome: that was made in step 4."""
    return _Speaker(facts).say()


class _Speaker:
    """The templates of one language over the facts of one turn."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.f = facts
        self.lang = facts["language"]
        self.t = _TEXT[self.lang]

    def say(self) -> str:
        by_status: dict[str, Callable[[], str]] = {
            "PENDING_CONFIRMATION": self.pending,
            "APPROVED": lambda: self.fill("approved"),
            "DENIED": self.denied,
            "ORDER_INFO": self.order_info,
            "ORDER_LIST": self.listing,
            "POLICY_INFO": lambda: self.fill("policy", cards=self.cards()),
        }
        return by_status[self.f["decision_status"]]()

    def fill(self, key: str, **more: Any) -> str:
        values = {**self.f, **more}
        if self.lang == "es" and values.get("target_order_status"):
            values["target_order_status"] = STATUS_ES[values["target_order_status"]]
        return self.t[key].format(**values)

    def failure(self) -> str:
        values = dict(self.f)
        if self.lang == "es" and values.get("target_order_status"):
            values["target_order_status"] = STATUS_ES[values["target_order_status"]]
        return _FAIL[self.lang][self.f["failure_code"]].format(**values)

    def cards(self) -> str:
        def status(text: str) -> str:
            return STATUS_ES[text] if self.lang == "es" else text

        return "; ".join(
            self.t["card"].format(**{**card, "status": status(card["status"])})
            for card in self.f["candidate_orders"]
        )

    def pending(self) -> str:
        f = self.f
        if f["resolution_mode"] == "cancelled":
            return self.t["cancelled"]
        if f["order_id"] is None:
            return self.clarify()
        ask = (
            self.fill("ask_pass")
            if f["failure_code"] is None
            else self.fill("ask_fail", failure=self.failure())
        )
        return self.fill("stale", again=ask) if f["stale_approval"] else ask

    def clarify(self) -> str:
        f = self.f
        if f["store_down"]:
            return self.t["down"]
        cards = self.cards()
        if f["unmatched_product"]:
            key = "unmatched" if cards else "unmatched_none"
            return self.fill(key, product=f["unmatched_product"], cards=cards)
        if f["note"] == "too_long":
            return self.fill("too_long")
        if not cards:
            return self.t["no_active"]
        return self.fill(f["note"] or "which", cards=cards)

    def denied(self) -> str:
        if self.f["failure_code"] is None:
            return self.fill("denied_write")
        return self.fill("denied", failure=self.failure())

    def order_info(self) -> str:
        if not self.f["order_found"]:
            code = self.f["failure_code"] or policy.NOT_FOUND
            return _FAIL[self.lang][code].format(**self.f)
        age = self.fill("age") if self.f["target_order_age_days"] is not None else ""
        return self.fill("order_info", age=age)

    def listing(self) -> str:
        if self.f["store_down"]:
            return self.t["down"]
        status = self.f["status_filter"]
        shown = STATUS_ES.get(status, status) if self.lang == "es" else status
        label = self.t["filter"].format(status=shown) if status else ""
        return self.fill(
            "list" if self.f["candidate_orders"] else "list_none", filter=label, cards=self.cards()
        )
