"""What the parts of one running turn share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lab_helpers.agents.concierge.classifier import Intent
from lab_helpers.agents.concierge.sessions import Identity, Message
from lab_helpers.agents.concierge.tools import Tools
from lab_helpers.agents.trace import Step, Trace
from lab_helpers.stores.coffee import Product
from lab_helpers.stores.operations import Order


@dataclass
class Turn:
    """One message on its way to an answer."""

    message: str
    words: str
    language: str
    tone: str
    customer: int | None
    who: Identity
    tools: Tools
    # The orders of a customer: the refund agent's view, handed in.
    orders: Callable[[int], list[Order]]
    trace: Trace
    # The last lines of the conversation, for a model that answers in context.
    before: list[Message] = field(default_factory=list)
    intent: Intent | None = None
    answer: str = ""
    spoke: str = "template"
    products: list[Product] = field(default_factory=list)
    mode: str = ""
    # Names of the products last spoken of, for "is that in stock?".
    remembered: list[str] = field(default_factory=list)
    from_cache: bool = False
    # The row for the response cache, where the answer may be told again.
    response: dict[str, Any] | None = None
    phases: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """A step of the turn that is no ADK node: timed, traced, its error noted."""
        step, since = self.trace.open(name), time.perf_counter()
        try:
            yield step
        except BaseException as error:
            step.error = type(error).__name__
            raise
        finally:
            step.latency_ms = 1e3 * (time.perf_counter() - since)
            self.phases[name] = step.latency_ms
            self.trace.close(step)
