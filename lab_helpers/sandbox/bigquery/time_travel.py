"""Doing without FOR SYSTEM_TIME AS OF.

bqemulator copies the whole table after every write to be able to answer it: a lineage table of some
thousand turns would be copied at every turn, and the file would only grow. Nothing in the lab asks
for the past, and whoever does is told, not given the present.
"""

from dataclasses import replace
from datetime import datetime

from bqemulator.api.dependencies import AppContext
from bqemulator.catalog.models import SnapshotMeta
from bqemulator.domain.errors import UnsupportedFeatureError
from bqemulator.versioning.snapshots import SnapshotManager


class _Present(SnapshotManager):
    """Snapshots only where a statement asks for one (CREATE SNAPSHOT TABLE)."""

    def capture(
        self, project_id: str, dataset_id: str, table_id: str, *, kind: str = "AUTO"
    ) -> SnapshotMeta | None:
        if kind == "AUTO":
            return None
        return super().capture(project_id, dataset_id, table_id, kind=kind)

    def resolve_time_travel(
        self, project_id: str, dataset_id: str, table_id: str, target: datetime
    ) -> SnapshotMeta | None:
        raise UnsupportedFeatureError("FOR SYSTEM_TIME AS OF is not part of the local BigQuery.")


def without_time_travel(context: AppContext) -> AppContext:
    """The same context, whose writes leave no copies behind."""
    present = _Present(
        engine=context.engine,
        catalog=context.catalog,
        clock=context.clock,
        events=context.events,
        retention_days=context.settings.time_travel_retention_days,
    )
    return replace(context, snapshots=present)
