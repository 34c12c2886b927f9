"""Where students attack the agent: every attempt is a real turn, the scoreboard asks the stores."""

from __future__ import annotations

import asyncio
import collections
import time
from typing import TYPE_CHECKING, Any

from lab_helpers.agents.refund.agent import RefundAgent
from lab_helpers.agents.refund.result import TurnResult
from lab_helpers.faults.judge import judge
from lab_helpers.ui.tables import Table

if TYPE_CHECKING:
    from lab_helpers.lab import Lab

LONGEST_SHOWN = 48


class Arena:
    """Attempts on one agent: the lab's own, or a copy with something taken out."""

    def __init__(self, lab: Lab, agent: RefundAgent | None = None) -> None:
        self._lab, self._agent = lab, agent or lab.refund
        self._attempts: dict[str, str] = {}

    async def attack(
        self, message: str, persona: str = "A", *, then: str | None = None, press: bool = False
    ) -> TurnResult:
        """Say something as this customer, in a conversation of its own.

        `then` is a second message; `press=True` presses the Confirm button for what was shown.
        Returns the last turn. Every turn is an attempt on the scoreboard.
        """
        session = f"arena-{id(self)}-{len(self._attempts)}"
        result = await self._turn(message, persona, session)
        if then is not None:
            result = await self._turn(then, persona, session)
        if press:
            result = await self._turn("(Confirm)", persona, session, confirmed=True)
        return result

    async def _turn(self, text: str, persona: str, session: str, **how: Any) -> TurnResult:
        said = "" if how else text
        result = await self._agent.turn(said, persona, session=session, **how)
        self._attempts[result.trace_id] = text
        return result

    def scoreboard(self) -> Table:
        """Attempts, held and breached, as Spanner and BigQuery hold them now."""
        judged = judge(self._lab.operations, self._lab.trail, list(self._attempts))
        breached = sum(map(bool, judged.values()))
        row = {"attempts": len(judged), "held": len(judged) - breached, "breached": breached}
        return Table([row], caption="Scoreboard, read from the stores")

    def attempts(self) -> Table:
        """Every attempt with what the stores say of it."""
        judged = judge(self._lab.operations, self._lab.trail, list(self._attempts))
        rows = [
            {
                "said": _short(self._attempts[trace_id]),
                "boundary": "; ".join(crossed) or "held",
            }
            for trace_id, crossed in judged.items()
        ]
        return Table(rows, caption="Attempts", empty="Nobody has attacked yet.")


class Race:
    """Many people press Confirm for one order at the same moment. `await race.run()`, or press."""

    def __init__(self, lab: Lab, order_id: int, persona: str = "A", people: int = 50) -> None:
        self._lab, self.order_id, self.persona, self.people = lab, order_id, persona, people
        self.seconds = 0.0
        self._widget: Any = None
        self.task: asyncio.Task[Table] | None = None

    async def run(self) -> Table:
        """Everyone asks, then everyone confirms at once. How the confirmations ended, counted."""
        agent, names = self._lab.refund, [f"race-{n}" for n in range(self.people)]
        agent.forget()
        for name in names:
            await agent.turn(f"Refund ORD-{self.order_id}", self.persona, session=name)
        since = time.perf_counter()
        ends = await asyncio.gather(
            *(agent.turn("", self.persona, confirmed=True, session=name) for name in names)
        )
        self.seconds = time.perf_counter() - since
        count = collections.Counter((r.decision_status, r.failure_code) for r in ends)
        rows = [
            {"decision": status, "because": code, "people": n}
            for (status, code), n in sorted(count.items(), key=str)
        ]
        return Table(rows, caption=f"{self.people} people confirmed ORD-{self.order_id} at once")

    def __repr__(self) -> str:
        return f"[{self.people} people confirm ORD-{self.order_id}] (button)"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from lab_helpers.ui.progress import widget_view

        view = widget_view(self._widget or self._built())
        return {"text/plain": repr(self), "application/vnd.jupyter.widget-view+json": view}

    def _built(self) -> Any:
        import ipywidgets as w

        button = w.Button(
            description=f"{self.people} people confirm",
            tooltip=f"Everyone confirms ORD-{self.order_id} at once",
            button_style="primary",
            layout=w.Layout(width="auto"),
        )
        shown = w.HTML()

        async def pressed() -> Table:
            button.disabled, shown.value = True, "…"
            try:
                table = await self.run()
                shown.value = f"{table._repr_html_()}<p>{self.seconds:.1f} s</p>"
                return table
            except Exception as error:
                shown.value = f"The race could not be run: {type(error).__name__}."
                raise
            finally:
                button.disabled = False

        def press(_: Any) -> None:
            self.task = asyncio.ensure_future(pressed())

        button.on_click(press)
        self._widget = w.VBox([button, shown])
        return self._widget


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
