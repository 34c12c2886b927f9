"""Grammar of graph patterns: paths, nodes, edges, labels, quantifiers, selectors."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.tokens import Token, TokenType

from . import syntax as s
from .errors import GqlError, Position, Unsupported, refusal

MODES = ("WALK", "TRAIL", "ACYCLIC", "SIMPLE")
SELECTORS = ("ANY", "SHORTEST", "CHEAPEST")
_OPENS_FILLER = (TokenType.COLON, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.L_BRACE)
_OPENS_TERM = (TokenType.L_PAREN, TokenType.DASH, TokenType.ARROW, TokenType.LT)


class TokenReader(BigQuery.Parser):
    """The reading steps that every GQL rule shares."""

    def place(self, token: Token | None = None) -> Position:
        token = token or self._curr or self._prev
        if not token:  # sqlglot's mark of the end is not None
            return 1, 1
        return token.line, max(token.col - (token.end - token.start), 1)

    def validate_expression(self, expression, args=None):
        if expression is None:  # what sqlglot makes of some calls without arguments
            self.fail(f"Syntax error: An argument is missing before {self.shown()}")
        return super().validate_expression(expression, args)

    def fail(self, message: str, kind: type[GqlError] = GqlError) -> None:
        raise kind(message, *self.place())

    def refuse(self, construct: str) -> None:
        self.fail(refusal(construct), Unsupported)

    def next_is(self, *words: str) -> bool:
        token = self._curr
        return (
            bool(token)
            and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
            and token.text.upper() in words
        )

    def take(self, *words: str) -> bool:
        return bool(self.next_is(words[0]) and self._match_text_seq(*words))

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            self.fail(f"Syntax error: Expected {' '.join(words)} but got {self.shown()}")

    def expect_token(self, kind: TokenType, shown: str) -> None:
        if not self._match(kind):
            self.fail(f'Syntax error: Expected "{shown}" but got {self.shown()}')

    def shown(self) -> str:
        return f"'{self._curr.text}'" if self._curr else "end of statement"

    def name(self) -> str:
        token = self._curr
        quoted = bool(token) and token.token_type == TokenType.IDENTIFIER
        if not token or not (quoted or re.match(r"[^\W\d]", token.text)):
            self.fail(f"Syntax error: Expected a name but got {self.shown()}")
        if token.token_type == TokenType.STRING:
            self.fail(f"Syntax error: Expected a name but got the string '{token.text}'")
        self._advance()
        return token.text

    def dotted_name(self) -> str:
        parts = [self.name()]
        while self._match(TokenType.DOT):
            parts.append(self.name())
        return ".".join(parts)

    def names_in_parentheses(self) -> list[str]:
        self.expect_token(TokenType.L_PAREN, "(")
        names = [self.name()]
        while self._match(TokenType.COMMA):
            names.append(self.name())
        self.expect_token(TokenType.R_PAREN, ")")
        return names

    def scalar(self) -> exp.Expression:
        found = self._parse_disjunction()
        if found is None:
            self.fail(f"Syntax error: Expected an expression but got {self.shown()}")
        return found

    def skip_hint(self) -> None:
        """`@{...}` steers an optimiser; it never changes a result."""
        token = self._curr
        if (
            token
            and token.token_type == TokenType.PARAMETER
            and self._next
            and self._next.token_type == TokenType.L_BRACE
        ):
            while self._curr and not self._match(TokenType.R_BRACE):
                self._advance()


class PatternParser(TokenReader):
    """MATCH patterns."""

    def match_statement(self, optional: bool, position: Position | None) -> s.Match:
        self.skip_hint()
        paths = [self.path_pattern()]
        while self._match(TokenType.COMMA):
            self.skip_hint()
            paths.append(self.path_pattern())
        where = self.scalar() if self.take("WHERE") else None
        if self.next_is("TABLESAMPLE"):
            self.refuse("TABLESAMPLE")
        return s.Match(tuple(paths), where, optional, position)

    def path_pattern(self) -> s.PathPattern:
        position = self.place()
        variable = None
        if self._next and self._next.token_type == TokenType.EQ:
            variable = self.name()
            self._advance()
        selector = self.selector()
        mode = self.path_mode()
        return s.PathPattern(self.terms(), variable, mode, selector, position)

    def selector(self) -> s.Selector | None:
        if self.take("ALL"):
            if self.next_is("SHORTEST"):
                self.refuse("ALL SHORTEST")
            return None
        if not self.next_is(*SELECTORS):
            return None
        kind = self.name().upper()
        if kind == "ANY" and self.next_is("SHORTEST", "CHEAPEST"):
            kind = self.name().upper()
        elif self._curr and self._curr.token_type in (TokenType.NUMBER, TokenType.PARAMETER):
            count = self._parse_unary()
            self.take("PATHS") or self.take("PATH")
            if self.next_is("GROUP", "GROUPS"):
                self.refuse("SHORTEST ... GROUPS")
            return s.Selector(kind, count)
        elif kind != "ANY":
            self.fail(f"Syntax error: {kind} needs a path count, or ANY before it")
        self.take("PATHS") or self.take("PATH")
        return s.Selector(kind, exp.Literal.number(1))

    def path_mode(self) -> str | None:
        if not self.next_is(*MODES):
            return None
        mode = self.name().upper()
        self.take("PATHS") or self.take("PATH")
        return mode

    def terms(self) -> tuple[s.Term, ...]:
        found: list[s.Term] = []
        while self._curr:
            self.skip_hint()
            kind = self._curr.token_type if self._curr else None
            position = self.place()
            if kind == TokenType.L_PAREN:
                term = self.parenthesised()
            elif kind in (TokenType.DASH, TokenType.ARROW) or (
                kind == TokenType.LT and self._next and self._next.token_type == TokenType.DASH
            ):
                term = self.edge()
            else:
                break
            found.append(self.quantifier(term, position))
        if not found:
            self.fail(f"Syntax error: Expected a graph pattern but got {self.shown()}")
        return tuple(found)

    def quantifier(self, term: s.Term, position: Position | None) -> s.Term:
        if self._match(TokenType.STAR):
            bounds: tuple[int, int | None] = (0, None)
        elif self._match(TokenType.PLUS):
            bounds = (1, None)
        elif self._match(TokenType.PLACEHOLDER):
            bounds = (0, 1)
        elif self._match(TokenType.L_BRACE):
            bounds = self.bounds()
        else:
            return term
        low, high = bounds
        if isinstance(term, s.NodePattern):
            raise GqlError(
                "Quantifier cannot be used on a node pattern", *(position or (None, None))
            )
        if high is not None and (high < low or high == 0):
            raise GqlError(
                "The upper bound of a quantifier must be positive and not below its lower bound",
                *(position or (None, None)),
            )
        body = term if isinstance(term, s.SubPath) else s.SubPath((term,), position=position)
        return s.Quantified(body, low, high, position)

    def bounds(self) -> tuple[int, int | None]:
        if self._curr and self._curr.token_type == TokenType.PARAMETER:
            self.refuse("A query parameter as a quantifier bound")
        low = self.bound()
        high = low
        if self._match(TokenType.COMMA):
            if self._curr and self._curr.token_type == TokenType.PARAMETER:
                self.refuse("A query parameter as a quantifier bound")
            high = self.bound()
        elif low is None:
            self.fail(f"Syntax error: Expected a quantifier bound but got {self.shown()}")
        self.expect_token(TokenType.R_BRACE, "}")
        return low or 0, high

    def bound(self) -> int | None:
        token = self._curr
        if not token or token.token_type != TokenType.NUMBER:
            return None
        if not token.text.isdigit():
            self.fail(f"Syntax error: A quantifier bound is a whole number, not {self.shown()}")
        self._advance()
        return int(token.text)

    def parenthesised(self) -> s.Term:
        position = self.place()
        self._advance()
        self.skip_hint()
        if self._opens_node():
            node = s.NodePattern(**self.filler(), position=position)
            self.expect_token(TokenType.R_PAREN, ")")
            return node
        if self._next and self._next.token_type == TokenType.EQ:
            self.refuse("A path variable inside a path pattern")
        if self.next_is("ANY", "SHORTEST", "CHEAPEST", "ALL"):
            self.refuse("A path search prefix inside a path pattern")
        mode = self.path_mode()
        terms = self.terms()
        where = self.scalar() if self.take("WHERE") else None
        self.expect_token(TokenType.R_PAREN, ")")
        return s.SubPath(terms, where, mode, position)

    def _opens_node(self) -> bool:
        """After '(': is it a node's filler rather than a parenthesised path?"""
        if self._curr is None:
            return True
        if self._curr.token_type in _OPENS_FILLER or self.next_is("IS", "WHERE", "COST"):
            return True
        if self._curr.token_type in _OPENS_TERM:
            return False
        following = self._next
        if following is None:
            return True
        if self.next_is(*MODES) and following.token_type in _OPENS_TERM:
            return False
        return following.token_type in _OPENS_FILLER or following.text.upper() in (
            "IS",
            "WHERE",
            "COST",
        )

    def edge(self) -> s.EdgePattern:
        position = self.place()
        if self._match(TokenType.ARROW):
            return s.EdgePattern(direction=">", position=position)
        leftward = bool(self._match(TokenType.LT))
        self.expect_token(TokenType.DASH, "-")
        direction = "<" if leftward else "-"
        if not self._match(TokenType.L_BRACKET):
            return s.EdgePattern(direction=direction, position=position)
        filler = self.filler()
        self.expect_token(TokenType.R_BRACKET, "]")
        if self._match(TokenType.ARROW):
            if leftward:
                self.fail("Syntax error: An edge pattern cannot point both ways")
            direction = ">"
        else:
            self.expect_token(TokenType.DASH, "-")
        return s.EdgePattern(**filler, direction=direction, position=position)

    def filler(self) -> dict:
        """What stands between the brackets: variable, label, properties or WHERE, cost."""
        self.skip_hint()
        found: dict = {}
        if (
            self._curr
            and self._curr.token_type not in _OPENS_FILLER
            and not self._keyword_of_filler()
        ):
            found["variable"] = self.name()
        if self._match(TokenType.COLON) or self.take("IS"):
            found["label"] = self.label_expression()
        if self.take("WHERE"):
            found["where"] = self.scalar()
        elif self._match(TokenType.L_BRACE):
            pairs = [self.property_pair()]
            while self._match(TokenType.COMMA):
                pairs.append(self.property_pair())
            self.expect_token(TokenType.R_BRACE, "}")
            found["properties"] = tuple(pairs)
            if self.next_is("WHERE"):
                self.fail("Syntax error: An element takes properties in braces or WHERE, not both")
        if self.take("COST"):
            found["cost"] = self.scalar()
        return found

    def _keyword_of_filler(self) -> bool:
        """IS, WHERE and COST open a clause unless they are themselves the variable's name."""
        if not self.next_is("IS", "WHERE", "COST"):
            return False
        return bool(self._next and self._next.token_type not in _OPENS_FILLER)

    def property_pair(self) -> tuple[exp.Identifier, exp.Expression]:
        token = self._curr
        name = exp.to_identifier(self.name()).update_positions(token)
        self.expect_token(TokenType.COLON, ":")
        return name, self.scalar()

    # ------------------------------------------------------------------ label expressions

    def label_expression(self) -> s.LabelExpression:
        left = self._label_conjunction()
        while self._match(TokenType.PIPE):
            left = s.LabelOr(left, self._label_conjunction())
        return left

    def _label_conjunction(self) -> s.LabelExpression:
        left = self._label_primary()
        while self._match(TokenType.AMP):
            left = s.LabelAnd(left, self._label_primary())
        return left

    def _label_primary(self) -> s.LabelExpression:
        if self._match(TokenType.NOT):
            return s.LabelNot(self._label_primary())
        if self._match(TokenType.L_PAREN):
            inner = self.label_expression()
            self.expect_token(TokenType.R_PAREN, ")")
            return inner
        if self._match(TokenType.MOD):
            return s.LabelWildcard()
        position = self.place()
        return s.LabelName(self.name(), position)
