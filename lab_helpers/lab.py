"""The Lab: opens the clients once and hands out the parts. A notebook needs nothing else."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab_helpers import config as configuration
from lab_helpers.config import LabConfig
from lab_helpers.errors import LabError, scrubbed

if TYPE_CHECKING:
    from lab_helpers.agents.concierge.agent import Concierge
    from lab_helpers.agents.gate.agent import GateAgent
    from lab_helpers.agents.model import Model
    from lab_helpers.agents.refund.agent import RefundAgent
    from lab_helpers.checks import CheckResult, Progress
    from lab_helpers.cloud_preflight import CloudPreflight
    from lab_helpers.faults import Faults
    from lab_helpers.preflight import Preflight
    from lab_helpers.provision.install import Provisioned
    from lab_helpers.provision.reset import ResetResult
    from lab_helpers.stores.lineage import LineageStore
    from lab_helpers.stores.operations import OperationsStore
    from lab_helpers.ui.lineage_view import LineageView, Pair
    from lab_helpers.ui.panel import RefundPanel
    from lab_helpers.ui.picture import Picture
    from lab_helpers.ui.tables import Table
    from lab_helpers.ui.turn_map import TurnMap


def _listed(error: Any) -> bool:
    # BigQuery's errors list their causes; Spanner's message is the cause.
    return bool(error.errors) and isinstance(error.errors[0], dict) and "message" in error.errors[0]


class Lab:
    """One open lab. Make it with `Lab.open()`; what is heavy is imported when it is asked for."""

    def __init__(self, config: LabConfig) -> None:
        self.config = config

    @classmethod
    def open(cls, *, quiet: bool = False, env: Mapping[str, str] = os.environ) -> Lab:
        """Start or find the backend, say where the lab runs, return the Lab.

        Orders whose ages went stale overnight are re-anchored, and that is said too. Raises
        LabError.
        """
        config = LabConfig.from_env(env)
        say: Callable[[str], None] = (lambda _: None) if quiet else print
        where = configuration.open_backend(config)
        lab = cls(config)
        say(where)
        if lab.is_provisioned():
            from lab_helpers.provision import reset

            if reset.reanchor(lab.operations):
                say("The demo orders were from an earlier day; their ages count from now again.")
        return lab

    # -- parts --------------------------------------------------------------------------------

    @functools.cached_property
    def spanner(self) -> Any:
        return configuration.spanner_client(self.config)

    @functools.cached_property
    def bigquery(self) -> Any:
        return configuration.bigquery_client(self.config)

    @functools.cached_property
    def operations(self) -> OperationsStore:
        from lab_helpers.stores.operations import OperationsStore
        from lab_helpers.stores.outage import bounded

        instance = self.spanner.instance(self.config.instance)
        database = bounded(instance.database(self.config.database))
        plain = None
        if self.config.emulator:
            from lab_helpers.plain_sql import of_operations as plain
        return OperationsStore(database, configuration.revive(self.config), plain)

    @functools.cached_property
    def trail(self) -> LineageStore:
        from lab_helpers.stores.lineage import LineageStore

        revive = configuration.revive(self.config)
        if not self.config.rows_settle:
            return LineageStore(self.bigquery, self.config.dataset, revive=revive)
        from lab_helpers.plain_sql import of_lineage

        store = LineageStore(self.bigquery, self.config.dataset, revive=revive, plain=of_lineage)
        reset_at = self.operations.state("reset_at") if self.is_provisioned() else None
        store.since = dt.datetime.fromisoformat(reset_at) if reset_at else None
        return store

    @functools.cached_property
    def refund(self) -> RefundAgent:
        """The refund agent: `await lab.refund.turn(...)`, `lab.refund.stream(...)`."""
        self._need_provisioned()
        from lab_helpers.agents.refund.agent import RefundAgent
        from lab_helpers.stores.catalog import KnowledgeCatalog

        catalog = KnowledgeCatalog(configuration.catalog_lookup(self.config))
        return RefundAgent(self.config, self.operations, self.trail, catalog, self.model)

    @functools.cached_property
    def model(self) -> Model:
        """What calls Gemini; without a project it calls nothing."""
        from lab_helpers.agents.model import Model

        return Model(self.config)

    @functools.cached_property
    def faults(self) -> Faults:
        """The switchboard: `with lab.faults.bigquery("fails twice"): ...`. Sandbox only."""
        self._need_provisioned()
        from lab_helpers.faults import Faults

        return Faults(self)

    @functools.cached_property
    def gate(self) -> GateAgent:
        """The fail-closed gate: `await lab.gate.run(seed=1)`, `lab.gate.verify()`."""
        self._need_provisioned()
        if self.operations.state("ddl-gate") is None:
            self.provision(progress=None)  # a lab set up before the gate was part of it
        from lab_helpers.agents.gate.agent import GateAgent

        return GateAgent(self.config, self.operations, self.trail)

    @functools.cached_property
    def concierge(self) -> Concierge:
        """The concierge: `await lab.concierge.ask(...)`, `.stream(...)`, `.history(...)`."""
        self._need_provisioned()
        from lab_helpers.agents.concierge.agent import Concierge
        from lab_helpers.stores.coffee import CoffeeStore

        if self.operations.state("coffee") is None:
            self.provision(progress=None)  # the stores are from before the coffee shop
        return Concierge(
            self.config,
            CoffeeStore(self.operations.database),
            self.operations.orders,
            self.operations,
            self.trail,
        )

    # -- setting up and putting back ----------------------------------------------------------

    def provision(self, scale: int = 1, progress: Any = True) -> Provisioned:
        """Create both stores where missing, with a progress bar. Again, it changes nothing.

        In the cloud nothing is created before the project's pre-flight is green.
        """
        found = self._require_project() if self.config.backend == "cloud" else None
        from lab_helpers.provision.install import provision
        from lab_helpers.ui.progress import progress_bar

        tell = progress_bar("Provisioning") if progress is True else (progress or None)
        made = provision(self.config, self.spanner, self.bigquery, scale=scale, progress=tell)
        self.__dict__["_provisioned"] = True
        self._note_quota(found)
        return made

    def _require_project(self) -> CloudPreflight | None:
        from lab_helpers.cloud_preflight import Asker, account_session, require

        asker = Asker(account_session())
        return None if self.is_provisioned() else require(self.config, asker)

    def _note_quota(self, found: CloudPreflight | None) -> None:
        """Keep the model's quota, for every kernel that opens these stores; "" where none is told.

        A note and no more: a store that takes none must not hide what the pre-flight found.
        """
        with contextlib.suppress(Exception):
            if found is not None and self.is_provisioned():
                quota = found.model_calls_a_minute
                self.operations.remember(self._quota_name, "" if quota is None else str(quota))
                self.__dict__.pop("model_calls_a_minute", None)

    @property
    def _quota_name(self) -> str:
        return f"calls a minute: {self.config.model}"

    @functools.cached_property
    def model_calls_a_minute(self) -> int | None:
        """The model's quota as a pre-flight read it last; None where none did."""
        told = self.operations.state(self._quota_name)
        return int(told) if told else None

    def import_thelook(self, customers: int = 2_000) -> bool:
        """Copy customers and orders of the public thelook store into Spanner, beside the lab's.

        False where they are there already. Raises LabError in the sandbox, which has no such
        tables.
        """
        self._need_provisioned()
        if self.config.backend != "cloud":
            raise LabError(
                "The public thelook tables are not in the sandbox.",
                "They are read from BigQuery with a cloud project.",
                "Set LAB_PROJECT, or use `lab.provision(scale=...)` for a larger generated store.",
            )
        from lab_helpers.provision import thelook

        return thelook.bring(self.operations.database, self.bigquery, customers=customers)

    def ready(self) -> None:
        """For a notebook's setup cell: stores in place, demo orders as on day one, one line."""
        self.provision()
        self.reset_orders()
        print("Stores are ready; the demo orders are as on the first day.")

    def is_provisioned(self) -> bool:
        """True when the stores hold the lab. Raises LabError where Spanner does not answer."""
        if self.__dict__.get("_provisioned"):
            return True
        from google.api_core.exceptions import (
            FailedPrecondition,
            GoogleAPIError,
            InvalidArgument,
            NotFound,
        )

        try:
            ready = self.operations.state("scale") is not None
        except (NotFound, InvalidArgument, FailedPrecondition):
            return False
        except GoogleAPIError as error:
            raise LabError(
                "Spanner does not answer.",
                f"It said {type(error).__name__}; whether the lab is set up is not known.",
                "Run the setup cell again; `python -m lab_helpers doctor` says what is wrong.",
            ) from error
        self.__dict__["_provisioned"] = ready
        return ready

    def _need_provisioned(self) -> None:
        if not self.is_provisioned():
            raise LabError(
                "The stores are not set up yet.",
                "There is no lab database to read.",
                "Run `lab.provision()` first (notebook 01 explains it).",
            )

    def reset_orders(self) -> ResetResult:
        """Undo every refund; the trail stays."""
        self._need_provisioned()
        from lab_helpers.provision import reset

        result = reset.reset_orders(self.operations)
        self.refund.forget()
        return result

    def reset_all(self) -> ResetResult:
        """Undo every refund and empty the trail."""
        self._need_provisioned()
        from lab_helpers.provision import reset
        from lab_helpers.stores.journal import journal

        result = reset.reset_all(self.operations, self.trail, settled_only=self.config.rows_settle)
        self.refund.forget()
        with journal(self.config.home).inherited():
            pass  # what dead kernels still owed belongs to the trail that was emptied
        return result

    def reconcile(self) -> dict[str, int]:
        """Deliver trails that a crash or an outage left: {"delivered": n, "pending": m}."""
        return self.refund.reconcile()

    def cleanup(self, *, confirm: bool = False) -> Table:
        """List what the lab made; with `confirm=True` remove exactly that."""
        from lab_helpers.provision.cleanup import cleanup
        from lab_helpers.ui.tables import Table

        cloud = self.config.backend == "cloud"
        catalog = (configuration.catalog_client(), configuration.aspect_client()) if cloud else ()
        rows = cleanup(self.config, self.spanner, self.bigquery, *catalog, confirm=confirm)
        if confirm:
            for name in ("operations", "refund", "gate", "concierge", "trail", "_provisioned"):
                self.__dict__.pop(name, None)
        return Table(rows, caption="Clean-up", empty="There is nothing of the lab to remove.")

    # -- looking ------------------------------------------------------------------------------

    def orders(self, persona: str) -> Table:
        """The persona's orders as the store holds them, newest first."""
        self._need_provisioned()
        from lab_helpers.stores.personas import persona as find
        from lab_helpers.ui.tables import orders_table

        who = find(persona)
        return orders_table(who, self.operations.orders(who.user_id))

    def query(self, name: str, **params: Any) -> Table:
        """Rows of data/gql/operations/<name>.gql in Spanner, or data/gql/lineage/<name>.gql."""
        self._need_provisioned()
        from lab_helpers.ui.tables import query_text

        query = query_text(name, self.config.dataset)
        run = self.gql if query.room == "operations" else self.trail_gql
        return run(query.text, **params)

    def gql(self, text: str, **params: Any) -> Table:
        """Rows of your own query in Spanner. Raises LabError that says what is wrong and where."""
        return self._rows(self.operations.query, text, params)

    def trail_gql(self, text: str, **params: Any) -> Table:
        """Rows of your own query in BigQuery. Raises LabError that says what is wrong and where."""
        rows = self._rows(self.trail.query, text, params)
        if self.trail.plain_because:
            rows.caption = (
                "BigQuery did not run the graph query; the same question in plain SQL."
                f" BigQuery said: {self.trail.plain_because}"
            )
        return rows

    def _rows(self, run: Callable[..., list[dict[str, Any]]], text: str, params: Any) -> Table:
        self._need_provisioned()
        from google.api_core.exceptions import (
            BadRequest,
            NotFound,
            RetryError,
            ServiceUnavailable,
        )

        from lab_helpers.stores.outage import GIVE_UP_S
        from lab_helpers.ui.tables import Table

        try:
            return Table(run(text, params))
        except (RetryError, ServiceUnavailable, ConnectionError) as error:
            raise LabError(
                "The store did not answer; nothing was read.",
                f"{type(error).__name__} after {GIVE_UP_S:.0f} seconds.",
                "Run the setup cell again; `python -m lab_helpers doctor` says what is wrong.",
            ) from None
        except (BadRequest, NotFound) as error:
            raise LabError(
                "The query was refused; nothing was read.",
                scrubbed(
                    error.errors[0]["message"] if _listed(error) else error.message
                ).splitlines()[0],
                "Mend the query at that place and run the cell again.",
            ) from None

    def show_query(self, name: str) -> Any:
        """The text of a query file, as it runs."""
        from lab_helpers.ui.tables import query_text

        return query_text(name, self.config.dataset)

    def table_counts(self, store: str) -> Table:
        """Rows per table of "Spanner", or distinct keys per table of "BigQuery"."""
        self._need_provisioned()
        from lab_helpers.provision.store import COLUMNS
        from lab_helpers.ui.tables import Table

        counts = (
            self.trail.counts()
            if store == "BigQuery"
            else {table: self.operations.count(table) for table in COLUMNS}
        )
        rows = [{"table": table, "rows": n} for table, n in counts.items()]
        return Table(rows, caption=f"Rows per table in {store}")

    def standing(self) -> Table:
        """Refunds in Spanner, turns and approvals in BigQuery, trails still owed."""
        self._need_provisioned()
        from lab_helpers.ui.tables import Table

        approved = (
            f"SELECT COUNT(DISTINCT action_id) AS n FROM `{self.config.dataset}.agent_actions`"
            " WHERE decision_status = 'APPROVED'"
        )
        rows = [
            ("refunds in Spanner", len(self.operations.refunds())),
            ("turns in BigQuery", self.trail.counts()["agent_sessions"]),
            ("approvals in BigQuery", self.trail.query(approved)[0]["n"]),
            ("trails still owed", len(self.operations.pending_outbox())),
        ]
        named = [{"what": what, "count": n} for what, n in rows]
        return Table(named, caption="Where the lab stands")

    def policy_triples(self) -> Table:
        """What was read out of the policy document: subject, predicate, object."""
        from lab_helpers.stores import schema
        from lab_helpers.ui.tables import Table

        triples = schema.document("policies/policy_triples.json")["triples"]
        names = ("subject", "predicate", "object")
        return Table([dict(zip(names, t, strict=True)) for t in triples], caption="Policy triples")

    def order_map(self, persona: str, order_id: int) -> Picture:
        """The graph around one order, from the customer to the rule of their tier."""
        self._need_provisioned()
        from lab_helpers.stores import schema
        from lab_helpers.stores.personas import persona as find
        from lab_helpers.ui.path_view import path_view

        rows = self.operations.query(
            schema.gql("operations/refund_map"),
            {"user_id": find(persona).user_id, "target_order_id": order_id},
        )
        return path_view(row["path"] for row in rows)

    def workflow(self) -> Picture:
        """A drawing of the refund agent's five nodes, from the graph that runs."""
        from lab_helpers.ui.workflow_view import workflow_view

        return workflow_view(self.refund.workflow)

    def truth_table(
        self, ages: Sequence[int], returns: Sequence[int], tier: str = "STANDARD"
    ) -> Table:
        """What the refund rule says for each age and number of earlier returned items."""
        from lab_helpers.agents.refund.policy import truth_table
        from lab_helpers.stores.catalog import from_document
        from lab_helpers.ui.tables import Table

        rows = truth_table(self.operations.conditions()[tier], from_document(), ages, returns)
        return Table(rows, caption=f"{tier}: days since delivery across, earlier returns down")

    def lineage(self, trace_id: str) -> LineageView:
        """One turn's decision as the graph holds it: text, table and picture."""
        self._need_provisioned()
        from lab_helpers.ui.lineage_view import LineageView

        rows = self.trail.ask("trace", {"trace_id": trace_id})
        return LineageView(trace_id, rows)

    def compare(self, trace_id: str, other: str) -> Pair:
        """Two turns beside each other, as the graph holds them."""
        from lab_helpers.ui.lineage_view import side_by_side

        return side_by_side(self.lineage(trace_id), self.lineage(other))

    def turn_map(self) -> TurnMap:
        """All decisions of the trail by customer and outcome, from the graph."""
        self._need_provisioned()
        from lab_helpers.ui.turn_map import TurnMap

        return TurnMap(self.trail.ask("turn_map"))

    def graph(self, name: str = "OperationalContextGraph") -> Picture:
        """A drawing of one of the two graph schemas, with its text."""
        from lab_helpers.ui.schema_view import schema_view

        return schema_view(name, self.config.dataset)

    def panel(self, persona: str = "A") -> RefundPanel:
        """The persona switcher with chat, steps, orders and the confirm and decline buttons."""
        self._need_provisioned()
        from lab_helpers.ui.panel import RefundPanel

        return RefundPanel(self, persona)

    def check(self, task: str, answer: Any = None) -> CheckResult:
        """Check one task from what the stores hold; never raises for a task not done yet."""
        from lab_helpers.checks import check

        return check(self, task, answer)

    def progress(self) -> Progress:
        """Which checks have been done so far, in one line and then one line each."""
        from lab_helpers.checks import progress

        return progress(self)

    def preflight(self) -> Preflight:
        """Before a talk: green, or what to fix."""
        from lab_helpers.preflight import preflight

        return preflight(self)

    def cloud_preflight(self) -> CloudPreflight:
        """What the cloud project lacks, each with the command that mends it; creates nothing."""
        from lab_helpers.cloud_preflight import cloud_preflight

        if self.config.backend != "cloud":
            raise LabError(
                "There is no cloud project to look at.",
                "The lab runs on this machine: LAB_PROJECT is not set.",
                "Set LAB_PROJECT, restart the kernel and open the lab again.",
            )
        found = cloud_preflight(self.config)
        self._note_quota(found)
        return found

    def close(self) -> None:
        """Close the clients. The sandbox keeps running for other kernels."""
        concierge = self.__dict__.pop("concierge", None)
        if concierge is not None:
            concierge.close()
        for name in ("spanner", "bigquery"):
            client = self.__dict__.pop(name, None)
            if client is not None:
                client.close()
        for name in ("operations", "trail", "refund", "gate"):
            self.__dict__.pop(name, None)

    def __repr__(self) -> str:
        return f"Lab on {self.config.backend}, project {self.config.project}"
