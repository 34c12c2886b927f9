"""The errors of the GQL front end: what happened, where in the text, and the nearest valid name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

_UNCLOSED = {"`": "identifier literal", "*/": "comment"}


class GqlError(Exception):
    """A GQL text or a property graph definition that the service would refuse.

    `line` and `column` are 1-based positions in the text, or None without a text.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"{self.message} [at {self.line}:{self.column}]"


class Unsupported(GqlError):
    """A valid construct that this front end does not run; the message names it."""


class GraphNotFound(GqlError):
    """A query names a graph that is not there; `graph` is the name as written."""

    graph: str = ""


Position = tuple[int, int]


def position_in(text: str, offset: int) -> Position:
    """The 1-based line and column of a character offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def position_of(node: object) -> Position | None:
    """The position of the first token under a syntax tree node, when the parser recorded one.

    sqlglot records the column of a token's last character and its offsets; the start follows.
    """
    if not isinstance(node, exp.Expression):
        return getattr(node, "position", None)
    places = [n.meta for n in node.walk() if "line" in n.meta]
    if not places:
        return None
    first = min(places, key=lambda meta: meta["start"])
    return first["line"], max(first["col"] - (first["end"] - first["start"]), 1)


def error_at(node: object, message: str, kind: type[GqlError] = GqlError) -> GqlError:
    """An error of `kind` that points at a node (or at nothing when the node has no position)."""
    place = position_of(node)
    return kind(message, *place) if place else kind(message)


@contextmanager
def placed_at(node: object) -> Iterator[None]:
    """An error that knows no place of its own is about `node`."""
    try:
        yield
    except GqlError as error:
        if error.line is None and (place := position_of(node)):
            error.line, error.column = place
        raise


def refusal(construct: str) -> str:
    return f"{construct} is not supported by the local graph engine; run it on the cloud service"


def unsupported(node: object, construct: str) -> Unsupported:
    """The refusal of a construct by name."""
    error = error_at(node, refusal(construct), Unsupported)
    assert isinstance(error, Unsupported)
    return error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'; did you mean X?' for the nearest known name, or ''."""
    by_fold = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), by_fold, n=1, cutoff=0.6)
    return f"; did you mean '{by_fold[close[0]]}'?" if close else ""


def from_parse_error(error: ParseError, text: str) -> GqlError:
    """The same complaint as sqlglot's, in the shape of the service's."""
    details = error.errors[0] if error.errors else {}
    line, end = details.get("line"), details.get("col")
    word = details.get("highlight") or ""
    reason = (details.get("description") or str(error)).rstrip(".")
    if line is None:  # then the reason may quote the text, or the text ends too early
        quoted = re.search(r"'([^']+)'", reason)
        offset = text.rfind(quoted[1]) if quoted else -1
        place = position_in(text, offset if offset >= 0 else len(text.rstrip()))
        return GqlError(f"Syntax error: {reason}", *place)
    shown = f" near '{word}'" if word and word not in reason else ""
    return GqlError(f"Syntax error: {reason}{shown}", line, max(end - len(word) + 1, 1))


def from_token_error(error: TokenError, text: str) -> GqlError:
    """The cause names what never ended, and the offset where it began."""
    cause = error.__cause__ or error
    unclosed = re.match(r"Missing (\S+) from \d+:(\d+)", str(cause))
    if unclosed is None:
        return GqlError(f"Syntax error: {cause}", *position_in(text, len(text)))
    mark, start = unclosed[1], int(unclosed[2])
    kind = _UNCLOSED.get(mark, "string literal")
    return GqlError(f"Syntax error: Unclosed {kind}", *position_in(text, start))
