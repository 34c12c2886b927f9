"""The widgets of the refund panel: what is where, and drawing a conversation into them.

Plain ipywidgets only, of those that version 7 and 8 both have. Everything that is only read is an
HTML widget with escaped, semantic HTML; everything that is pressed has a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import ipywidgets as w

from lab_helpers.agents.refund.intent import active
from lab_helpers.agents.shown import counted
from lab_helpers.stores.personas import all_personas
from lab_helpers.ui import chat as view
from lab_helpers.ui.chat import Conversation
from lab_helpers.ui.style import esc, style
from lab_helpers.ui.words import order_name

if TYPE_CHECKING:
    from lab_helpers.stores.operations import Order

Orders = Mapping[str, Sequence["Order"]]
_BESIDE = {"description_width": "initial"}


class PanelWidgets:
    """The controls by name, `root` to be shown, and `draw`. `ask` is called with an order id."""

    def __init__(self, persona: str, ask: Callable[[int], object]) -> None:
        self._ask = ask
        self.relabelling = False
        self.persona = w.RadioButtons(
            options=[(who.name, key) for key, who in all_personas().items()],
            value=persona,
            description="Speak as",
            style=_BESIDE,
            layout=w.Layout(width="auto"),
        )
        self.box = w.Text(
            description="Message",
            placeholder="Type, then press Enter",
            style=_BESIDE,
            layout=w.Layout(flex="1 1 auto", width="auto", min_width="0"),
        )
        self.send = _button("Send", "Send the message to the refund agent", "84px", "primary")
        self.reset = _button("Reset orders", "Undo every refund; the trail stays", "116px")
        self.confirm = _button("Confirm", "Approve what is shown as waiting", "90px", "primary")
        self.decline = _button("Decline", "Leave everything as it is", "90px")
        self._line, self._log, self._steps, self._decision = (w.HTML() for _ in range(4))
        self._question = w.HTML(layout=w.Layout(flex="1 1 160px"))
        self._rows: dict[int, tuple[w.HBox, w.HTML]] = {}
        self._order_list = _down("0 0 auto")
        self._answer = self._question_bar()
        self.root = self._arranged()

    # -- what is where ------------------------------------------------------------------------

    def _question_bar(self) -> w.HBox:
        answers = w.HBox([self.confirm, self.decline], layout=w.Layout(flex="0 0 auto"))
        bar = _across(self._question, answers)
        bar.add_class("soa-ask")
        return bar

    def _arranged(self) -> w.VBox:
        head = _across(self.persona, self.reset)
        head.layout.justify_content = "space-between"
        talk = _down("3 1 330px", self._log, self._answer, w.HBox([self.box, self.send]))
        did = _down("2 1 270px", self._steps, self._decision)
        body = _across(talk, did)
        body.layout.align_items, body.layout.grid_gap = "flex-start", "12px 20px"
        heading = w.HTML(_part("<h4>Orders as Spanner holds them, with days since delivery</h4>"))
        root = _down(
            "0 1 auto",
            *(w.HTML(style(view.PANEL)), head, self._line, body, heading, self._order_list),
        )
        root.layout.max_width = "980px"
        for name in ("soa", "soa-panel"):
            root.add_class(name)
        return root

    # -- drawing ------------------------------------------------------------------------------

    def status(self, text: str, bad: bool) -> None:
        """Write the status line."""
        tone = " soa-bad" if bad else ""
        self._line.value = _part(f'<p class="soa-status{tone}" role="status">{esc(text)}</p>')

    def draw(self, chat: Conversation, orders: Orders) -> None:
        """Show a conversation, and every customer's orders as far as the panel shows them."""
        own = orders[chat.persona.key]
        self._log.value = _part(view.log_html(chat))
        self._steps.value = _part(view.steps_html(chat))
        self._decision.value = _part(view.decision_html(chat))
        self._question.value = _part(view.question_html(chat, own))
        self._answer.layout.display = "flex" if chat.pending else "none"
        self._label_personas(chat.persona.key, orders)
        self._list(own)

    def _label_personas(self, chosen: str, orders: Orders) -> None:
        labels = tuple((_label(key, orders[key]), key) for key in all_personas())
        if self.persona.options == labels:
            return
        # New options move the choice to the first one for a moment; that is no switch.
        self.relabelling = True
        try:
            with self.persona.hold_sync():
                self.persona.options = labels
                self.persona.value = chosen
        finally:
            self.relabelling = False

    def _list(self, orders: Sequence[Order]) -> None:
        # The same orders keep their buttons, and with them the keyboard's place.
        if [order.order_id for order in orders] != list(self._rows):
            self._rows = {order.order_id: self._row(order.order_id) for order in orders}
            self._order_list.children = tuple(row for row, _ in self._rows.values())
        for order in orders:
            self._rows[order.order_id][1].value = _part(view.order_html(order))

    def _row(self, order_id: int) -> tuple[w.HBox, w.HTML]:
        line = w.HTML(layout=w.Layout(flex="1 1 280px", min_width="0"))
        name = order_name(order_id)
        ask = _button(f"Refund {name}", f"Ask for a refund of {name}", "164px")
        ask.on_click(lambda _: self._ask(order_id))
        row = _across(line, ask)
        row.add_class("soa-row")
        return row, line


def _label(key: str, orders: Sequence[Order]) -> str:
    who = all_personas()[key]
    return f"{who.name}, {who.tier}, {counted(len(active(orders)), 'open order')}"


def _part(body: str) -> str:
    return f'<div class="soa-part">{body}</div>'


def _button(text: str, tooltip: str, width: str, kind: str = "") -> w.Button:
    layout = w.Layout(width=width, flex="0 0 auto")
    return w.Button(description=text, tooltip=tooltip, button_style=kind, layout=layout)


def _across(*children: w.Widget) -> w.HBox:
    """Children side by side, wrapping where the window is narrow."""
    layout = w.Layout(flex_flow="row wrap", align_items="center", overflow="visible")
    return w.HBox(children, layout=layout)


def _down(flex: str, *children: w.Widget) -> w.VBox:
    """Children below each other, taking the share of the width that `flex` says."""
    layout = w.Layout(flex=flex, min_width="0", overflow="visible", grid_gap="6px")
    return w.VBox(children, layout=layout)
