"""Spanner DDL text -> what it asks for, as values. Knows nothing of the database it will meet."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from lab_helpers.sandbox.spanner.ddl_statements import (
    AddCheck,
    AddColumn,
    AddForeignKey,
    Alteration,
    AlterColumn,
    AlterTable,
    CreateIndex,
    CreateTable,
    CreateView,
    Drop,
    DropColumn,
    DropConstraint,
    GraphStatement,
    NoOperation,
    SetOnDelete,
    SetRowDeletionPolicy,
    Statement,
)
from lab_helpers.sandbox.spanner.errors import not_here
from lab_helpers.sandbox.spanner.schema import (
    DUCKDB_TYPES,
    Check,
    Column,
    ColumnType,
    ForeignKey,
    Index,
    Interleave,
    KeyPart,
    Table,
    View,
)
from lab_helpers.sandbox.spanner.tokens import Cursor

_COMMIT_TIMESTAMP = re.compile(r"allow_commit_timestamp\s*=\s*true", re.IGNORECASE)
_ABSENT = (
    ("CHANGE", "STREAM"), ("SEQUENCE",), ("ROLE",), ("SCHEMA",), ("MODEL",), ("FUNCTION",),
    ("VECTOR", "INDEX"), ("SEARCH", "INDEX"), ("PROTO", "BUNDLE"), ("LOCALITY", "GROUP"),
    ("PLACEMENT",), ("SYNONYM",),
)  # fmt: skip


def parse(sql: str) -> Statement:
    """One DDL statement. Raises INVALID_ARGUMENT for syntax, UNIMPLEMENTED for what is left out."""
    cursor = Cursor(sql)
    verb = cursor.word()
    if verb in ("GRANT", "REVOKE", "RENAME"):
        raise not_here(f"The statement {verb}")
    for start, read in _STATEMENTS:
        if cursor.accept(*start):
            statement = read(cursor)
            cursor.accept(";")
            if not cursor.at_end:
                raise cursor.unexpected()
            return statement
    raise cursor.unexpected()


# ---------------------------------------------------------------- CREATE


def _create(cursor: Cursor) -> Statement:
    or_replace = cursor.accept("OR", "REPLACE")
    if cursor.accept("PROPERTY", "GRAPH"):
        cursor.rest()
        return GraphStatement(cursor.sql.strip().rstrip(";").rstrip())
    if cursor.accept("VIEW"):
        return _view(cursor, or_replace)
    if cursor.accept("TABLE"):
        return _table(cursor)
    _refuse_absent(cursor, "CREATE")
    unique = cursor.accept("UNIQUE")
    null_filtered = cursor.accept("NULL_FILTERED")
    cursor.expect("INDEX")
    return _index(cursor, unique, null_filtered)


def _refuse_absent(cursor: Cursor, verb: str) -> None:
    for words in _ABSENT:
        if cursor.accept(*words):
            raise not_here(f"{verb} {' '.join(words)}")


def _view(cursor: Cursor, or_replace: bool) -> CreateView:
    name = cursor.identifier()
    if cursor.accept("SQL", "SECURITY"):
        cursor.take()
    cursor.expect("AS")
    return CreateView(View(name, cursor.rest()), or_replace)


def _index(cursor: Cursor, unique: bool, null_filtered: bool) -> CreateIndex:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.identifier()
    cursor.expect("ON")
    table = cursor.identifier()
    key = _key_parts(cursor)
    storing: tuple[str, ...] = ()
    while not cursor.at_end and cursor.word() != ";":
        if cursor.accept("STORING") or cursor.accept("INCLUDE"):
            storing = cursor.names()
        elif cursor.accept(",", "INTERLEAVE", "IN"):
            cursor.identifier()
        else:
            raise cursor.unexpected()
    return CreateIndex(Index(name, table, key, unique, null_filtered, storing), if_not_exists)


def _key_parts(cursor: Cursor) -> tuple[KeyPart, ...]:
    parts: list[KeyPart] = []
    cursor.expect("(")
    while not cursor.accept(")"):
        column = cursor.identifier()
        descending = cursor.accept("DESC")
        if not descending:
            cursor.accept("ASC")
        parts.append(KeyPart(column, descending))
        if cursor.word() != ")":
            cursor.expect(",")
    return tuple(parts)


def _table(cursor: Cursor) -> CreateTable:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.identifier()
    columns: list[Column] = []
    foreign_keys: list[ForeignKey] = []
    checks: list[Check] = []
    key: tuple[KeyPart, ...] | None = None
    cursor.expect("(")
    while not cursor.accept(")"):
        constraint = _constraint(cursor, name, len(foreign_keys), len(checks))
        if isinstance(constraint, ForeignKey):
            foreign_keys.append(constraint)
        elif isinstance(constraint, Check):
            checks.append(constraint)
        elif cursor.word() == "PRIMARY" and cursor.word(1) == "KEY" and cursor.word(2) == "(":
            cursor.expect("PRIMARY", "KEY")
            key = _key_parts(cursor)
        else:
            column, is_key = _column(cursor)
            columns.append(column)
            if is_key:
                key = (KeyPart(column.name),)
        if cursor.word() != ")":
            cursor.expect(",")
    if cursor.accept("PRIMARY", "KEY"):
        key = _key_parts(cursor)
    if key is None:
        raise cursor.error("Expecting 'PRIMARY KEY'")
    interleave, policy = _table_tail(cursor)
    table = Table(name, tuple(columns), key, tuple(foreign_keys), tuple(checks), interleave, policy)
    return CreateTable(table, if_not_exists)


def _table_tail(cursor: Cursor) -> tuple[Interleave | None, str | None]:
    interleave, policy = None, None
    while cursor.accept(","):
        if cursor.accept("INTERLEAVE", "IN"):
            enforced = cursor.accept("PARENT")
            parent = cursor.identifier()
            interleave = Interleave(parent, enforced, _on_delete_cascade(cursor))
        elif cursor.accept("ROW", "DELETION", "POLICY"):
            policy = cursor.parenthesised()
        else:
            raise cursor.error("Expecting 'INTERLEAVE' or 'ROW DELETION POLICY'")
    return interleave, policy


def _on_delete_cascade(cursor: Cursor) -> bool:
    if not cursor.accept("ON", "DELETE"):
        return False
    if cursor.accept("CASCADE"):
        return True
    cursor.expect("NO", "ACTION")
    return False


def _constraint(
    cursor: Cursor, table: str, foreign_keys: int, checks: int
) -> ForeignKey | Check | None:
    """A table constraint, or None where a column definition comes next."""
    name = cursor.identifier() if cursor.accept("CONSTRAINT") else None
    if cursor.accept("FOREIGN", "KEY"):
        columns = cursor.names()
        cursor.expect("REFERENCES")
        target = cursor.identifier()
        referenced = cursor.names() if cursor.word() == "(" else ()
        cascade = _on_delete_cascade(cursor)
        enforced = not cursor.accept("NOT", "ENFORCED")
        cursor.accept("ENFORCED")
        made_up = f"FK_{table}_{target}_{foreign_keys + 1}"
        return ForeignKey(
            name or made_up, columns, target, referenced, cascade, enforced, named=name is not None
        )
    if cursor.word() == "CHECK" and cursor.word(1) == "(":
        cursor.expect("CHECK")
        expression = cursor.parenthesised()
        return Check(name or f"CK_{table}_{checks + 1}", expression, named=name is not None)
    if name is not None:
        raise cursor.error("Expecting 'FOREIGN KEY' or 'CHECK' after the constraint's name")
    return None


def _column(cursor: Cursor) -> tuple[Column, bool]:
    """A column definition, and whether it says PRIMARY KEY."""
    column = Column(cursor.identifier(), _type(cursor))
    is_key = False
    while True:
        if cursor.accept("NOT", "NULL"):
            column = replace(column, not_null=True)
        elif cursor.accept("DEFAULT"):
            column = replace(column, default=cursor.parenthesised())
        elif cursor.accept("AS"):
            column = replace(column, generated=cursor.parenthesised())
            column = replace(column, stored=cursor.accept("STORED"))
        elif cursor.accept("OPTIONS"):
            allowed = bool(_COMMIT_TIMESTAMP.search(cursor.parenthesised()))
            column = replace(column, commit_timestamp=allowed)
        elif cursor.accept("PRIMARY", "KEY"):
            is_key = True
        elif cursor.accept("HIDDEN"):
            pass
        else:
            return column, is_key


def _type(cursor: Cursor) -> ColumnType:
    if cursor.accept("ARRAY"):
        cursor.expect("<")
        element = _type(cursor)
        cursor.expect(">")
        return replace(element, array=True)
    code = cursor.word()
    if code not in DUCKDB_TYPES:
        raise cursor.error(f"'{code}' is not a column type")
    cursor.take()
    size = None
    if cursor.accept("("):
        written = cursor.take().text
        size = None if written.upper() == "MAX" else int(written, 0)
        cursor.expect(")")
    return ColumnType(code, size)


# ---------------------------------------------------------------- DROP


def _drop(cursor: Cursor) -> Statement:
    if cursor.accept("PROPERTY", "GRAPH"):
        cursor.rest()
        return GraphStatement(cursor.sql.strip().rstrip(";").rstrip())
    for kind in ("TABLE", "INDEX", "VIEW"):
        if cursor.accept(kind):
            if_exists = cursor.accept("IF", "EXISTS")
            return Drop(kind, cursor.identifier(), if_exists)
    _refuse_absent(cursor, "DROP")
    raise cursor.error("Expecting 'TABLE', 'INDEX', 'VIEW' or 'PROPERTY GRAPH'")


# ---------------------------------------------------------------- ALTER


def _alter(cursor: Cursor) -> Statement:
    if cursor.accept("DATABASE"):
        cursor.rest()  # options of a database (retention, optimizer version) have no effect here
        return NoOperation()
    _refuse_absent(cursor, "ALTER")
    cursor.expect("TABLE")
    table = cursor.identifier()
    return AlterTable(table, _alteration(cursor, table))


def _alteration(cursor: Cursor, table: str) -> Alteration:
    if cursor.accept("ADD", "COLUMN"):
        if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
        return AddColumn(_column(cursor)[0], if_not_exists)
    if cursor.accept("DROP", "COLUMN"):
        return DropColumn(cursor.identifier())
    if cursor.accept("ALTER", "COLUMN"):
        return _alter_column(cursor)
    if cursor.accept("DROP", "CONSTRAINT"):
        return DropConstraint(cursor.identifier())
    if cursor.accept("DROP", "ROW", "DELETION", "POLICY"):
        return SetRowDeletionPolicy(None)
    if cursor.accept("ADD", "ROW", "DELETION", "POLICY") or cursor.accept(
        "REPLACE", "ROW", "DELETION", "POLICY"
    ):
        return SetRowDeletionPolicy(cursor.parenthesised())
    if cursor.word() == "SET" and cursor.word(1) == "ON":
        cursor.expect("SET")
        return SetOnDelete(_on_delete_cascade(cursor))
    if cursor.accept("ADD"):
        constraint = _constraint(cursor, table, 0, 0)  # a made-up name is given when it is added
        if isinstance(constraint, ForeignKey):
            return AddForeignKey(constraint)
        if isinstance(constraint, Check):
            return AddCheck(constraint)
    raise cursor.error("Expecting ADD, DROP, ALTER COLUMN or SET ON DELETE")


def _alter_column(cursor: Cursor) -> AlterColumn:
    name = cursor.identifier()
    if cursor.accept("SET", "DEFAULT"):
        default = cursor.parenthesised()
        return AlterColumn(name, lambda old: replace(old, default=default))
    if cursor.accept("DROP", "DEFAULT"):
        return AlterColumn(name, lambda old: replace(old, default=None))
    if cursor.accept("SET", "OPTIONS"):
        allowed = bool(_COMMIT_TIMESTAMP.search(cursor.parenthesised()))
        return AlterColumn(name, lambda old: replace(old, commit_timestamp=allowed))
    new_type = _type(cursor)
    not_null = cursor.accept("NOT", "NULL")
    default = cursor.parenthesised() if cursor.accept("DEFAULT") else None
    return AlterColumn(
        name,
        lambda old: replace(old, type=new_type, not_null=not_null, default=default or old.default),
    )


def _nothing(cursor: Cursor) -> NoOperation:
    return NoOperation()


_STATEMENTS: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement]], ...] = (
    (("CREATE",), _create),
    (("DROP",), _drop),
    (("ALTER",), _alter),
    (("ANALYZE",), _nothing),
)
