"""The working table: what a statement hands to the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from .columns import rebound
from .elements import Value
from .scope import Scope
from .sqlnodes import number, select, star, subquery

Constants = dict[tuple[str, str], exp.Expression]  # (variable, property) forced to equal a value


@dataclass
class Working:
    """Rows (None before the first statement: one row without columns) and their variables."""

    relation: exp.Subquery | None
    scope: Scope
    constants: Constants = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.relation.alias if self.relation is not None else ""

    def columns(self) -> list[exp.Expression]:
        return [star(self.name)] if self.relation is not None else []

    def one_row(self, name: str) -> exp.Subquery:
        """The rows, or the single row that stands for none."""
        return self.relation or subquery(select([("$one", number(1))]), name)

    def wrapped(self, query: exp.Select, name: str) -> Working:
        """The same variables over `query`, which selects this relation's columns and more."""
        scope = Scope(self.scope.outer, self.scope.open)
        for written, value in self.scope.items():
            scope.set(written, carried(value, name, written))
        return Working(subquery(query, name), scope, dict(self.constants))


def carried(value: Value, relation: str, written: str) -> Value:
    """A variable read from another relation under the column names it already has."""
    return rebound(value, relation, column_name(value, written))


def column_name(value: Value, written: str) -> str:
    prefix = getattr(value, "prefix", None)
    if prefix is not None:
        return prefix
    expression = getattr(value, "expression", None)
    if isinstance(expression, exp.Column):
        return expression.name
    return written
