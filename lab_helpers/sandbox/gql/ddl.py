"""CREATE PROPERTY GRAPH and DROP PROPERTY GRAPH: syntax only; `schema` gives it a meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import TokenType

from .errors import GqlError, Position, from_parse_error
from .parser import _DIALECT, tokenize
from .pattern_parser import TokenReader


@dataclass(frozen=True)
class AllColumns:
    """`PROPERTIES [ARE] ALL COLUMNS [EXCEPT (...)]`, and what an absent list means."""

    excluded: tuple[str, ...] = ()
    position: Position | None = None


@dataclass(frozen=True)
class PropertyDefinition:
    name: str
    expression: exp.Expression
    text: str  # the expression as written
    position: Position | None = None


@dataclass(frozen=True)
class LabelDefinition:
    name: str
    properties: AllColumns | tuple[PropertyDefinition, ...]
    position: Position | None = None


@dataclass(frozen=True)
class NodeReference:
    columns: tuple[str, ...]
    node: str
    node_columns: tuple[str, ...] | None  # None: the key of the node table
    position: Position | None = None


@dataclass(frozen=True)
class ElementDefinition:
    kind: str  # 'node' or 'edge'
    table: str
    name: str
    key: tuple[str, ...] | None  # None: the primary key of the table
    labels: tuple[LabelDefinition, ...]
    source: NodeReference | None = None
    destination: NodeReference | None = None
    dynamic_label: str | None = None
    dynamic_properties: str | None = None
    position: Position | None = None


@dataclass(frozen=True)
class CreateGraph:
    name: str
    or_replace: bool
    if_not_exists: bool
    elements: tuple[ElementDefinition, ...]
    text: str


@dataclass(frozen=True)
class DropGraph:
    name: str
    if_exists: bool
    text: str


def is_graph_ddl(sql: str) -> bool:
    """True for CREATE [OR REPLACE] PROPERTY GRAPH and DROP PROPERTY GRAPH."""
    if "PROPERTY" not in sql.upper():
        return False
    try:
        words = [t.text.upper() for t in tokenize(sql)[:6]]
    except GqlError:
        return False
    if words[:3] == ["CREATE", "OR", "REPLACE"]:
        words = words[2:]
    return words[:1] in (["CREATE"], ["REPLACE"], ["DROP"]) and words[1:3] == ["PROPERTY", "GRAPH"]


def parse_graph_ddl(sql: str) -> CreateGraph | DropGraph:
    """The statement's parts. Raises GqlError with the place of the first mistake."""
    tokens = tokenize(sql)
    try:
        found = _DdlParser(dialect=_DIALECT).parse(tokens, sql)[0]
    except ParseError as error:
        raise from_parse_error(error, sql) from error
    assert isinstance(found, _Holder)
    return found.args["statement"]


class _Holder(exp.Expression):
    """Carries the statement out of sqlglot's parser."""

    arg_types: ClassVar = {"statement": True}


