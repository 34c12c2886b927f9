"""What the GQL front end may ask about BigQuery tables, answered from bqemulator's storage."""

from collections.abc import Callable

from bqemulator.api.dependencies import AppContext
from sqlglot import exp

from lab_helpers.sandbox.bigquery.names import Name, NameScope

KeyReader = Callable[[Name], list[str]]


class CatalogTables:
    """`gql.Tables` for one statement. Not kept longer: tables may change between statements."""

    def __init__(self, context: AppContext, scope: NameScope, keys: KeyReader) -> None:
        self._context = context
        self._scope = scope
        self._keys = keys
        self._columns: dict[str, dict[str, str]] = {}

    def resolve(self, name: str) -> exp.Table:
        """The table as DuckDB spells it. Raises KeyError when BigQuery has no such table."""
        full = self._find(name)
        return exp.table_(full.object, db=full.schema, quoted=True)

    def columns(self, name: str) -> dict[str, str]:
        """Column to DuckDB type, in order. Raises KeyError when there is no such table."""
        if name not in self._columns:
            table = self.resolve(name).sql("duckdb")
            described = self._context.engine.execute(f"DESCRIBE {table}").fetchall()
            self._columns[name] = {row[0]: row[1] for row in described}
        return self._columns[name]

    def primary_key(self, name: str) -> list[str]:
        """The columns of PRIMARY KEY ... NOT ENFORCED; [] where none was declared."""
        return self._keys(self._find(name))

    def expression_type(self, name: str, sql: str) -> str:
        """The DuckDB type of a DuckDB expression over the table."""
        table = self.resolve(name).sql("duckdb")
        described = self._context.engine.execute(f"DESCRIBE SELECT {sql} FROM {table}")
        return str(described.fetchall()[0][1])

    def _find(self, name: str) -> Name:
        full = self._scope.complete(name)
        if full is None or not self._context.catalog.get_table(
            full.project, full.dataset, full.object
        ):
            raise KeyError(name)
        return full
