"""PRIMARY KEY (...) NOT ENFORCED: BigQuery's promise of a key, which DuckDB cannot spell.

The clause is taken out of the statement before bqemulator runs it, and the columns are kept: a
property graph over a table without a KEY clause uses its primary key. Foreign keys are taken out
and forgotten: nothing reads them.
"""

import re
from dataclasses import dataclass

import sqlglot
from bqemulator.api.dependencies import AppContext
from sqlglot import exp

from lab_helpers.sandbox.bigquery.names import Name

_NOT_ENFORCED = re.compile(r"\bNOT\s+ENFORCED\b", re.IGNORECASE)
_TABLE = '"_lab"."primary_keys"'


@dataclass(frozen=True)
class Stripped:
    """A script without key clauses (empty when that was all), and the keys it declared."""

    sql: str
    keys: dict[str, list[str]]  # by table as written


def strip_keys(sql: str) -> Stripped | None:
    """`sql` without its unenforced keys; None when it has none or cannot be read."""
    if not _NOT_ENFORCED.search(sql):
        return None
    try:
        statements = [tree for tree in sqlglot.parse(sql, read="bigquery") if tree is not None]
    except sqlglot.errors.SqlglotError:
        return None
    before = _script(statements)
    keys: dict[str, list[str]] = {}
    after = _script([tree for tree in statements if _strip(tree, keys)])
    # Unchanged where the words stand in a string: then the text stays as it was written.
    return None if after == before else Stripped(after, keys)


def _script(statements: list[exp.Expression]) -> str:
    return "; ".join(tree.sql("bigquery") for tree in statements)


def _strip(tree: exp.Expression, keys: dict[str, list[str]]) -> bool:
    """Take the keys out of one statement; False when nothing of it is left."""
    if isinstance(tree, exp.Alter):
        for action in tree.args["actions"]:
            if isinstance(action, exp.AddConstraint):
                _collect(action.expressions, _dotted(tree.this), keys)
        left = [a for a in tree.args["actions"] if not isinstance(a, exp.AddConstraint)]
        tree.set("actions", left)
        return bool(left)
    schema = tree.this
    if isinstance(tree, exp.Create) and isinstance(schema, exp.Schema):
        table = _dotted(schema.this)
        schema.set(
            "expressions",
            [part for part in schema.expressions if not _collect([part], table, keys)],
        )
        for column in schema.find_all(exp.ColumnDef):
            _strip_column(column, table, keys)
    return True


def _collect(parts: list[exp.Expression], table: str, keys: dict[str, list[str]]) -> bool:
    """Note the primary keys among `parts`; whether all of them are key clauses."""
    clauses = 0
    for part in parts:
        inner = part.expressions[0] if isinstance(part, exp.Constraint) else part
        if isinstance(inner, exp.PrimaryKey):
            keys[table] = [column.name for column in inner.expressions]
        clauses += isinstance(inner, exp.PrimaryKey | exp.ForeignKey)
    return clauses == len(parts)


def _strip_column(column: exp.ColumnDef, table: str, keys: dict[str, list[str]]) -> None:
    kinds = exp.PrimaryKeyColumnConstraint | exp.Reference
    key_of = [c for c in column.args.get("constraints") or [] if isinstance(c.kind, kinds)]
    if any(isinstance(c.kind, exp.PrimaryKeyColumnConstraint) for c in key_of):
        keys[table] = [column.name]
    for constraint in key_of:
        constraint.pop()


def _dotted(table: exp.Expression) -> str:
    return ".".join(part.name for part in table.find(exp.Table).parts)


class KeyStore:
    """The declared primary keys, kept in the same DuckDB file as the tables."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        context.engine.execute('CREATE SCHEMA IF NOT EXISTS "_lab"')
        # `table_made` ties a key to its table's lifetime: a replaced table has other columns.
        context.engine.execute(
            f"CREATE TABLE IF NOT EXISTS {_TABLE} (project VARCHAR, dataset VARCHAR, "
            "name VARCHAR, columns VARCHAR[], table_made VARCHAR, "
            "PRIMARY KEY (project, dataset, name))"
        )

    def save(self, name: Name, columns: list[str]) -> bool:
        """Keep a table's key; False when there is no such table."""
        made = self._table_made(name)
        if made:
            self._context.engine.execute(
                f"INSERT OR REPLACE INTO {_TABLE} VALUES (?, ?, ?, ?, ?)",
                [name.project, name.dataset, name.object, columns, made],
            )
        return bool(made)

    def columns(self, name: Name) -> list[str]:
        """The table's primary key; [] where none was declared."""
        row = self._context.engine.execute(
            f"SELECT columns FROM {_TABLE} WHERE (project, dataset, name, table_made) "
            "= (?, ?, ?, ?)",
            [name.project, name.dataset, name.object, self._table_made(name)],
        ).fetchone()
        return list(row[0]) if row else []

    def _table_made(self, name: Name) -> str:
        table = self._context.catalog.get_table(name.project, name.dataset, name.object)
        return table.creation_time.isoformat() if table else ""
