"""A GoogleSQL statement -> the DuckDB statement that does it, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from lab_helpers.sandbox.spanner import functions, graphs, information_schema
from lab_helpers.sandbox.spanner.constraints import returned_on_delete, returned_on_write
from lab_helpers.sandbox.spanner.errors import failed_precondition, invalid, not_here
from lab_helpers.sandbox.spanner.schema import Schema, Table, quote, quoted
from lab_helpers.sandbox.spanner.tokens import Token, position, tokenize

ParameterTypes = tuple[tuple[str, str], ...]  # lower-cased name, DuckDB type


class Kind(Enum):
    QUERY = "query"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Prepared:
    """`hidden` columns are returned after those asked for; the constraint checks read them."""

    sql: str
    kind: Kind
    parameters: frozenset[str]
    names: tuple[str, ...] | None  # None: as DuckDB names them (SELECT *)
    table: Table | None = None
    written: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    returns_rows: bool = False

    @property
    def writes(self) -> bool:
        return self.kind is not Kind.QUERY


def prepare(
    sql: str, schema: Schema, types: ParameterTypes, tables: graphs.SchemaTables
) -> Prepared:
    """Raises INVALID_ARGUMENT where the text is not a query or DML statement over this schema."""
    text = _Text(sql)
    is_dml = text.first in ("INSERT", "UPDATE", "DELETE")
    if graphs.mentions_graph(sql):
        if is_dml:
            raise not_here("A graph query inside DML")
        tree, names = graphs.lower(sql, schema, tables)
        return _query(functions.bind_request_time(tree), names, types)
    if is_dml:
        return _dml(text, schema, types)
    tree = _parse(text)
    tree.set("locks", None)  # FOR UPDATE only hints at what a transaction will write
    if not isinstance(tree, exp.Query):
        raise invalid(f"Syntax error: Unexpected statement: {sql.strip()[:60]}")
    names = _names(tree.selects)
    return _query(_rewrite(tree, text, schema), names, types)


def expression(sql: str) -> str:
    """A GoogleSQL expression of a DDL statement (default, check, generated column) in DuckDB."""
    tree = _parse(_Text(f"SELECT {sql}"))
    tree = _without_request_time(functions.rewrite(tree))
    return tree.expressions[0].sql("duckdb", identify=True)


def view_query(sql: str, schema: Schema) -> str:
    text = _Text(sql)
    tree = _without_request_time(_rewrite(_parse(text), text, schema))
    return tree.sql("duckdb", identify=True)


def _without_request_time(tree: exp.Expression) -> exp.Expression:
    """Stored expressions read the clock when they run: no request binds a time for them."""
    for parameter in list(tree.find_all(exp.Parameter)):
        parameter.replace(exp.CurrentTimestamp())
    return tree


# ---------------------------------------------------------------- text


class _Text:
    """A statement without hints and without Spanner's own clauses, which sqlglot does not parse."""

    def __init__(self, sql: str) -> None:
        self.original = sql
        self.sql = sql.strip().rstrip(";")
        self._set(_without_hints(self.sql, tokenize(self.sql)))
        if not self.tokens:
            raise invalid("Syntax error: Unexpected end of statement")
        self.conflict: str | None = None  # UPDATE or IGNORE
        self.returning: str | None = None

    def _set(self, sql: str) -> None:
        self.sql = sql
        self.tokens = tokenize(sql)

    @property
    def first(self) -> str:
        return self.tokens[0].word

    def word(self, index: int) -> str:
        return self.tokens[index].word if index < len(self.tokens) else ""

    def take_conflict(self) -> None:
        """INSERT OR UPDATE / OR IGNORE."""
        if self.first == "INSERT" and self.word(1) == "OR":
            self.conflict = self.word(2)
            if self.conflict not in ("UPDATE", "IGNORE"):
                raise invalid("Syntax error: Expected UPDATE or IGNORE after INSERT OR")
            self._set("INSERT " + self.sql[self.tokens[2].end + 1 :])

    def complete_keywords(self) -> None:
        """INTO and FROM may be left out in GoogleSQL."""
        wanted = {"INSERT": "INTO", "DELETE": "FROM"}.get(self.first)
        if wanted and self.word(1) != wanted:
            self._set(f"{self.first} {wanted} {self.sql[self.tokens[0].end + 1 :]}")

    def take_returning(self) -> None:
        for index, token in enumerate(self.tokens[:-1]):
            if token.word == "THEN" and self.word(index + 1) == "RETURN":
                self.returning = self.sql[self.tokens[index + 1].end + 1 :].strip()
                self._set(self.sql[: token.start])
                return


def _without_hints(sql: str, tokens: list[Token]) -> str:
    kept, position_, index = [], 0, 0
    while index < len(tokens) - 1:
        if tokens[index].word == "@" and tokens[index + 1].word == "{":
            close = next((i for i in range(index, len(tokens)) if tokens[i].word == "}"), None)
            if close is None:
                raise invalid(f"Syntax error: Expected '}}' {position(sql, len(sql))}")
            kept.append(sql[position_ : tokens[index].start])
            position_, index = tokens[close].end + 1, close
        index += 1
    return "".join(kept) + sql[position_:]


