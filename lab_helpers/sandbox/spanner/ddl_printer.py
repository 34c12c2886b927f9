"""A schema -> the DDL that makes it. It is also what is stored, so it loses nothing."""

from __future__ import annotations

from collections.abc import Iterator

from lab_helpers.sandbox.spanner.schema import Column, ForeignKey, Index, KeyPart, Schema, Table


def statements(schema: Schema) -> list[str]:
    """Tables (each after those it points at) with their indexes, then views, then graphs."""
    printed: list[str] = []
    for table in schema.tables.values():
        printed.append(create_table(table))
        indexes = (i for i in schema.indexes.values() if i.table.lower() == table.name.lower())
        printed.extend(create_index(index) for index in indexes)
    for view in schema.views.values():
        printed.append(f"CREATE VIEW {_name(view.name)} SQL SECURITY INVOKER AS {view.query}")
    printed.extend(graph.ddl for graph in schema.graphs.values())
    return printed


def create_table(table: Table) -> str:
    lines = [*map(_column, table.columns), *_constraints(table)]
    body = "".join(f"  {line},\n" for line in lines)
    text = f"CREATE TABLE {_name(table.name)} (\n{body}) PRIMARY KEY({_key(table.key)})"
    if table.interleave is not None:
        parent = "PARENT " if table.interleave.enforced else ""
        text += f",\n  INTERLEAVE IN {parent}{_name(table.interleave.parent)}"
        text += " ON DELETE CASCADE" if table.interleave.cascade else ""
    if table.row_deletion_policy is not None:
        text += f",\n  ROW DELETION POLICY ({table.row_deletion_policy})"
    return text


def create_index(index: Index) -> str:
    unique = "UNIQUE " if index.unique else ""
    null_filtered = "NULL_FILTERED " if index.null_filtered else ""
    storing = f" STORING ({', '.join(map(_name, index.storing))})" if index.storing else ""
    return (
        f"CREATE {unique}{null_filtered}INDEX {_name(index.name)} "
        f"ON {_name(index.table)}({_key(index.key)}){storing}"
    )


def _column(column: Column) -> str:
    text = f"{_name(column.name)} {column.type.spanner}"
    text += " NOT NULL" if column.not_null else ""
    if column.default is not None:
        text += f" DEFAULT ({column.default})"
    if column.generated is not None:
        text += f" AS ({column.generated})" + (" STORED" if column.stored else "")
    if column.commit_timestamp:
        text += " OPTIONS (\n    allow_commit_timestamp = true\n  )"
    return text


def _constraints(table: Table) -> Iterator[str]:
    for rule in table.foreign_keys:
        yield (f"CONSTRAINT {_name(rule.name)} " if rule.named else "") + _foreign_key(rule)
    for check in table.checks:
        named = f"CONSTRAINT {_name(check.name)} " if check.named else ""
        yield f"{named}CHECK({check.expression})"


def _foreign_key(rule: ForeignKey) -> str:
    columns = ", ".join(map(_name, rule.columns))
    referenced = ", ".join(map(_name, rule.referenced))
    text = f"FOREIGN KEY({columns}) REFERENCES {_name(rule.table)}({referenced})"
    text += " ON DELETE CASCADE" if rule.cascade else ""
    return text + ("" if rule.enforced else " NOT ENFORCED")


def _key(parts: tuple[KeyPart, ...]) -> str:
    return ", ".join(_name(part.column) + (" DESC" if part.descending else "") for part in parts)


def _name(name: str) -> str:
    """Reserved words of GoogleSQL come back in backticks."""
    return f"`{name}`" if name.upper() in _RESERVED else name


_RESERVED_WORDS = """
    ALL AND ANY ARRAY AS ASC ASSERT_ROWS_MODIFIED AT BETWEEN BY CASE CAST COLLATE CONTAINS CREATE
    CROSS CUBE CURRENT DEFAULT DEFINE DESC DISTINCT ELSE END ENUM ESCAPE EXCEPT EXCLUDE EXISTS
    EXTRACT FALSE FETCH FOLLOWING FOR FROM FULL GROUP GROUPING GROUPS HASH HAVING IF IGNORE IN INNER
    INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT LOOKUP MERGE NATURAL NEW NO NOT NULL
    NULLS OF ON OR ORDER OUTER OVER PARTITION PRECEDING PROTO RANGE RECURSIVE RESPECT RIGHT ROLLUP
    ROWS SELECT SET SOME STRUCT TABLESAMPLE THEN TO TREAT TRUE UNBOUNDED UNION UNNEST USING WHEN
    WHERE WINDOW WITH WITHIN
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())
