"""A cursor over GoogleSQL tokens, for what sqlglot does not parse of Spanner's language."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.dialects.bigquery import BigQuery
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from lab_helpers.sandbox.gql import from_token_error
from lab_helpers.sandbox.spanner.errors import invalid


@dataclass(frozen=True)
class Token:
    """`text` without quotes; `start` and `end` are the offsets of its first and last character."""

    text: str
    start: int
    end: int
    quoted: bool = False

    @property
    def word(self) -> str:
        return "" if self.quoted else self.text.upper()


_QUOTED = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER})


def tokenize(sql: str) -> list[Token]:
    """The tokens of a statement. Raises INVALID_ARGUMENT on an unfinished string or comment."""
    tokens: list[Token] = []
    try:
        raw = BigQuery().tokenize(sql)
    except TokenError as error:
        raise invalid(str(from_token_error(error, sql))) from error
    for token in raw:
        if token.token_type in _QUOTED:
            tokens.append(Token(token.text, token.start, token.end, quoted=True))
            continue
        # The tokenizer glues some keyword pairs ("PRIMARY KEY") into one token.
        at = token.start
        for part in token.text.split() or [token.text]:
            found = sql.find(part, at)
            at = found if found >= 0 else at
            tokens.append(Token(part, at, at + len(part) - 1))
            at += len(part)
    return tokens


def position(sql: str, offset: int) -> str:
    """ "[at line:column]" of a character, as Spanner ends its messages."""
    line = sql.count("\n", 0, offset) + 1
    column = offset - (sql.rfind("\n", 0, offset) + 1) + 1
    return f"[at {line}:{column}]"


class Cursor:
    """Reads a statement from left to right."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._tokens = tokenize(sql)
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next >= len(self._tokens)

    def word(self, ahead: int = 0) -> str:
        """The upper-cased token `ahead` of the cursor; "" at the end or for quoted text."""
        index = self._next + ahead
        return self._tokens[index].word if index < len(self._tokens) else ""

    def accept(self, *words: str) -> bool:
        """Moves past these words if they come next."""
        if all(self.word(ahead) == word for ahead, word in enumerate(words)):
            self._next += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.error(f"Expecting '{' '.join(words)}' but found {self._found()}")

    def take(self) -> Token:
        if self.at_end:
            raise self.error("Unexpected end of statement")
        token = self._tokens[self._next]
        self._next += 1
        return token

    def identifier(self) -> str:
        """A name, with or without backticks; dotted names are refused by name."""
        token = self.take()
        if not token.quoted and not (token.text[0].isalpha() or token.text[0] == "_"):
            self._next -= 1
            raise self.error(f"Expecting a name but found {self._found()}")
        if self.word() == ".":
            raise self.error(f"Named schemas ({token.text}.…) are not part of the sandbox")
        return token.text

    def names(self) -> tuple[str, ...]:
        """A parenthesised list of names."""
        self.expect("(")
        found: list[str] = []
        while not self.accept(")"):
            found.append(self.identifier())
            if self.word() != ")":
                self.expect(",")
        return tuple(found)

    def parenthesised(self) -> str:
        """The text between a pair of parentheses."""
        self.expect("(")
        start, depth = self._tokens[self._next - 1].end + 1, 1
        while depth:
            token = self.take()
            depth += {"(": 1, ")": -1}.get(token.word, 0)
        return self.sql[start : token.start].strip()

    def rest(self) -> str:
        """Everything from the cursor to the end of the statement."""
        text = self.sql[self._tokens[self._next].start :] if not self.at_end else ""
        self._next = len(self._tokens)
        return text.rstrip().rstrip(";").rstrip()

    def unexpected(self) -> Exception:
        return self.error(f"Unexpected {self._found()}")

    def error(self, what: str) -> Exception:
        offset = len(self.sql) if self.at_end else self._tokens[self._next].start
        where = position(self.sql, offset)
        return invalid(f"Error parsing Spanner DDL statement: Syntax error: {what} {where}")

    def _found(self) -> str:
        return "the end" if self.at_end else f"'{self._tokens[self._next].text}'"