def _parse(text: _Text) -> exp.Expression:
    try:
        return sqlglot.parse_one(text.sql, read="bigquery")
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        where = f" [at {first['line']}:{first['col']}]" if first.get("line") else ""
        raise invalid(f"Syntax error: {first.get('description', error)}{where}") from error
    except SqlglotError as error:
        raise invalid(f"Syntax error: {error}") from error


# ---------------------------------------------------------------- queries


def _query(tree: exp.Expression, names: tuple[str, ...] | None, types: ParameterTypes) -> Prepared:
    parameters = _bind_types(tree, types)
    return Prepared(_render(tree), Kind.QUERY, parameters, names, returns_rows=True)


def _render(tree: exp.Expression) -> str:
    return tree.sql("duckdb", identify=True, copy=False)


def _names(columns: list[exp.Expression]) -> tuple[str, ...] | None:
    """Output names; a computed column has none. None where a star hides them."""
    if any(column.is_star for column in columns):
        return None
    named = (exp.Alias, exp.Column, exp.Dot)
    return tuple(
        column.alias_or_name or column.name if isinstance(column, named) else ""
        for column in columns
    )


def _rewrite(tree: exp.Expression, text: _Text, schema: Schema) -> exp.Expression:
    _resolve_tables(tree, text, schema)
    for unnest in list(tree.find_all(exp.Unnest)):
        _count_offsets_from_zero(unnest)
    return functions.rewrite(tree)


def _resolve_tables(tree: exp.Expression, text: _Text, schema: Schema) -> None:
    plain = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    plain.update(schema.tables, schema.views)
    for table in list(tree.find_all(exp.Table)):
        qualifier, name = table.text("db"), table.name
        if not qualifier and name.upper().startswith("INFORMATION_SCHEMA."):
            qualifier, _, name = name.partition(".")
        if isinstance(table.this, exp.Func):
            raise invalid(f"Table-valued function not found: {table.name or table.this.name}")
        if not qualifier and name.lower() in plain:
            continue
        if qualifier.upper() == "INFORMATION_SCHEMA":
            rows = information_schema.subquery(schema, name, table.alias or name)
            if rows is not None:
                table.replace(rows)
                continue
        shown = f"{qualifier}.{name}" if qualifier else name
        raise invalid(f"Table not found: {shown}{_where(table, text)}")


def _where(table: exp.Table, text: _Text) -> str:
    start = table.this.meta.get("start") if isinstance(table.this, exp.Identifier) else None
    return "" if start is None else f" {position(text.sql, start)}"


def _count_offsets_from_zero(unnest: exp.Unnest) -> None:
    """WITH OFFSET counts from zero, DuckDB's ordinality from one."""
    offset = unnest.args.get("offset")
    if not isinstance(offset, exp.Identifier):
        return
    alias = unnest.args.get("alias")
    columns = alias.columns if alias is not None else []
    element = columns[0].name if columns else "element"
    inner = unnest.copy()
    inner.set("offset", None)
    inner.set("alias", None)
    array = quote(element)
    rows = sqlglot.parse_one(
        f"SELECT {array}, {quote(offset.name)} - 1 AS {quote(offset.name)} "
        f"FROM (SELECT unnest(:array) AS {array}, "
        f"unnest(range(1, len(:array) + 1)) AS {quote(offset.name)})",
        read="duckdb",
    )
    for hole in list(rows.find_all(exp.Placeholder)):
        hole.replace(unnest.expressions[0].copy())
    unnest.replace(
        exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(f"_{element}")))
    )


def _bind_types(tree: exp.Expression, types: ParameterTypes) -> frozenset[str]:
    """Casts each parameter to its declared type; returns the names that must be bound."""
    known = {
        **dict(types), functions.NOW: "TIMESTAMPTZ", functions.COMMIT_TIME: "TIMESTAMPTZ"
    }  # fmt: skip
    found = set()
    for parameter in list(tree.find_all(exp.Parameter)):
        name = parameter.name.lower()
        found.add(name)
        lowered = exp.Parameter(this=exp.Var(this=name))
        kind = known.get(name)
        if kind is not None:
            to = exp.DataType.build(kind, dialect="duckdb")
            parameter.replace(exp.Cast(this=lowered, to=to))
        else:
            parameter.replace(lowered)
    return frozenset(found)


# ---------------------------------------------------------------- DML