class _DdlParser(TokenReader):
    def _parse_statement(self) -> exp.Expression:
        if self.take("DROP"):
            statement: CreateGraph | DropGraph = self.drop()
        else:
            self.expect("CREATE")
            statement = self.create()
        if self._curr and self._curr.token_type != TokenType.SEMICOLON:
            self.fail(f"Syntax error: Unexpected {self.shown()}")
        return _Holder(statement=statement)

    def drop(self) -> DropGraph:
        self.expect("PROPERTY", "GRAPH")
        if_exists = self.take("IF", "EXISTS")
        return DropGraph(self.dotted_name(), if_exists, self.sql)

    def create(self) -> CreateGraph:
        or_replace = self.take("OR", "REPLACE")
        self.expect("PROPERTY", "GRAPH")
        if_not_exists = self.take("IF", "NOT", "EXISTS")
        if or_replace and if_not_exists:
            self.fail("CREATE PROPERTY GRAPH cannot take both OR REPLACE and IF NOT EXISTS")
        name = self.dotted_name()
        self.options()
        self.expect("NODE", "TABLES")
        elements = self.element_list("node")
        if self.take("EDGE", "TABLES"):
            elements += self.element_list("edge")
        self.options()
        return CreateGraph(name, or_replace, if_not_exists, tuple(elements), self.sql)

    def options(self) -> None:
        if self.take("OPTIONS"):
            self._parse_wrapped_csv(self._parse_assignment, optional=True)

    def element_list(self, kind: str) -> list[ElementDefinition]:
        self.expect_token(TokenType.L_PAREN, "(")
        found = [self.element(kind)]
        while self._match(TokenType.COMMA):
            if self._match(TokenType.R_PAREN, advance=False):
                break
            found.append(self.element(kind))
        self.expect_token(TokenType.R_PAREN, ")")
        return found

    def element(self, kind: str) -> ElementDefinition:
        position = self.place()
        table = self.dotted_name()
        name = self.name() if self.take("AS") else table.split(".")[-1]
        parts: dict = {"key": None}
        labels: list[LabelDefinition] = []
        while True:
            here = self.place()
            if self.take("KEY"):
                parts["key"] = tuple(self.names_in_parentheses())
            elif self.take("SOURCE"):
                parts["source"] = self.reference(here)
            elif self.take("DESTINATION"):
                parts["destination"] = self.reference(here)
            elif self.take("DYNAMIC", "LABEL"):
                parts["dynamic_label"] = self.one_column()
            elif self.take("DYNAMIC", "PROPERTIES"):
                parts["dynamic_properties"] = self.one_column()
            elif self.take("DEFAULT", "LABEL"):
                labels.append(LabelDefinition(name, self.properties(), here))
            elif self.take("LABEL"):
                labels.append(LabelDefinition(self.name(), self.properties(), here))
            elif self.next_is("PROPERTIES", "NO") and not labels:
                labels.append(LabelDefinition(name, self.properties(), here))
            else:
                break
            self.options()
        return ElementDefinition(
            kind, table, name, labels=tuple(labels), position=position, **parts
        )

    def one_column(self) -> str:
        names = self.names_in_parentheses()
        if len(names) != 1:
            self.fail("DYNAMIC LABEL and DYNAMIC PROPERTIES take exactly one column")
        return names[0]

    def reference(self, position: Position | None) -> NodeReference:
        self.expect("KEY")
        columns = tuple(self.names_in_parentheses())
        self.expect("REFERENCES")
        node = self.name()
        named = self._match(TokenType.L_PAREN, advance=False)
        node_columns = tuple(self.names_in_parentheses()) if named else None
        return NodeReference(columns, node, node_columns, position)

    def properties(self) -> AllColumns | tuple[PropertyDefinition, ...]:
        position = self.place()
        if self.take("NO", "PROPERTIES"):
            return ()
        if not self.take("PROPERTIES"):
            return AllColumns()
        self.take("ARE")
        if self.take("ALL", "COLUMNS"):
            excluded = self.names_in_parentheses() if self.take("EXCEPT") else []
            return AllColumns(tuple(excluded), position)
        self.expect_token(TokenType.L_PAREN, "(")
        found = [self.property_definition()]
        while self._match(TokenType.COMMA):
            found.append(self.property_definition())
        self.expect_token(TokenType.R_PAREN, ")")
        return tuple(found)

    def property_definition(self) -> PropertyDefinition:
        position, start = self.place(), self._curr
        expression = self.scalar()
        text = self._find_sql(start, self._prev)
        if self.take("AS"):
            return PropertyDefinition(self.name(), expression, text, position)
        if not isinstance(expression, exp.Column):
            raise GqlError(
                f"Property expression '{text}' needs a name: write '{text} AS name'",
                *(position or (None, None)),
            )
        return PropertyDefinition(expression.name, expression, text, position)
