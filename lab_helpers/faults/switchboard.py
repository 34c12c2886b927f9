"""`lab.faults`: one `with` block, one fault, at the edge of the lab and only in the sandbox."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lab_helpers import config as configuration
from lab_helpers import sandbox
from lab_helpers.errors import LabError
from lab_helpers.faults import bigquery, disk, gemini, kernel, spanner
from lab_helpers.faults.arena import Arena, Race
from lab_helpers.faults.unbound import without_tier_1
from lab_helpers.stores.outage import bounded

if TYPE_CHECKING:
    from lab_helpers.agents.refund.agent import RefundAgent
    from lab_helpers.lab import Lab

CATALOG = {
    "down": "nobody answers at its address",
    "hang": "the call is taken and never answered",
}


class Faults:
    """The switchboard of one lab. Blocks may be nested; leaving one puts its edge back.

    Every method raises LabError for a fault that does not exist, and outside the sandbox.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def names(self) -> dict[str, dict[str, str]]:
        """Every fault: edge to {name: what it does}."""
        return {
            "bigquery": {name: what for name, (what, _) in bigquery.FAULTS.items()},
            "spanner": {name: what for name, (what, _) in spanner.FAULTS.items()},
            "gemini": {name: what for name, what in gemini.FAULTS.items() if name != "ok"},
            "catalog": dict(CATALOG),
            "disk": dict(disk.FAULTS),
        }

    def __repr__(self) -> str:
        return "\n".join(
            f"lab.faults.{edge}({name!r}): {what}"
            for edge, names in self.names().items()
            for name, what in names.items()
        )

    # -- edges --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def bigquery(self, fault: str) -> Iterator[bigquery.BigQueryProxy]:
        """The trail's BigQuery behind a proxy with this fault."""
        self._known("bigquery", fault)
        store, config = self._lab.trail, self._lab.config
        with bigquery.running(self._address("BIGQUERY_EMULATOR_HOST"), fault) as proxy:
            before, store.client = store.client, configuration.bigquery_client(config, proxy.url)
            try:
                yield proxy
            finally:
                broken, store.client = store.client, before
                broken.close()

    @contextlib.contextmanager
    def spanner(
        self, fault: str, meanwhile: Callable[[], object] | None = None
    ) -> Iterator[spanner.SpannerProxy]:
        """The shop's Spanner behind a proxy with this fault.

        `meanwhile` is what happens at the moment that "order changes" names; where the fault is a
        killed store it is the killing.
        """
        self._known("spanner", fault)
        store, config = self._lab.operations, self._lab.config
        act = meanwhile or (self.kill_sandbox if fault.startswith("killed") else lambda: None)
        with spanner.running(self._address("SPANNER_EMULATOR_HOST"), fault, act) as proxy:
            client = configuration.spanner_client(config, proxy.address)
            broken = bounded(client.instance(config.instance).database(config.database))
            before, store.database = store.database, broken
            try:
                yield proxy
            finally:
                store.database = before
                client.close()

    @contextlib.contextmanager
    def gemini(
        self, fault: str = "ok", answer: gemini.Answer | None = None, timeout_ms: int | None = None
    ) -> Iterator[gemini.Gemini]:
        """A stand-in plays the model, with this fault; with "ok" it says what `answer` returns."""
        self._known("gemini", fault, "ok")
        config = self._lab.config
        with gemini.running(fault, answer) as server:
            before = self._lab.model.use(
                replace(
                    config,
                    model_endpoint=server.url,
                    model_speaks="stand-in",
                    model_timeout_ms=timeout_ms or config.model_timeout_ms,
                )
            )
            try:
                yield server
            finally:
                self._lab.model.use(before)

    @contextlib.contextmanager
    def catalog(self, fault: str) -> Iterator[None]:
        """A Knowledge Catalog that is asked, through its real client, and does not answer."""
        self._known("catalog", fault)
        catalog = self._lab.refund.catalog
        # A port that is bound and not listened on refuses; one listened on takes the call only.
        with socket.socket() as mute:
            mute.bind(("127.0.0.1", 0))
            if fault == "hang":
                mute.listen()
            address = f"127.0.0.1:{mute.getsockname()[1]}"
            before = catalog.use(configuration.catalog_lookup(self._lab.config, address))
            try:
                yield
            finally:
                catalog.use(before)

    @contextlib.contextmanager
    def disk(self, fault: str = "full") -> Iterator[None]:
        """The sandbox may not make its files any bigger, as on a full disk. Needs Linux."""
        self._known("disk", fault)
        with disk.full(self._pid()):
            yield

    # -- deaths -------------------------------------------------------------------------------

    def kill_sandbox(self) -> None:
        """End the sandbox at once, without a word. The next call that misses it starts it again."""
        self._local()
        os.kill(self._pid(), signal.SIGKILL)

    async def kill_sandbox_at(self, step: int, turn: AsyncIterator[Any]) -> Any:
        """Run a stream of the agent's and end the sandbox as this step starts; the TurnResult."""
        item = None
        async for item in turn:
            if getattr(item, "kind", "") == "start" and item.step_order == step:
                self.kill_sandbox()
        return item

    def kernel_dies(self, after: int, *messages: str, persona: str = "A") -> None:
        """Another kernel runs these turns and dies in the last one, as step `after` has ended.

        The last message is sent with the Confirm button pressed. Returns when that kernel is dead.
        """
        self._local()
        kernel.dies(self._lab.config.home, after, messages, persona)

    # -- to be attacked -----------------------------------------------------------------------

    def arena(self, agent: RefundAgent | None = None) -> Arena:
        """A place to attack the lab's agent, or another, with a scoreboard from the stores."""
        return Arena(self._lab, agent)

    def race(self, order_id: int, persona: str = "A", people: int = 50) -> Race:
        """A button, and `await race.run()`: everyone confirms one order at the same moment."""
        return Race(self._lab, order_id, persona, people)

    def without_tier_1(self) -> RefundAgent:
        """A copy of the agent that does not ask who owns an order. For the exercise only."""
        return without_tier_1(self._lab)

    # -- what all of them need ----------------------------------------------------------------

    def _known(self, edge: str, fault: str, *more: str) -> None:
        self._local()
        names = self.names()[edge]
        if fault not in (*names, *more):
            raise LabError(
                f"There is no fault {fault!r} of {edge}.",
                "Faults are a fixed list, so that what they do can be tested.",
                f"Use one of {', '.join(map(repr, (*more, *names)))}.",
            )

    def _local(self) -> None:
        if self._lab.config.backend != "sandbox":
            raise LabError(
                "Faults are injected in the local sandbox only.",
                f"This lab runs on Google Cloud, project {self._lab.config.project}.",
                "Unset LAB_PROJECT and open the lab again.",
            )

    def _address(self, variable: str) -> str:
        return sandbox.env(sandbox.ensure(self._lab.config.home).home)[variable]

    def _pid(self) -> int:
        return sandbox.ensure(self._lab.config.home).pid
