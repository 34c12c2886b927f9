"""The way in: one text to one DuckDB tree."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from . import syntax as s
from .elements import ElementList, Path, Scalar, expression_of
from .errors import GqlError, error_at
from .needs import Needs
from .outer import SqlAround
from .parser import parse, tokenize
from .schema import PropertyGraph, Tables
from .scope import Scope
from .sqlnodes import select
from .statements import Lowering

CACHE_SIZE = 256
_BROKEN_GQL = re.compile(r"^\s*GRAPH\s|\bGRAPH_TABLE\s*\(", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Lowered:
    """A statement in DuckDB's terms.

    `tree` prints with `.sql("duckdb")`; it still holds exp.Parameter for @name and
    exp.CurrentTimestamp. It is the caller's own copy. `columns` are the output names in order, or
    () where only the engine can tell (a star over a table). `graphs` are the graphs it reads.
    """

    tree: exp.Expression
    columns: tuple[str, ...]
    graphs: tuple[str, ...]


class _Cache:
    """Lowered texts, for the graphs they were lowered with."""

    def __init__(self, size: int):
        self._size = size
        self._entries: OrderedDict[tuple, tuple[Lowered, tuple]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple) -> Lowered | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: tuple, lowered: Lowered, graphs: tuple) -> None:
        """The graphs are kept alive, so that their identities stay unique."""
        with self._lock:
            self._entries[key] = (lowered, graphs)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)


_cache = _Cache(CACHE_SIZE)


def lower(sql: str, graphs: Mapping[str, PropertyGraph], tables: Tables) -> Lowered:
    """The DuckDB tree of a GRAPH statement, or of SQL that holds GRAPH_TABLE or GQL subqueries.

    Graph names match in any case: as written, then by the last part of a dotted name. Raises
    GqlError for what the service would refuse and Unsupported for what this front end does not run.
    """
    known = tuple(sorted(graphs.items()))
    key = (sql, tuple((name, id(graph)) for name, graph in known))
    found = _cache.get(key)
    if found is not None:
        return Lowered(found.tree.copy(), found.columns, found.graphs)
    found, lasting = _lowered(sql, graphs, tables)
    if lasting:
        _cache.put(key, Lowered(found.tree.copy(), found.columns, found.graphs), known)
    return found


def _lowered(sql: str, graphs: Mapping[str, PropertyGraph], tables: Tables) -> tuple[Lowered, bool]:
    """The lowered text, and whether it holds for these graphs whatever the tables become."""
    tree = parse(sql)
    lowering = Lowering(graphs, tables, Needs(tree))
    if isinstance(tree, s.GraphQuery):
        query, columns = _graph_query(lowering, tree)
    else:
        query, columns = SqlAround(lowering).statement(tree)
    return Lowered(query, columns, tuple(lowering.used_graphs)), not lowering.asked_tables


def _graph_query(lowering: Lowering, tree: s.GraphQuery) -> tuple[exp.Expression, tuple[str, ...]]:
    graph = lowering.find_graph(tree.args["graph"], tree)
    working = lowering.query(tree.args["query"], graph, Scope(None, open_=False))
    last = tree.args["query"][-1].first[-1]
    items = []
    for name, value in working.scope.items():
        if not isinstance(value, Scalar):
            shown = (
                "a path"
                if isinstance(value, Path)
                else "an array of graph elements"
                if isinstance(value, ElementList)
                else f"a graph {value.kind}"
            )
            raise error_at(
                last,
                f"Column {name} is {shown}, which a query cannot return; return its properties, "
                f"or TO_JSON({name}) AS {name}",
            )
        items.append((name, expression_of(value)))
    columns = tuple(name for name, _ in items)
    inner = working.relation.this
    written = [e.alias for e in inner.expressions] if isinstance(inner, exp.Select) else []
    if tuple(written) == columns:
        return inner, columns
    return select(items, working.relation), columns


def mentions_graph(sql: str) -> bool:
    """Does a text hold a GRAPH statement, GRAPH_TABLE( or a GQL subquery?

    Strings, comments and quoted names that only look like one do not count.
    """
    if "graph" not in sql.lower():
        return False
    try:
        tokens = [t for t in tokenize(sql) if t.token_type != TokenType.HINT]
    except GqlError:  # a string that never ends: what stands before it must decide
        return _BROKEN_GQL.search(sql) is not None
    if _starts_graph(tokens):
        return True
    for i, token in enumerate(tokens[:-1]):
        following = tokens[i + 1]
        word = token.text.upper() if token.token_type == TokenType.VAR else ""
        if word in ("GRAPH_TABLE", "GRAPH_EXPAND") and following.token_type == TokenType.L_PAREN:
            return True
        if token.token_type == TokenType.L_BRACE and _is_word(following, "GRAPH"):
            return True
    return False


def _is_word(token: Token, word: str) -> bool:
    return token.token_type == TokenType.VAR and token.text.upper() == word


def _starts_graph(tokens: list[Token]) -> bool:
    start = 0
    if len(tokens) > 1 and tokens[0].token_type == TokenType.PARAMETER:  # @{hint}
        while start < len(tokens) and tokens[start].token_type != TokenType.R_BRACE:
            start += 1
        start += 1
    return len(tokens) > start + 1 and _is_word(tokens[start], "GRAPH")
