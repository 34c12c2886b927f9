"""Grammar of GQL: statements, and the places where SQL expressions hold GQL.

BigQuery's tokenizer already yields the right tokens (`-[`, `]->`, `{1,3}`, `@p`); the parser
adds statements and a few hooks to sqlglot's own expression grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from . import syntax as s
from .errors import GqlError, from_parse_error, from_token_error, position_in
from .pattern_parser import PatternParser

_DIALECT = BigQuery()
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_STATEMENT_WORDS = (
    "MATCH",
    "OPTIONAL",
    "LET",
    "FILTER",
    "FOR",
    "RETURN",
    "WITH",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "SKIP",
    "CALL",
)


def tokenize(text: str) -> list[Token]:
    """The tokens of a text. FILTER is a statement in GQL, so it loses its SQL meaning.

    Raises GqlError, with its place, for an unterminated string, name or comment.
    """
    try:
        tokens = _DIALECT.tokenize(text)
    except TokenError as error:
        raise from_token_error(error, text) from error
    for token in tokens:
        if token.token_type == TokenType.FILTER:
            token.token_type = TokenType.VAR
        elif token.token_type == TokenType.NUMBER and not _NUMBER.fullmatch(token.text):
            place = position_in(text, token.start)
            raise GqlError(f"Syntax error: '{token.text}' is not a number", *place)
    return tokens


def parse(text: str) -> exp.Expression:
    """The syntax tree of one statement that may hold GQL. Raises GqlError."""
    tokens = tokenize(text)
    try:
        trees = [t for t in GqlParser(dialect=_DIALECT).parse(tokens, text) if t is not None]
    except ParseError as error:
        raise from_parse_error(error, text) from error
    if len(trees) != 1:
        place = position_in(text, len(text.rstrip()))
        raise GqlError(f"Expected one statement but got {len(trees)}", *place)
    return trees[0]


class GqlParser(PatternParser):
    """sqlglot's BigQuery parser, extended."""

    # `x FOR y IN z` is a list comprehension to sqlglot; here FOR starts the next statement
    RANGE_PARSERS: ClassVar = {
        kind: rule for kind, rule in BigQuery.Parser.RANGE_PARSERS.items() if kind != TokenType.FOR
    }

    # ------------------------------------------------------------------------ statements

    def _parse_statement(self) -> exp.Expression | None:
        self.skip_hint()
        if self.next_is("GRAPH") and self._next and self._next.token_type != TokenType.DOT:
            self._advance()
            named, graph = self._curr, self.dotted_name()
            query = self.query()
            if self._curr and self._curr.token_type != TokenType.SEMICOLON:
                self.fail(f"Syntax error: Unexpected {self.shown()}")
            return s.GraphQuery(graph=graph, query=query).update_positions(named)
        return super()._parse_statement()

    def query(self) -> s.Query:
        blocks = [self.composite()]
        while self.take("NEXT"):
            blocks.append(self.composite())
        return tuple(blocks)

    def composite(self) -> s.Composite:
        first = self.linear_query()
        rest = []
        while operator := self.set_operator():
            if rest and (operator.kind, operator.distinct) != (
                rest[0][0].kind,
                rest[0][0].distinct,
            ):
                raise GqlError(
                    "Different set operations cannot be combined without NEXT between them",
                    *(operator.position or (None, None)),
                )
            rest.append((operator, self.linear_query()))
        return s.Composite(first, tuple(rest))

    def set_operator(self) -> s.SetOperator | None:
        start, position = self._index, self.place()
        side = self.name().upper() if self.next_is("LEFT", "FULL", "INNER") else ""
        if side in ("LEFT", "FULL"):
            self.take("OUTER")
        if not self.next_is("UNION", "INTERSECT", "EXCEPT"):
            self._retreat(start)
            return None
        kind = self.name().upper()
        if not self.next_is("ALL", "DISTINCT"):
            self.fail(f"Syntax error: Expected ALL or DISTINCT after {kind} but got {self.shown()}")
        distinct = self.name().upper() == "DISTINCT"
        return s.SetOperator(kind, distinct, side, position)

    def linear_query(self) -> tuple[s.Statement, ...]:
        found: list[s.Statement] = []
        while True:
            if self.next_is("NEXT") and found:
                self.fail("Syntax error: NEXT must follow RETURN")
            statement = self.statement()
            found.append(statement)
            if isinstance(statement, s.Projection) and statement.final:
                return tuple(found)

    def statement(self) -> s.Statement:
        position = self.place()
        optional = self.take("OPTIONAL")
        if self.take("MATCH"):
            return self.match_statement(optional, position)
        if self.take("CALL"):
            return self.call_statement(optional, position)
        if optional:
            self.fail(f"Syntax error: Expected MATCH or CALL after OPTIONAL but got {self.shown()}")
        if self._match(TokenType.ORDER_BY, advance=False):
            return s.OrderBy(self._parse_order(), position)
        for word, rule in self._rules().items():
            if self.take(word):
                return rule(position)
        if self.next_is("TABLESAMPLE"):
            self.refuse("TABLESAMPLE")
        if self.next_is("INSERT", "SET", "DELETE", "REMOVE", "DETACH"):
            self.refuse(f"The graph statement {self._curr.text.upper()}")
        self.fail(f"Syntax error: Expected a graph statement but got {self.shown()}")
        raise AssertionError

    def _rules(self) -> dict[str, Callable]:
        return {
            "LET": self.let_statement,
            "FILTER": self.filter_statement,
            "FOR": self.for_statement,
            "LIMIT": lambda place: s.Limit(limit=self._parse_unary(), position=place),
            "OFFSET": lambda place: s.Limit(offset=self._parse_unary(), position=place),
            "SKIP": lambda place: s.Limit(offset=self._parse_unary(), position=place),
            "RETURN": lambda place: self.projection(True, place),
            "WITH": lambda place: self.projection(False, place),
        }

    def call_statement(self, optional, position) -> s.Call:
        variables: list[str] = []
        if self._match(TokenType.L_PAREN):
            if not self._match(TokenType.R_PAREN):
                variables.append(self.name())
                while self._match(TokenType.COMMA):
                    variables.append(self.name())
                self.expect_token(TokenType.R_PAREN, ")")
        elif self._match(TokenType.L_BRACE, advance=False):
            self.fail("CALL with a subquery names its variables: write CALL () { ... } for none")
        else:
            self.refuse("CALL of a table-valued function")
        self.expect_token(TokenType.L_BRACE, "{")
        query = self.query()
        self.expect_token(TokenType.R_BRACE, "}")
        return s.Call(optional, tuple(variables), query, position)

    def let_statement(self, position) -> s.Let:
        items = [self.let_item()]
        while self._match(TokenType.COMMA):
            items.append(self.let_item())
        return s.Let(tuple(items), position)

    def let_item(self) -> tuple[str, exp.Expression]:
        name = self.name()
        self.expect_token(TokenType.EQ, "=")
        return name, self.scalar()

    def filter_statement(self, position) -> s.Filter:
        self.take("WHERE")
        return s.Filter(self.scalar(), position)

    def for_statement(self, position) -> s.For:
        variable = self.name()
        self.expect_token(TokenType.IN, "IN")
        array = self.scalar()
        offset = None
        if self.take("WITH", "OFFSET"):
            offset = self.name() if self.take("AS") else "offset"
        return s.For(variable, array, offset, position)

    def projection(self, final: bool, position) -> s.Projection:
        distinct = self.take("DISTINCT")
        if not distinct:
            self.take("ALL")
        items = [self.item()]
        while self._match(TokenType.COMMA):
            items.append(self.item())
        group, group_all = None, False
        if self._match(TokenType.GROUP_BY):
            group_all = self.take("ALL")
            group = () if group_all else self.grouping()
        order = limit = offset = None
        if final:
            if self._match(TokenType.ORDER_BY, advance=False):
                order = self._parse_order()
            if self.take("OFFSET") or self.take("SKIP"):
                offset = self._parse_unary()
            if self.take("LIMIT"):
                limit = self._parse_unary()
        return s.Projection(
            tuple(items), distinct, group, group_all, order, limit, offset, final, False, position
        )

    def grouping(self) -> tuple[exp.Expression, ...]:
        if self._match(TokenType.L_PAREN):
            if self._match(TokenType.R_PAREN):
                return ()
            self._retreat(self._index - 1)
        keys = [self.scalar()]
        while self._match(TokenType.COMMA):
            keys.append(self.scalar())
        return tuple(keys)

    def item(self) -> s.Item:
        position = self.place()
        if self._match(TokenType.STAR):
            return s.Item(None, None, position)
        value = self.scalar()
        return s.Item(value, self.name() if self.take("AS") else None, position)

    # --------------------------------------------------- GQL inside SQL and inside itself

    def _parse_table(self, *args, **kwargs) -> exp.Expression | None:
        following = self._next
        if self.next_is("GRAPH_TABLE") and following and following.token_type == TokenType.L_PAREN:
            return self.graph_table()
        if self.next_is("GRAPH_EXPAND") and following and following.token_type == TokenType.L_PAREN:
            self.refuse("GRAPH_EXPAND")
        return super()._parse_table(*args, **kwargs)

    def graph_table(self) -> s.GraphTable:
        place = self.place()
        self._advance()
        self._advance()
        named, graph = self._curr, self.dotted_name()
        query = self.graph_table_query()
        self.expect_token(TokenType.R_PAREN, ")")
        if self.next_is("TABLESAMPLE"):
            self.refuse("TABLESAMPLE")
        found = s.GraphTable(graph=graph, query=query, position=place).update_positions(named)
        found.set("alias", self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS))
        return found

    def graph_table_query(self) -> s.Query:
        """A GQL query, or the shorter SQL/PGQ form: one MATCH and, perhaps, COLUMNS."""
        start, position = self._index, self.place()
        if not self.take("MATCH"):
            return self.query()
        match = self.match_statement(False, position)
        here = self.place()
        if self.take("COLUMNS"):
            self.expect_token(TokenType.L_PAREN, "(")
            items = [self.item()]
            while self._match(TokenType.COMMA):
                items.append(self.item())
            self.expect_token(TokenType.R_PAREN, ")")
            return (self._single(match, s.Projection(tuple(items), columns=True, position=here)),)
        if self._match(TokenType.R_PAREN, advance=False):
            return (self._single(match, s.Projection((s.Item(None),), position=here)),)
        self._retreat(start)
        return self.query()

    @staticmethod
    def _single(*statements: s.Statement) -> s.Composite:
        return s.Composite(tuple(statements))

    def _parse_unary(self) -> exp.Expression | None:
        brace = self._next and self._next.token_type == TokenType.L_BRACE
        if brace and self.next_is("EXISTS", "ARRAY", "VALUE"):
            kind = self.name().upper()
            return self._parse_column_ops(self._parse_bracket(self.graph_subquery(kind)))
        opens = self._next and self._next.token_type == TokenType.L_PAREN
        if opens and self.next_is("WITH"):
            return self._parse_column_ops(self._parse_bracket(self.with_expression()))
        return super()._parse_unary()

    def with_expression(self) -> s.WithExpression:
        self._advance()
        self._advance()
        names: list[str] = []
        values: list[exp.Expression] = []
        while True:
            value = self._parse_with_operand(names)
            if self._match(TokenType.COMMA):
                values.append(value)
                continue
            if len(names) != len(values):
                self.fail("Syntax error: WITH takes name AS value, ... and then one result")
            self.expect_token(TokenType.R_PAREN, ")")
            return s.WithExpression(this=value, names=tuple(names), expressions=values)

    def _parse_with_operand(self, names: list[str]) -> exp.Expression:
        if self._next and self._next.text.upper() == "AS":
            names.append(self.name())
            self._advance()
        return self.scalar()

    def graph_subquery(self, kind: str) -> s.GraphSubquery:
        self.expect_token(TokenType.L_BRACE, "{")
        graph = None
        if self.take("GRAPH"):
            named, graph = self._curr, self.dotted_name()
        position = self.place()
        if not self.next_is(*_STATEMENT_WORDS):
            if kind != "EXISTS":
                self.fail(f"Syntax error: Expected a graph query in {kind} but got {self.shown()}")
            query: s.Query = (self._single(self.match_statement(False, position)),)
        elif kind == "EXISTS":
            query = self.exists_query()
        else:
            query = self.query()
        self.expect_token(TokenType.R_BRACE, "}")
        found = s.GraphSubquery(kind=kind, graph=graph, query=query)
        return found.update_positions(named) if graph else found

    def exists_query(self) -> s.Query:
        """EXISTS also takes MATCH statements without a RETURN."""
        start = self._index
        statements: list[s.Statement] = []
        while self.next_is("MATCH", "OPTIONAL"):
            statements.append(self.statement())
        if statements and self._match(TokenType.R_BRACE, advance=False):
            return (self._single(*statements),)
        self._retreat(start)
        return self.query()

    def _parse_in(self, this, alias=False) -> exp.In:
        if self._match(TokenType.L_BRACE, advance=False):
            return exp.In(this=this, query=self.graph_subquery("IN"))
        return super()._parse_in(this, alias)

    def _parse_is(self, this) -> exp.Expression | None:
        start = self._index
        negated = bool(self._match(TokenType.NOT))
        if self.take("LABELED"):
            return s.GraphPredicate(
                this=this, kind="LABELED", label=self.label_expression(), negated=negated
            )
        if self.next_is("SOURCE", "DESTINATION"):
            kind = self.name().upper()
            self.take("OF")
            other = self._parse_column()
            if other is None:
                self.fail(f"Syntax error: Expected an element after {kind} OF")
            return s.GraphPredicate(this=this, kind=kind, expression=other, negated=negated)
        self._retreat(start)
        return super()._parse_is(this)

    def _parse_having_max(self, this) -> exp.Expression | None:
        """HAVING MAX takes any expression, not only a column."""
        if not self._match(TokenType.HAVING):
            return this
        self._match_texts(("MAX", "MIN"))
        largest = self._prev.text.upper() != "MIN"
        return exp.HavingMax(this=this, expression=self.scalar(), max=largest)
