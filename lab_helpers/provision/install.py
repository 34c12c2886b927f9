"""Make what the lab needs, in steps that can be run again: a step that is done does nothing."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from google.api_core.exceptions import (
    AlreadyExists,
    BadRequest,
    Forbidden,
    GoogleAPIError,
    InvalidArgument,
    NotFound,
)
from google.cloud import bigquery
from google.cloud.spanner_admin_instance_v1 import Instance as InstanceMessage
from google.cloud.spanner_v1 import KeySet

from lab_helpers.config import LabConfig, aspect_client, catalog_client
from lab_helpers.errors import scrubbed
from lab_helpers.provision import aspect, batches, coffee, glossary, store
from lab_helpers.stores import schema
from lab_helpers.stores.lineage import TABLES as LINEAGE_TABLES
from lab_helpers.stores.lineage import said_by
from lab_helpers.stores.operations import NO_GRAPHS

LABELS = {"lab": "system-of-action"}
OPERATIONS_DDL = ("operations", "operational_context_graph")
DDL_TIMEOUT_S = 600

Progress = Callable[[int, int, str], None]


_OLD_EMULATOR = "this Spanner emulator has no graphs (1.5.51 has); plain SQL gives the same rows"


class NotHere(Exception):
    """The service does not have what a step makes, and the lab goes on without it."""


@dataclass
class Provisioned:
    """What provisioning did: a line a step, and whether anything was made at all."""

    steps: list[tuple[str, str]] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return any(result == "made" for _, result in self.steps)

    def __repr__(self) -> str:
        # The same after the first run and the tenth; `changed` tells them apart.
        done = ("made", "there")
        return "\n".join(
            f"✓ {step}" if result in done else f"– {step}: {result}" for step, result in self.steps
        )


def provision(
    config: LabConfig,
    spanner_client: Any,
    bigquery_client: bigquery.Client,
    *,
    scale: int = 1,
    progress: Progress | None = None,
) -> Provisioned:
    """Create instance, database, graph, rows, dataset, tables and lineage graph where missing.

    `progress(done, total, step)` is told before each step. Safe to run again and after a kill at
    any step: no DDL is repeated when nothing changed.
    """
    instance = spanner_client.instance(config.instance)
    # A name so far; nothing is asked of the service before a step reads or writes.
    database = instance.database(config.database)
    made = Provisioned()
    steps: list[tuple[str, Callable[[], bool]]] = [
        (
            "Spanner instance, edition ENTERPRISE, 100 processing units",
            lambda: _instance(instance, config),
        ),
        ("Spanner database and tables", lambda: _database(instance, config)),
        ("OperationalContextGraph", lambda: _operational_graph(database, config)),
        ("products, distribution centres, policy", lambda: _reference(database)),
        ("demo customers and their orders", lambda: _demo(database)),
        ("the store around them", lambda: _generated(database, scale)),
        ("the coffee menu, its stores and their stock", lambda: _coffee(database)),
        ("the gate's ledger and pool", lambda: _more_tables(database, "gate")),
        ("BigQuery dataset and tables", lambda: _lineage_tables(bigquery_client, config)),
        ("ActionLineageGraph", lambda: _lineage_graph(bigquery_client, config)),
    ]
    if config.backend == "cloud":
        steps.append(("Knowledge Catalog glossary and terms", lambda: _glossary(config)))
        steps.append(("Knowledge Catalog aspect on the terms", lambda: _aspect(config)))
    for n, (label, step) in enumerate(steps):
        if progress:
            progress(n, len(steps), label)
        try:
            made.steps.append((label, "made" if step() else "there"))
        except NotHere as reason:
            made.steps.append((label, scrubbed(str(reason))))
    if progress:
        progress(len(steps), len(steps), "ready")
    return made


def _instance(instance: Any, config: LabConfig) -> bool:
    if instance.exists():
        return False
    client = instance._client
    # The admin API itself, because Instance.create() cannot name an edition (graphs need one).
    message = InstanceMessage(
        name=instance.name,
        config=f"{client.project_name}/instanceConfigs/regional-{config.region}",
        display_name="System of Action lab",
        processing_units=100,
        edition=InstanceMessage.Edition.ENTERPRISE,
        labels=LABELS,
    )
    try:
        client.instance_admin_api.create_instance(
            parent=client.project_name, instance_id=config.instance, instance=message
        ).result(DDL_TIMEOUT_S)
    except AlreadyExists:
        return False
    return True


def _database(instance: Any, config: LabConfig) -> bool:
    database = instance.database(config.database, ddl_statements=schema.ddl("operations"))
    if database.exists():
        # A kill between creation and the last table leaves some of them out.
        have = {t.table_id.lower() for t in database.list_tables()}
        tables = [s for s in schema.ddl("operations") if (made := _made_by(s)) and made not in have]
        if tables:
            database.update_ddl(tables).result(DDL_TIMEOUT_S)
        return bool(tables)
    try:
        database.create().result(DDL_TIMEOUT_S)
    except AlreadyExists:
        return False
    return True


def _made_by(statement: str) -> str:
    words = statement.split()
    return words[2].lower() if words[1].upper() == "TABLE" else ""


def _operational_graph(database: Any, config: LabConfig) -> bool:
    mark = schema.fingerprint(*OPERATIONS_DDL)
    known = state(database, "graph")
    if known == mark:
        return False
    if known == NO_GRAPHS:
        raise NotHere(_OLD_EMULATOR)
    try:
        database.update_ddl(schema.ddl("operational_context_graph")).result(DDL_TIMEOUT_S)
    except InvalidArgument:
        if not config.emulator:
            raise
        put_state(database, graph=NO_GRAPHS)
        raise NotHere(_OLD_EMULATOR) from None
    put_state(database, graph=mark)
    return True


def _more_tables(database: Any, name: str) -> bool:
    """The tables of one more DDL file, whose statements all say IF NOT EXISTS."""
    mark = schema.fingerprint(name)
    if state(database, f"ddl-{name}") == mark:
        return False
    database.update_ddl(schema.ddl(name)).result(DDL_TIMEOUT_S)
    put_state(database, **{f"ddl-{name}": mark})
    return True


def _reference(database: Any) -> bool:
    if state(database, "reference"):
        return False
    _load(database, store.reference_rows().items())
    put_state(database, reference="loaded")
    return True


def _demo(database: Any) -> bool:
    if state(database, "anchor"):
        return False
    anchor = now()
    _load(database, store.demo_rows(anchor).items())
    put_state(database, anchor=anchor.isoformat())
    return True


def _generated(database: Any, scale: int) -> bool:
    if int(state(database, "scale") or 0) >= scale:
        return False
    _load(database, store.generated_rows(now(), scale))
    put_state(database, scale=str(scale))
    return True


def _coffee(database: Any) -> bool:
    made, mark = _more_tables(database, "coffee"), coffee.mark()
    if not made and state(database, "coffee") == mark:
        return False
    coffee.load(database)
    put_state(database, coffee=mark)
    return True


def _lineage_tables(client: bigquery.Client, config: LabConfig) -> bool:
    reference = bigquery.DatasetReference(config.project, config.dataset)
    try:
        client.get_dataset(reference)
        have = {t.table_id for t in client.list_tables(reference)}
    except NotFound:
        dataset = bigquery.Dataset(reference)
        dataset.location = config.region
        dataset.labels = LABELS
        client.create_dataset(dataset, exists_ok=True)
        have = set()
    if set(LINEAGE_TABLES) <= have:
        return False
    for statement in schema.ddl("lineage", config.dataset):
        client.query(statement).result()
    return True


def _lineage_graph(client: bigquery.Client, config: LabConfig) -> bool:
    """Make the graph, or say that this project runs none: asked again at every run, because a
    reservation may have come."""
    try:
        return _made_lineage_graph(client, config)
    except (BadRequest, Forbidden) as refusal:
        if config.backend != "cloud":
            raise
        raise NotHere(
            f"not in this project; plain SQL gives the same rows ({said_by(refusal)})"
        ) from None


def _made_lineage_graph(client: bigquery.Client, config: LabConfig) -> bool:
    found = client.query_and_wait(
        f"SELECT property_graph_name FROM `{config.dataset}`.INFORMATION_SCHEMA.PROPERTY_GRAPHS"
    )
    if any(row[0] == "ActionLineageGraph" for row in found):
        return False
    for statement in schema.ddl("action_lineage_graph", config.dataset):
        client.query(statement).result()
    return True


def _glossary(config: LabConfig) -> bool:
    with _the_file_stands_in("governs"), catalog_client() as client:
        return glossary.make(client, config.project, LABELS)


def _aspect(config: LabConfig) -> bool:
    with (
        _the_file_stands_in("holds the values"),
        catalog_client() as terms,
        aspect_client() as client,
    ):
        return aspect.make(client, terms, config.project, LABELS)


@contextlib.contextmanager
def _the_file_stands_in(how: str) -> Iterator[None]:
    """A refusal of Knowledge Catalog is no obstacle: all it would hold is in the glossary file."""
    try:
        yield
    except GoogleAPIError as refusal:
        said = scrubbed(str(refusal)).splitlines()[0]
        raise NotHere(f"not made; the glossary file {how} ({said})") from None


def _load(database: Any, tables: Iterable[tuple[str, list[store.Row]]]) -> None:
    for table, rows in tables:
        batches.write(database, table, store.COLUMNS[table], rows)


def state(database: Any, name: str) -> str | None:
    """The value kept under `name` in lab_state; None where there is none."""
    with database.snapshot() as snapshot:
        rows = list(snapshot.read("lab_state", ("value",), KeySet(keys=[(name,)])))
    return rows[0][0] if rows else None


def put_state(database: Any, **values: str) -> None:
    with database.batch() as batch:
        batch.insert_or_update("lab_state", ("name", "value"), list(values.items()))


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
