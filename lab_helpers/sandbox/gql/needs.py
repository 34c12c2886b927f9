"""What a query uses of each variable, so that patterns carry no more.

Names are looked at without scopes: a name used twice for two things gets the uses of both, which
costs a column and never an answer.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from sqlglot import exp

from . import syntax as s
from .elements import WHOLE, Need

_BY_IDENTITY = {"SAME", "ALL_DIFFERENT", "ELEMENT_ID", "ELEMENT_DEFINITION_NAME", "COUNT"}


class Needs:
    def __init__(self, tree: exp.Expression):
        self._uses: dict[str, set[str | None]] = {}  # None in the set: the whole
        self._identity: set[str] = set()
        self._declared: dict[str, int] = {}
        self._all = False
        self._relations = self._relation = 0
        self._expression(tree)

    def of(self, variable: str) -> Need:
        folded = variable.lower()
        uses = self._uses.get(folded, set())
        if self._all or None in uses:
            return WHOLE
        again = self._declared.get(folded) == -1
        return Need(again or folded in self._identity, frozenset(uses))

    def used(self, variable: str) -> bool:
        return self._all or variable.lower() in self._uses or variable.lower() in self._identity

    def _look(self, value: object) -> None:
        if isinstance(value, exp.Expression):
            self._expression(value)
        elif isinstance(value, tuple | list):
            for part in value:
                self._look(part)
        elif is_dataclass(value):
            self._syntax(value)

    def _syntax(self, node: object) -> None:
        around = self._relation
        if isinstance(node, s.Match) or (isinstance(node, s.PathPattern) and node.selector):
            self._relations += 1  # a path with a search is joined to the others like a statement
            self._relation = self._relations
        if isinstance(node, s.ElementPattern | s.PathPattern) and node.variable:
            folded = node.variable.lower()
            first = self._declared.setdefault(folded, self._relation)
            if first != self._relation:
                self._declared[folded] = -1  # declared in two relations: joined by identity
        if isinstance(node, s.Item) and node.value is None:
            self._all = True
        if isinstance(node, s.Call):
            for variable in node.variables:
                self._uses.setdefault(variable.lower(), set()).add(None)
        for part in fields(node):  # type: ignore[arg-type]
            self._look(getattr(node, part.name))
        if isinstance(node, s.PathPattern):
            self._relation = around

    def _expression(self, tree: exp.Expression) -> None:
        for node in tree.walk():
            if isinstance(node, exp.Column):
                self._column(node)
            elif isinstance(node, s.GraphQuery | s.GraphTable | s.GraphSubquery):
                self._look(node.args["query"])

    def _column(self, node: exp.Column) -> None:
        parts = [p.name.lower() for p in node.parts]
        if isinstance(node.this, exp.Star):
            for name in parts[:-1]:
                self._uses.setdefault(name, set()).add(None)
            if len(parts) == 1:
                self._all = True
            return
        if len(parts) == 1:
            if isinstance(node.parent, exp.Is) or _names_function(node.parent):
                self._identity.add(parts[0])
            else:
                self._uses.setdefault(parts[0], set()).add(None)
            return
        self._uses.setdefault(parts[0], set()).add(parts[1])
        if len(parts) > 2:  # relation.variable.property
            self._uses.setdefault(parts[1], set()).add(parts[2])


def _names_function(node: exp.Expression | None) -> bool:
    if isinstance(node, exp.Count):
        return True
    return isinstance(node, exp.Anonymous) and str(node.this).upper() in _BY_IDENTITY
