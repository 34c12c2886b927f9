"""The refund panel: persona switcher, chat, five live steps, orders, Confirm and Decline.

It shows state and decides nothing: a message goes to the agent, what comes back is drawn. Every
button has a twin to be called from code, which is what the notebooks' tests do.

Callbacks never block and never print: a print in a callback is invisible, and an exception in a
task is lost, so both end in the panel's status line.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from lab_helpers.agents.refund.intent import active
from lab_helpers.agents.trace import StepEvent
from lab_helpers.errors import LabError
from lab_helpers.stores.personas import all_personas
from lab_helpers.stores.personas import persona as find_persona
from lab_helpers.ui import chat as view
from lab_helpers.ui.chat import Conversation
from lab_helpers.ui.progress import widget_view
from lab_helpers.ui.style import esc, page, style
from lab_helpers.ui.tables import TABLE, orders_table, table_html
from lab_helpers.ui.words import counted, order_name

if TYPE_CHECKING:
    from lab_helpers.agents.refund.agent import TurnResult
    from lab_helpers.lab import Lab
    from lab_helpers.stores.operations import Order

Turn = asyncio.Task["TurnResult | None"]
Work = Coroutine[Any, Any, "TurnResult | None"]

_LAST_LETTERS_S = 0.12
_BUSY = "Still working on the last message; nothing was sent twice."
_NOTHING_PENDING = "Nothing waits for confirmation. Ask for a refund first."
_NOTHING_SAID = "Type a message first, or press the button of an order."


class RefundPanel:
    """The panel of one lab. `task` is the turn that runs or ran last: `await panel.task`."""

    def __init__(self, lab: Lab, persona: str = "A") -> None:
        self._lab = lab
        self._agent = lab.refund  # built now, so that the first click does not wait for it
        self._chat = Conversation(find_persona(persona))
        self._orders = {
            key: lab.operations.orders(who.user_id) for key, who in all_personas().items()
        }
        # Held while something runs. A lock, because a callback may come from another thread.
        self._busy = threading.Lock()
        self._relabelling = False
        self.task: Turn | None = None
        self._reading: Turn | None = None  # a task that nobody holds may vanish
        self._build()
        self._listen()
        self._status("Ready.")
        self._draw()

    # -- to be called from code, and by the buttons -------------------------------------------

    def say(self, text: str) -> Turn | None:
        """Send a message as the chosen customer; `await` it for the TurnResult.

        While another turn runs nothing is sent and that turn is returned. Where no event loop
        runs, the turn is finished before this returns None.
        """
        if not text.strip():
            return self._start(self._refuse(_NOTHING_SAID))
        return self._start(self._turn(text.strip()))

    def confirm(self) -> Turn | None:
        """What the Confirm button does: approve exactly what the panel shows as waiting."""
        pending = self._chat.pending
        if pending is None:
            return self._start(self._refuse(_NOTHING_PENDING))
        text = view.CONFIRM.get(pending.language, view.CONFIRM["en"])
        # The number binds the approval to the order on the screen.
        text = text.format(order=order_name(pending.order_id))
        return self._start(self._turn(text, confirmed=True))

    def decline(self) -> Turn | None:
        """What the Decline button does."""
        pending = self._chat.pending
        if pending is None:
            return self._start(self._refuse(_NOTHING_PENDING))
        return self._start(self._turn(view.DECLINE.get(pending.language, view.DECLINE["en"])))

    def reset_orders(self) -> Turn | None:
        """What the Reset orders button does: undo every refund and start the chat anew."""
        return self._start(self._reset())

    def refresh(self) -> Turn | None:
        """Read the customer's orders again, for changes made outside the panel."""
        return _run(self._told(self._read_orders()))

    @property
    def last(self) -> TurnResult | None:
        """The last turn's result, for example for `lab.lineage(panel.last.trace_id)`."""
        return self._chat.last

    @property
    def status(self) -> str:
        """The status line as text."""
        return self._status_text

    def transcript(self) -> str:
        """The chat and its decisions as text, without ids and times."""
        return view.transcript(self._chat)

    def snapshot(self) -> str:
        """The panel as plain HTML without ids and times: for saved notebooks and for print."""
        who = self._chat.persona
        parts = (
            view.log_html(self._chat, live=False),
            view.steps_html(self._chat, live=False) if self._chat.messages else "",
            view.decision_html(self._chat, live=False),
            view.question_html(self._chat, self._orders[who.key]),
            table_html(orders_table(who, self._orders[who.key])),
        )
        body = "".join(f"<div>{part}</div>" for part in parts if part)
        return page(f'<div class="soa-panel soa-snap">{body}</div>', TABLE, view.PANEL)

    def __repr__(self) -> str:
        return "RefundPanel: run this cell to talk to the agent"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "text/plain": repr(self),
            "text/html": self.snapshot(),
            "application/vnd.jupyter.widget-view+json": widget_view(self.widget),
        }

    # -- one thing at a time ------------------------------------------------------------------

    def _start(self, work: Work) -> Turn | None:
        if not self._busy.acquire(blocking=False):
            work.close()
            self._status(_BUSY)
            return self.task
        self.send.disabled = True
        self.task = _run(self._alone(work))
        return self.task

    async def _alone(self, work: Work) -> TurnResult | None:
        try:
            return await self._told(work)
        finally:
            self._chat.running = False
            self.send.disabled = False
            self._busy.release()
            self._draw()

    async def _told(self, work: Work) -> TurnResult | None:
        try:
            return await work
        except LabError as error:
            self._status(" ".join(filter(None, (error.what, error.why, error.next))), bad=True)
        except Exception as error:
            self._status(
                f"The panel could not finish: {type(error).__name__}: {error}."
                " The orders below are what the store holds; try again, or press Reset orders.",
                bad=True,
            )
        return None

    async def _refuse(self, why: str) -> None:
        self._status(why)

    async def _turn(self, text: str, *, confirmed: bool = False) -> TurnResult | None:
        chat = self._chat
        chat.begin(text)
        self._status("The agent is working…")
        self._draw()
        try:
            stream = self._agent.stream(
                text, chat.persona.key, confirmed=confirmed, session=chat.session
            )
            async for item in stream:
                if isinstance(item, StepEvent):
                    chat.step(item)
                else:
                    chat.answer(item)
                self._draw()
        finally:
            chat.running = False
        await self._read_orders()
        if chat is self._chat:
            self._status(_afterwards(chat.last))
        return chat.last

    async def _read_orders(self) -> None:
        who = self._chat.persona
        self._orders[who.key] = await asyncio.to_thread(self._lab.operations.orders, who.user_id)
        self._draw()

    async def _reset(self) -> None:
        self._status("Putting the orders back…")
        result = await asyncio.to_thread(self._lab.reset_orders)
        self._chat = Conversation(self._chat.persona)
        await self._read_orders()
        self._status(f"{counted(result.orders_put_back, 'order')} put back; the trail stays.")

    def _switch(self, change: dict[str, Any]) -> None:
        if self._relabelling:
            return
        # A new conversation with a session of its own: nothing pending survives.
        self._chat = Conversation(find_persona(change["new"]))
        self._status(f"You now speak as {self._chat.persona.name}; the chat starts anew.")
        self._draw()
        self._reading = self.refresh()

    # -- drawing ------------------------------------------------------------------------------

    def _status(self, text: str, bad: bool = False) -> None:
        self._status_text = text
        tone = " soa-bad" if bad else ""
        self._line.value = _part(f'<p class="soa-status{tone}" role="status">{esc(text)}</p>')

    def _draw(self) -> None:
        chat, orders = self._chat, self._orders[self._chat.persona.key]
        self._log.value = _part(view.log_html(chat))
        self._steps.value = _part(view.steps_html(chat))
        self._decision.value = _part(view.decision_html(chat))
        self._question.value = _part(view.question_html(chat, orders))
        self._ask.layout.display = "flex" if chat.pending else "none"
        self._relabel()
        self._list(orders)

    def _relabel(self) -> None:
        labels = tuple(
            (
                f"{who.name}, {who.tier}, {counted(len(active(self._orders[key])), 'open order')}",
                key,
            )
            for key, who in all_personas().items()
        )
        if self.persona.options == labels:
            return
        # New options move the choice to the first one for a moment; that is no switch.
        self._relabelling = True
        try:
            with self.persona.hold_sync():
                self.persona.options = labels
                self.persona.value = self._chat.persona.key
        finally:
            self._relabelling = False

    def _label(self, key: str) -> str:
        who = find_persona(key)
        return f"{who.name}, {who.tier}, {counted(len(active(self._orders[key])), 'open order')}"

    def _list(self, orders: list[Order]) -> None:
        if [order.order_id for order in orders] != list(self._rows):
            self._rows = {order.order_id: self._row(order.order_id) for order in orders}
            self._order_list.children = tuple(row for row, _ in self._rows.values())
        for order in orders:
            self._rows[order.order_id][1].value = _part(view.order_html(order))

    def _row(self, order_id: int) -> tuple[w.HBox, w.HTML]:
        line = w.HTML(layout=w.Layout(flex="1 1 280px", min_width="0"))
        ask = w.Button(
            description=f"Refund {order_name(order_id)}",
            tooltip=f"Say: {_request(order_id)}",
            layout=w.Layout(width="164px", flex="0 0 auto"),
        )
        ask.on_click(lambda _: self.say(_request(order_id)))
        row = _across(line, ask)
        row.add_class("soa-row")
        return row, line

    def _build(self) -> None:
        beside = {"description_width": "initial"}
        self.persona = w.RadioButtons(
            options=[(who.name, key) for key, who in all_personas().items()],
            value=self._chat.persona.key,
            description="Speak as",
            style=beside,
            layout=w.Layout(width="auto"),
        )
        self.box = w.Text(
            description="Message",
            placeholder="Type a message and press Enter",
            style=beside,
            layout=w.Layout(flex="1 1 auto", width="auto", min_width="0"),
        )
        self.send = _button("Send", "Send the message to the refund agent", "84px", "primary")
        self.reset = _button("Reset orders", "Undo every refund; the trail stays", "116px")
        self.confirm_button = _button(
            "Confirm", "Approve what is shown as waiting", "90px", "primary"
        )
        self.decline_button = _button("Decline", "Leave everything as it is", "90px")
        self._line, self._log, self._steps, self._decision = (w.HTML() for _ in range(4))
        self._question = w.HTML(layout=w.Layout(flex="1 1 160px"))
        self._rows: dict[int, tuple[w.HBox, w.HTML]] = {}
        self._order_list = w.VBox(layout=w.Layout(overflow="visible"))
        answers = w.HBox([self.confirm_button, self.decline_button])
        answers.layout.flex = "0 0 auto"
        self._ask = _across(self._question, answers)
        self._ask.add_class("soa-ask")
        talk = w.VBox(
            [self._log, self._ask, w.HBox([self.box, self.send])],
            layout=w.Layout(flex="3 1 330px", min_width="0", overflow="visible", grid_gap="6px"),
        )
        did = w.VBox(
            [self._steps, self._decision],
            layout=w.Layout(flex="2 1 270px", min_width="0", overflow="visible"),
        )
        body = _across(talk, did)
        body.layout.align_items, body.layout.grid_gap = "flex-start", "12px 20px"
        head = _across(self.persona, self.reset)
        head.layout.justify_content = "space-between"
        heading = w.HTML(_part("<h4>Orders as Spanner holds them, with days since delivery</h4>"))
        self.widget = w.VBox(
            [
                w.HTML(style(TABLE, view.PANEL)),
                head,
                self._line,
                body,
                heading,
                self._order_list,
            ],
            layout=w.Layout(max_width="980px", overflow="visible", grid_gap="4px"),
        )
        for name in ("soa", "soa-panel"):
            self.widget.add_class(name)

    def _listen(self) -> None:
        self.send.on_click(lambda _: self._start(self._from_box()))
        # Not `observe`: that fires when the box loses focus, and `on_submit` warns.
        self.box.on_msg(
            lambda _, content, buffers: (
                content.get("event") == "submit" and self._start(self._from_box())
            )
        )
        self.reset.on_click(lambda _: self.reset_orders())
        self.confirm_button.on_click(lambda _: self._pressed(self.confirm))
        self.decline_button.on_click(lambda _: self._pressed(self.decline))
        self.persona.observe(self._switch, "value")

    async def _from_box(self) -> TurnResult | None:
        text = await self._typed()
        if not text:
            return await self._refuse(_NOTHING_SAID)
        self.box.value = ""
        return await self._turn(text)

    async def _typed(self) -> str:
        # A front end sends Enter at once, but the last letters only when the kernel has taken the
        # ones before: wait until no more come.
        text = None
        while text != self.box.value:
            text = self.box.value
            await asyncio.sleep(_LAST_LETTERS_S)
        return text.strip()

    def _pressed(self, what: Any) -> None:
        what()
        # The pressed button is about to hide; the keyboard goes on in the message box.
        if hasattr(self.box, "focus"):  # not in ipywidgets 7
            self.box.focus()


def _run(work: Work) -> Turn | None:
    """Start `work` on the loop of whoever calls: a callback may run on another one than a cell.

    Where no loop runs, `work` is finished first and there is no task.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return None
    return asyncio.ensure_future(work)


def _part(body: str) -> str:
    return f'<div class="soa-part">{body}</div>'


def _button(text: str, tooltip: str, width: str, kind: str = "") -> w.Button:
    layout = w.Layout(width=width, flex="0 0 auto")
    return w.Button(description=text, tooltip=tooltip, button_style=kind, layout=layout)


def _across(*children: w.Widget) -> w.HBox:
    """Children side by side, wrapping where the window is narrow."""
    return w.HBox(
        children,
        layout=w.Layout(flex_flow="row wrap", align_items="center", overflow="visible"),
    )


def _request(order_id: int) -> str:
    return f"Please refund my order {order_name(order_id)}."


def _afterwards(result: TurnResult | None) -> str:
    if result is not None and result.trail != "delivered":
        return (
            "Ready. BigQuery did not take this turn's trail; it is kept, and lab.reconcile()"
            " delivers it."
        )
    return "Ready."
