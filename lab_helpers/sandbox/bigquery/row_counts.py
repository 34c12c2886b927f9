"""Row counts are counted, not kept: bqemulator writes a table's whole record to disk for each
inserted batch only to remember its number of rows, which doubles the cost of an insert, and does
not look again after DML."""

from typing import Any

from bqemulator.api.dependencies import AppContext
from bqemulator.catalog.models import TableMeta
from bqemulator.storage.sql_identifiers import quoted_table_ref


class CountedCatalog:
    """bqemulator's catalog, but a table's number of rows is counted when the table is asked for."""

    def __init__(self, context: AppContext) -> None:
        self._catalog, self._engine = context.catalog, context.engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def get_table(self, project_id: str, dataset_id: str, table_id: str) -> TableMeta | None:
        table = self._catalog.get_table(project_id, dataset_id, table_id)
        if table is None or table.table_type != "TABLE":
            return table
        where = quoted_table_ref(project_id, dataset_id, table_id)
        (rows,) = self._engine.execute(f"SELECT count(*) FROM {where}").fetchone()
        return table.model_copy(update={"num_rows": rows})

    def update_table(self, table: TableMeta) -> TableMeta:
        held = self._catalog.get_table(table.project_id, table.dataset_id, table.table_id)
        if held is not None and held.model_copy(update={"num_rows": table.num_rows}) == table:
            return table
        return self._catalog.update_table(table)
