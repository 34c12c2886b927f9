"""The refund panel: persona switcher, chat, five live steps, orders, Confirm and Decline.

It shows state and decides nothing: a message goes to the agent, what comes back is drawn. Every
button has a twin to be called from code, which is what the notebooks' tests do.

Callbacks never block and never print: a print in a callback is invisible, and an exception in a
task is lost, so both end in the panel's status line.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from lab_helpers.agents.shown import counted
from lab_helpers.agents.trace import StepEvent
from lab_helpers.errors import LabError, scrubbed
from lab_helpers.stores.personas import all_personas
from lab_helpers.stores.personas import persona as find_persona
from lab_helpers.ui import chat as view
from lab_helpers.ui.chat import Conversation
from lab_helpers.ui.panel_widgets import PanelWidgets
from lab_helpers.ui.progress import widget_view
from lab_helpers.ui.style import page
from lab_helpers.ui.tables import TABLE, orders_table, table_html
from lab_helpers.ui.words import order_name

if TYPE_CHECKING:
    from lab_helpers.agents.refund.result import TurnResult
    from lab_helpers.lab import Lab

Turn = asyncio.Task["TurnResult | None"]
Work = Coroutine[Any, Any, "TurnResult | None"]

_LAST_LETTERS_S = 0.12
_BUSY = "Still working on the last message; nothing was sent twice."
_NOTHING_PENDING = "Nothing waits for confirmation. Ask for a refund first."
_NOTHING_SAID = "Type a message first, or press the button of an order."


class RefundPanel:
    """The panel of one lab.

    `task` is the turn that runs or ran last (`await panel.task`), `status` the status line's text.
    `persona`, `box`, `send`, `reset`, `confirm_button` and `decline_button` are its controls.
    """

    def __init__(self, lab: Lab, persona: str = "A") -> None:
        self._lab = lab
        self._agent = lab.refund  # built now, so that the first click does not wait for it
        self._chat = Conversation(find_persona(persona))
        self._orders = {
            key: lab.operations.orders(who.user_id) for key, who in all_personas().items()
        }
        # Held while something runs. A lock, because a callback may come from another thread.
        self._busy = threading.Lock()
        self.task: Turn | None = None
        self._reading: Turn | None = None  # a task that nobody holds may vanish
        self._widgets = PanelWidgets(
            self._chat.persona.key, lambda order_id: self.say(_request(order_id))
        )
        shown = self._widgets
        self.widget, self.persona, self.box = shown.root, shown.persona, shown.box
        self.send, self.reset = shown.send, shown.reset
        self.confirm_button, self.decline_button = shown.confirm, shown.decline
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
                f"The panel could not finish: {type(error).__name__}: {scrubbed(str(error))}."
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
        used = await asyncio.to_thread(_used, self._lab)
        if chat is self._chat:
            self._status(_afterwards(chat.last) + used)
        return chat.last

    async def _read_orders(self, *keys: str) -> None:
        for key in keys or (self._chat.persona.key,):
            user_id = find_persona(key).user_id
            self._orders[key] = await asyncio.to_thread(self._lab.operations.orders, user_id)
        self._draw()

    async def _reset(self) -> None:
        self._status("Putting the orders back…")
        result = await asyncio.to_thread(self._lab.reset_orders)
        self._chat = Conversation(self._chat.persona)
        await self._read_orders(*all_personas())
        self._status(f"{counted(result.orders_put_back, 'order')} put back; the trail stays.")

    def _switch(self, change: dict[str, Any]) -> None:
        if self._widgets.relabelling:
            return
        # A new conversation with a session of its own: nothing pending survives.
        self._chat = Conversation(find_persona(change["new"]))
        self._status(f"You now speak as {self._chat.persona.name}; the chat starts anew.")
        self._draw()
        self._reading = self.refresh()

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

    # -- drawing and listening ----------------------------------------------------------------

    def _status(self, text: str, bad: bool = False) -> None:
        self.status = text
        self._widgets.status(text, bad)

    def _draw(self) -> None:
        self._widgets.draw(self._chat, self._orders)

    def _listen(self) -> None:
        self.send.on_click(lambda _: self._start(self._from_box()))
        # Not `observe`: that fires when the box loses focus, and `on_submit` warns.
        self.box.on_msg(lambda _, content, buffers: self._entered(content))
        self.reset.on_click(lambda _: self.reset_orders())
        self.confirm_button.on_click(lambda _: self._pressed(self.confirm))
        self.decline_button.on_click(lambda _: self._pressed(self.decline))
        self.persona.observe(self._switch, "value")

    def _entered(self, content: dict[str, Any]) -> None:
        if content.get("event") == "submit":
            self._start(self._from_box())

    def _pressed(self, press: Callable[[], object]) -> None:
        press()
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


def _request(order_id: int) -> str:
    return f"Please refund my order {order_name(order_id)}."


def _used(lab: Lab) -> str:
    """How much of a model's quota per minute is used; nothing where no model is called."""
    if not lab.model.available:
        return ""
    try:
        quota = lab.model_calls_a_minute
    except Exception:  # the store is not there; the turn has said so already
        quota = None
    used = counted(lab.model.calls_last_minute, "model call")
    limit = "" if quota is None else f"; the project's quota is {quota}"
    return f" This agent made {used} in the last minute{limit}."


def _afterwards(result: TurnResult | None) -> str:
    if result is not None and result.trail != "delivered":
        return (
            "Ready. BigQuery did not take this turn's trail; it is kept, and lab.reconcile()"
            " delivers it."
        )
    return "Ready."