def _dml(text: _Text, schema: Schema, types: ParameterTypes) -> Prepared:
    text.take_conflict()
    text.complete_keywords()
    text.take_returning()
    tree = _parse(text)
    kind = {exp.Insert: Kind.INSERT, exp.Update: Kind.UPDATE, exp.Delete: Kind.DELETE}.get(
        type(tree)
    )
    if kind is None:
        raise invalid(f"Syntax error: Unexpected statement: {text.original.strip()[:60]}")
    target = tree.find(exp.Table)
    table = schema.tables.get(target.name.lower()) if target is not None else None
    if table is None:
        name = target.name if target is not None else "?"
        raise invalid(f"Table not found: {name}{_where(target, text) if target else ''}")
    _keep_default_keyword(tree)
    written = _WRITTEN[kind](tree, table)
    tree = _rewrite(tree, text, schema)
    parameters = _bind_types(tree, types)
    hidden = _hidden_columns(kind, table, written, schema)
    returned, names, more = _returning(text.returning, kind, text.conflict, types)
    columns = [*returned, *map(quote, hidden)]
    sql = _render(tree)
    if text.conflict:
        sql += _on_conflict(text.conflict, table, written)
    if columns:
        sql += " RETURNING " + ", ".join(columns)
    return Prepared(
        sql, kind, parameters | more, names, table, written, hidden,
        returns_rows=text.returning is not None,
    )  # fmt: skip


def _keep_default_keyword(tree: exp.Expression) -> None:
    """DEFAULT as a value is parsed as a column of that name."""
    for column in list(tree.find_all(exp.Column)):
        name = column.this
        if not column.table and not name.args.get("quoted") and name.name.upper() == "DEFAULT":
            column.replace(exp.Var(this="DEFAULT"))


def _inserted(tree: exp.Expression, table: Table) -> tuple[str, ...]:
    target = tree.this
    if not isinstance(target, exp.Schema):
        return tuple(column.name for column in table.columns if column.generated is None)
    names = tuple(identifier.name for identifier in target.expressions)
    _check_columns(names, table)
    for key in table.key_columns:
        default = table.column(key).default
        if key.lower() not in {name.lower() for name in names} and default is None:
            raise invalid(f"INSERT must specify a value for primary key column {key}")
    return names


def _updated(tree: exp.Expression, table: Table) -> tuple[str, ...]:
    if tree.args.get("where") is None:
        raise invalid("Syntax error: UPDATE must have a WHERE clause")
    names = []
    for assignment in tree.expressions:
        column = assignment.this
        if isinstance(column, exp.Column):
            column.set("table", None)  # DuckDB sets plain names only
        names.append(column.name)
    _check_columns(names, table)
    for name in names:
        if name.lower() in table.key_set:
            raise invalid(f"Cannot UPDATE value on key column {name} of table {table.name}")
    return tuple(names)


def _deleted(tree: exp.Expression, table: Table) -> tuple[str, ...]:
    if tree.args.get("where") is None:
        raise invalid("Syntax error: DELETE must have a WHERE clause")
    return ()


def _check_columns(names: list[str] | tuple[str, ...], table: Table) -> None:
    for name in names:
        column = table.by_name.get(name.lower())
        if column is None:
            raise invalid(f"Column {name} is not present in table {table.name}")
        if column.generated is not None:
            raise invalid(f"Cannot write into generated column: {table.name}.{column.name}")


_WRITTEN = {Kind.INSERT: _inserted, Kind.UPDATE: _updated, Kind.DELETE: _deleted}


def _hidden_columns(
    kind: Kind, table: Table, written: tuple[str, ...], schema: Schema
) -> tuple[str, ...]:
    if kind is Kind.DELETE:
        return returned_on_delete(schema, table)
    return returned_on_write(schema, table, written if kind is Kind.UPDATE else None)


def _on_conflict(mode: str, table: Table, written: tuple[str, ...]) -> str:
    others = [name for name in written if name.lower() not in table.key_set]
    key = quoted(table.key_columns)
    if mode == "IGNORE" or not others:
        return f" ON CONFLICT ({key}) DO NOTHING"
    assignments = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in others)
    return f" ON CONFLICT ({key}) DO UPDATE SET {assignments}"


def _returning(
    clause: str | None, kind: Kind, conflict: str | None, types: ParameterTypes
) -> tuple[list[str], tuple[str, ...] | None, frozenset[str]]:
    if clause is None:
        return [], (), frozenset()
    action = None
    words = tokenize(clause)
    if [token.word for token in words[:2]] == ["WITH", "ACTION"]:
        if conflict == "UPDATE":
            raise failed_precondition(
                "THEN RETURN WITH ACTION of INSERT OR UPDATE is not part of the local Spanner "
                "sandbox; return the columns and compare them instead."
            )
        named = len(words) > 3 and words[2].word == "AS"
        action = words[3].text if named else "ACTION"
        clause = clause[words[3 if named else 1].end + 1 :]
    select = functions.rewrite(_parse(_Text(f"SELECT {clause}")))
    parameters = _bind_types(select, types)
    columns = [column.sql("duckdb", identify=True) for column in select.expressions]
    names = _names(select.expressions)
    if action is not None:
        columns.append(f"'{kind.name}' AS {quote(action)}")
        names = None if names is None else (*names, action)
    return columns, names, parameters
