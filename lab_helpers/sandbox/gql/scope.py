"""Names in sight of an expression."""

from __future__ import annotations

from collections.abc import Iterator

from .elements import Value


class Scope:
    """Variables by folded name, then those of the enclosing query.

    `tables` holds, for SQL around a graph, the columns of each table alias. `open` scopes let
    unknown names through to the engine, because SQL outside may define them.
    """

    def __init__(self, outer: Scope | None = None, open_: bool | None = None):
        self.outer = outer
        self.open = open_ if open_ is not None else (outer.open if outer else False)
        self.names: dict[str, Value] = {}
        self.written: dict[str, str] = {}
        self.tables: dict[str, dict[str, Value]] = {}

    def set(self, name: str, value: Value) -> None:
        self.names[name.lower()] = value
        self.written.setdefault(name.lower(), name)

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        folded = name.lower()
        while scope is not None:
            if folded in scope.names:
                return scope.names[folded]
            scope = scope.outer
        return None

    def find_table(self, name: str) -> dict[str, Value] | None:
        scope: Scope | None = self
        folded = name.lower()
        while scope is not None:
            if folded in scope.tables:
                return scope.tables[folded]
            scope = scope.outer
        return None

    def items(self) -> Iterator[tuple[str, Value]]:
        """The variables of this scope alone, with their names as written."""
        for folded, value in self.names.items():
            yield self.written[folded], value

    def visible(self) -> list[str]:
        found, scope = [], self
        while scope is not None:
            found += scope.written.values()
            scope = scope.outer
        return found

    def child(self) -> Scope:
        return Scope(outer=self)
