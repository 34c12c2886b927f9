"""MATCH patterns as relations.

Paths without a search prefix are answered together; each path with one is a relation of its own,
because ANY, SHORTEST and CHEAPEST choose among its matches before anything joins them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from . import syntax as s
from .alternatives import Alternative, expand
from .branches import COST, FIRST, LAST, Branch
from .candidates import admitted, typings
from .columns import can_key, flat_nulls, flatten
from .costs import checked_total
from .elements import ColumnElement, Element, ElementList, Path, Value, struct_type
from .errors import error_at
from .schema import EDGE, NODE, PropertyGraph
from .scope import Scope
from .sqlnodes import call, cast, column, null, number, select, subquery, union_all

if TYPE_CHECKING:
    from .statements import Lowering


@dataclass
class Matched:
    """A pattern as a relation, and its variables."""

    relation: exp.Subquery
    names: dict[str, Value]


class Pattern:
    """One group of paths that is answered by one relation."""

    def __init__(
        self,
        lowering: Lowering,
        paths: tuple[s.PathPattern, ...],
        graph: PropertyGraph,
        incoming: Scope,
    ):
        self.lowering = lowering
        self.paths = paths
        self.graph = graph
        self.incoming = incoming
        self.selector = paths[0].selector
        self._check()
        self.alternatives = expand(paths)
        self.kinds: dict[str, str] = {}
        for alternative in self.alternatives:
            for name, slot in alternative.variables.items():
                self.kinds[name] = alternative.slots[slot].kind
            for name, group in alternative.groups.items():
                self.kinds[name] = f"group of {group.kind}"
        for path in paths:
            if path.variable:
                if path.variable.lower() in self.kinds:
                    raise error_at(path, f"Variable '{path.variable}' is declared twice")
                self.kinds[path.variable.lower()] = "path"
        self._check_names()

    def _check(self) -> None:
        for path in self.paths:
            costly = False
            for element in s.pattern_elements(path.terms):
                kind = EDGE if isinstance(element, s.EdgePattern) else NODE
                if element.label is not None:
                    self.lowering.check_labels(element.label, self.graph, kind)
                costly = costly or element.cost is not None
                if element.cost is not None and kind == NODE:
                    raise error_at(element, "COST is allowed on an edge pattern only")
            if path.selector and path.selector.kind == "CHEAPEST" and not costly:
                raise error_at(path, "CHEAPEST needs an edge pattern with COST")

    def _check_names(self) -> None:
        """A condition inside a path sees what stands in its own parentheses or brackets."""
        both = {n for a in self.alternatives for n in a.groups if n in a.variables}
        if both:
            name = sorted(both)[0]
            raise error_at(
                self.paths[0], f"'{name}' is a group variable and cannot be declared again"
            )
        for path in self.paths:
            for condition, visible in s.pattern_filters(path.terms):
                for name in sorted(self.lowering.references(condition, nested=False) - visible):
                    if name in self.incoming.names:
                        raise error_at(
                            condition,
                            f"Name '{name}', defined in the previous statement, can only be "
                            "referenced in the outermost WHERE clause of MATCH",
                        )
                    if name in self.kinds:
                        raise error_at(
                            condition,
                            f"Unrecognized name: {name}; a condition inside a pattern sees only "
                            "the elements it encloses. Move it to the WHERE clause of MATCH",
                        )

    def relation(self, where: list[exp.Expression]) -> Matched:
        """The pattern's matches. `where` are conditions that may be applied to each match."""
        outer = Scope(self.incoming.outer, self.incoming.open)
        branches = []
        for alternative in self.alternatives:
            for typing in typings(alternative, self.graph):
                branches.append(
                    Branch(self.lowering, alternative, typing, self.graph, outer, where)
                )
        self.tables = self._tables(branches)
        self.keyed = {
            name
            for name, tables in self.tables.items()
            if can_key(tables) and all(b.scope.names[name].keys() is not None for b in branches)
        }
        self.path_tables = {
            name: _together([b.scope.names[name].tables for b in branches])
            for name, kind in self.kinds.items()
            if kind == "path" and self.lowering.needs.used(name)
        }
        queries = [self._query(b, where) for b in branches] or [self._nothing()]
        rows: exp.Expression = union_all(queries)
        if self.selector is not None:
            rows = self._selected(rows)
        name = self.lowering.fresh("m")
        return Matched(subquery(rows, name), self._exported(name))

    def _tables(self, branches: list[Branch]) -> dict[str, tuple]:
        found: dict[str, dict] = {}
        for branch in branches:
            for name, slot in branch.alternative.variables.items():
                for table in branch.typing.tables[slot]:
                    found.setdefault(name, {})[table.name] = table
        return {
            name: tuple(t for t in self.graph.tables(kind) if t.name in found.get(name, {}))
            for name, kind in self.kinds.items()
            if kind in (NODE, EDGE)
        }

    def _query(self, branch: Branch, where: list[exp.Expression]) -> exp.Select:
        translator = self.lowering.translator
        conditions = [translator.condition(c, branch.scope) for c in where]
        items: list[tuple[str, exp.Expression]] = []
        for name, kind in self.kinds.items():
            value = branch.scope.names.get(name)
            if kind in (NODE, EDGE):
                assert isinstance(value, Element)
                items += flatten(
                    value,
                    name,
                    self.tables[name],
                    name in self.keyed,
                    self.lowering.needs.of(name),
                )
            elif self.lowering.needs.used(name):
                items.append((name, value.expression.copy()))
        if self.selector is not None:
            _, sequence = branch.alternative.paths[0]
            cheapest = self.selector.kind == "CHEAPEST"
            total = branch.cost(sequence, cheapest)
            items += [
                (FIRST, branch.elements[sequence[0]].identity()),
                (LAST, branch.elements[sequence[-1]].identity()),
                (COST, checked_total(total) if cheapest else total),
            ]
        return branch.query(items, [exp.Paren(this=c) for c in conditions])

    def _nothing(self) -> exp.Select:
        """No tables fit: no rows, in the shape of the others."""
        items: list[tuple[str, exp.Expression]] = []
        for name, kind in self.kinds.items():
            if kind in (NODE, EDGE):
                need = self.lowering.needs.of(name)
                items += flat_nulls(
                    self.graph, kind, name, self.tables[name], name in self.keyed, need
                )
            elif self.lowering.needs.used(name):
                items.append((name, cast(null(), self._list_type(kind))))
        if self.selector is not None:
            items += [(FIRST, null()), (LAST, null()), (COST, null())]
        return select(items or [("$one", number(1))]).where(exp.false(), copy=False)

    def _list_type(self, kind: str) -> str:
        if kind == "path":
            nodes, edges = (struct_type(self.graph, k) for k in (NODE, EDGE))
            return f"STRUCT(n {nodes}[], e {edges}[])"
        return struct_type(self.graph, kind.removeprefix("group of ")) + "[]"

    def _selected(self, rows: exp.Expression) -> exp.Select:
        """The cheapest k rows for each pair of ends; the cost is the length but for CHEAPEST."""
        name = self.lowering.fresh("p")
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(FIRST), column(LAST)],
            order=exp.Order(expressions=[exp.Ordered(this=column(COST), nulls_first=False)]),
        )
        count = self.lowering.translator.scalar(self.selector.count, self.incoming)
        everything = exp.Select(expressions=[exp.Star()]).from_(subquery(rows, name), copy=False)
        # greatest() hides the plain `row_number() <= k` from DuckDB 1.5's top-n rewrite, which
        # fails with an internal error when the same subplan appears twice
        rank = call("greatest", rank, number(1))
        return everything.qualify(exp.LTE(this=rank, expression=count), copy=False)

    def _exported(self, relation: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, kind in self.kinds.items():
            if kind in (NODE, EDGE):
                tables = self.tables[name]
                declared = self._declared(name)
                found[name] = ColumnElement(
                    self.graph,
                    kind,
                    tables,
                    declared,
                    relation,
                    name,
                    name in self.keyed,
                    self.lowering.needs.of(name),
                )
            elif not self.lowering.needs.used(name):
                continue
            elif kind == "path":
                found[name] = Path(self.graph, column(name, relation), self.path_tables.get(name))
            else:
                element = kind.removeprefix("group of ")
                declared = self._group_declared(name, element)
                found[name] = ElementList(self.graph, element, declared, column(name, relation))
        return found

    def _declared(self, name: str) -> tuple:
        """The tables that the labels of a variable admit, whatever the edges around it say."""
        found: dict = {}
        for alternative in self.alternatives:
            for table in _admitted(alternative, name, self.graph):
                found[table.name] = table
        return tuple(found.values())

    def _group_declared(self, name: str, kind: str) -> tuple:
        from .labels import known

        patterns = self.lowering.group_patterns.get(name, [])
        return tuple(
            t
            for t in self.graph.tables(kind)
            if all(known(p.label, t) is not False for p in patterns)
        )


def _together(choices: list[tuple | None]) -> tuple | None:
    """The tables of any of the branches; None once one of them may pass through any."""
    if not choices or None in choices:
        return None
    return tuple(dict.fromkeys(t for tables in choices for t in tables))


def _admitted(alternative: Alternative, name: str, graph: PropertyGraph):
    return admitted(alternative, alternative.variables[name], graph)


__all__ = ["Matched", "Pattern"]
