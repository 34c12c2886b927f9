"""Unbounded quantified paths, as recursive queries.

A hop is one round of the quantified path, a walk a chain of hops from a start node. Under TRAIL,
ACYCLIC or SIMPLE the chain ends by itself. Under a path search, only the k best walks between two
nodes are worth extending: a longer one can replace no part of a better path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from . import syntax as s
from .alternatives import Alternative, Slot, expand
from .candidates import Typing, typings
from .elements import Element, struct_type
from .errors import unsupported
from .schema import EDGE, NODE
from .scope import Scope
from .sqlnodes import array, cast, column, empty_array, null, select, subquery, union_all

if TYPE_CHECKING:
    from .branches import Branch

_LISTS = {NODE: '"$nodes"', EDGE: '"$edges"'}  # identities; the start node is not listed

# what a hop must not repeat; the whole path is checked again outside
_FRESH = {
    "TRAIL": 'NOT list_has_any(w."$edges", h."$edges")',
    "ACYCLIC": 'NOT list_has_any(list_prepend(w."$from", w."$nodes"), h."$nodes")',
    "SIMPLE": 'NOT list_has_any(w."$nodes", h."$nodes")',
}

_BY_MODE = """
WITH RECURSIVE {hop} AS MATERIALIZED (SELECT * FROM hop_rows),
{walk} AS (
  SELECT "$id" AS "$from", "$id" AS "$to", {empty}, 0 AS "$rounds", 0 AS "$hops", {zero} AS "$cost"
  FROM seed_rows
  UNION ALL
  SELECT w."$from", h."$to", {longer}, w."$rounds" + 1, w."$hops" + h."$hops",
    w."$cost" + h."$cost"
  FROM {walk} AS w JOIN {hop} AS h ON w."$to" = h."$from"
  WHERE {fresh}
)
SELECT * FROM {walk} WHERE "$rounds" >= {low}
"""

# $phase tells walks too short to count from the others, which must not crowd them out
_BY_SEARCH = """
WITH RECURSIVE {hop} AS MATERIALIZED (SELECT * FROM hop_rows),
{walk}("$from", "$to", {names}, "$rounds", "$hops", "$cost", "$phase", "$path")
USING KEY ("$from", "$to", "$phase", "$path") AS (
  SELECT "$id", "$id", {empty}, 0, 0, {zero}, 0, '{mark}'
  FROM seed_rows
  UNION
  SELECT "$from", "$to", {names}, "$rounds", "$hops", "$cost", "$phase", "$path" FROM (
    SELECT c.*,
      COALESCE(LEN(LIST_FILTER(r.costs, x -> x <= c.{order})), 0) + ROW_NUMBER() OVER (
        PARTITION BY c."$from", c."$to", c."$phase" ORDER BY c.{order}) AS "$rank"
    FROM (
      SELECT w."$from", h."$to", {longer}, w."$rounds" + 1 AS "$rounds",
        w."$hops" + h."$hops" AS "$hops", w."$cost" + h."$cost" AS "$cost",
        LEAST(w."$rounds" + 1, {low}) AS "$phase",
        ARRAY_TO_STRING(LIST_CONCAT(w."$edges", h."$edges"), '>') AS "$path"
      FROM {walk} AS w JOIN {hop} AS h ON w."$to" = h."$from"
    ) AS c
    LEFT JOIN (
      SELECT "$from" AS f, "$to" AS t, "$phase" AS p, LIST({order}) AS costs
      FROM recurring.{walk} GROUP BY "$from", "$to", "$phase"
    ) AS r ON r.f = c."$from" AND r.t = c."$to" AND r.p = c."$phase"
  ) WHERE "$rank" <= search_count
)
SELECT * FROM {walk} WHERE "$rounds" >= {low}
"""


class Walk:
    """The relation of one walk slot: ends, identities, and the lists the query uses."""

    def __init__(self, branch: Branch, slot: int, entry: Slot, start: Element):
        self.branch = branch
        self.slot = slot
        self.quantified = entry.walk
        self.mode = entry.mode
        self.graph = branch.graph
        self.lowering = branch.lowering
        self.name = branch.names[slot]
        self.selector = branch.alternative.paths[0][0].selector
        self._refuse_outer_names()
        self.groups = {
            name: group.kind
            for name, group in branch.alternative.groups.items()
            if slot in group.slots and self.lowering.needs.used(name)
        }
        self.in_path = any(
            path.variable and self.lowering.needs.used(path.variable) and slot in sequence
            for path, sequence in branch.alternative.paths
        )
        self.source = subquery(self._query(entry), self.name)

    # ------------------------------------------------------------ what the branch reads

    def start(self) -> exp.Expression:
        return column("$from", self.name)

    def end(self) -> exp.Expression:
        return column("$to", self.name)

    def identities(self, kind: str) -> exp.Expression:
        return column("$nodes" if kind == NODE else "$edges", self.name)

    def structs(self, kind: str) -> exp.Expression:
        return column("$n" if kind == NODE else "$e", self.name)

    def group(self, name: str) -> exp.Expression:
        return column(name, self.name)

    def cost(self, by_cost: bool) -> exp.Expression:
        return column("$cost" if by_cost else "$hops", self.name)

    # ----------------------------------------------------------------------- the query

    def _refuse_outer_names(self) -> None:
        """A recursive query cannot read the row it is joined to."""
        own = set(self._alternatives()[0].variables)
        if self.mode is None:
            self._refuse_filters_over_groups()
        for condition, _ in s.pattern_filters((self.quantified.term,)):
            foreign = self.lowering.references(condition) - own
            if any(self.branch.scope.find(name) is not None for name in foreign):
                raise unsupported(
                    condition, "A condition on outside variables in an unbounded quantified path"
                )

    def _refuse_filters_over_groups(self) -> None:
        """A search prunes walks before a condition on the whole walk could judge them."""
        groups = {
            name
            for name, group in self.branch.alternative.groups.items()
            if self.slot in group.slots
        }
        path, _ = self.branch.alternative.paths[0]
        inside = {id(c) for c, _ in s.pattern_filters((self.quantified.term,))}
        for condition, _ in s.pattern_filters(path.terms):
            if id(condition) not in inside and self.lowering.references(condition) & groups:
                raise unsupported(
                    condition, "A condition on a whole unbounded path inside a path search"
                )

    def _alternatives(self) -> list[Alternative]:
        return expand((s.PathPattern((self.quantified.term,)),))

    def _lists(self) -> dict[str, str]:
        """The list columns a walk gathers, quoted, with their DuckDB types."""
        found = {'"$nodes"': "VARCHAR[]", '"$edges"': "VARCHAR[]"}
        if self.in_path:
            found['"$n"'] = struct_type(self.graph, NODE) + "[]"
            found['"$e"'] = struct_type(self.graph, EDGE) + "[]"
        for name, kind in self.groups.items():
            found[exp.to_identifier(name, quoted=True).sql("duckdb")] = (
                struct_type(self.graph, kind) + "[]"
            )
        return found

    def _query(self, entry: Slot) -> exp.Expression:
        lists = self._lists()
        searched = self.mode is None
        names = {
            "hop": f'"{self.lowering.fresh("hop")}"',
            "walk": f'"{self.lowering.fresh("walk")}"',
            "mark": self.name,  # keeps DuckDB from merging two equal walks, which it does wrongly
            "low": self.quantified.low,
            "names": ", ".join(lists),
            "empty": ", ".join(f"CAST([] AS {kind}) AS {name}" for name, kind in lists.items()),
            "longer": ", ".join(f"LIST_CONCAT(w.{n}, h.{n}) AS {n}" for n in lists),
            "zero": "CAST(0 AS DOUBLE)" if self._costs_are_doubles() else "CAST(0 AS BIGINT)",
            "fresh": _FRESH.get(self.mode or "", "TRUE"),
            "order": '"$cost"' if self._by_cost() else '"$hops"',
        }
        template = (_BY_SEARCH if searched else _BY_MODE).format(**names)
        tree = sqlglot.parse_one(template, dialect="duckdb")
        rows = {"hop_rows": self._hops(), "seed_rows": self._seeds(entry)}
        for table in list(tree.find_all(exp.Table)):
            if table.name in rows:
                table.replace(subquery(rows[table.name], table.name))
        for reference in list(tree.find_all(exp.Column)):
            if reference.name == "search_count":
                count = self.lowering.translator.scalar(self.selector.count, Scope())
                reference.replace(count)
        return tree

    def _by_cost(self) -> bool:
        return self.selector is not None and self.selector.kind == "CHEAPEST"

    def _costs_are_doubles(self) -> bool:
        """A recursive query fixes its column types in its first row."""
        if not self._by_cost():
            return False
        from .elements import Scalar

        for branch in self._hop_branches():
            for slot, entry in branch.alternative.slots.items():
                for pattern, environment in entry.patterns:
                    if pattern.cost is not None and slot in branch.elements:
                        value = self.lowering.translator.value(
                            pattern.cost, branch.names_for(environment)
                        )
                        if not isinstance(value, Scalar) or value.type != "BIGINT":
                            return True
        return False

    def _hop_branches(self) -> list[Branch]:
        from .branches import Branch

        return [
            Branch(self.lowering, alternative, typing, self.graph, Scope(), structs=True)
            for alternative in self._alternatives()
            for typing in typings(alternative, self.graph)
        ]

    def _hops(self) -> exp.Expression:
        queries = [self._hop(b) for b in self._hop_branches()]
        return union_all(queries) if queries else self._no_hop()

    def _hop(self, branch: Branch) -> exp.Select:
        _, sequence = branch.alternative.paths[0]
        nodes = [branch.elements[i] for i in sequence[2::2]]
        edges = [branch.elements[i] for i in sequence[1::2]]
        items = [
            ("$from", branch.elements[sequence[0]].identity()),
            ("$to", branch.elements[sequence[-1]].identity()),
            ("$nodes", array([n.identity() for n in nodes])),
            ("$edges", array([e.identity() for e in edges])),
        ]
        if self.in_path:
            items += [
                ("$n", array([n.struct() for n in nodes])),
                ("$e", array([e.struct() for e in edges])),
            ]
        for name in self.groups:
            element = branch.elements[branch.alternative.variables[name]]
            items.append((name, array([element.struct()])))
        items.append(("$hops", exp.Literal.number(len(edges))))
        cost = branch.cost(sequence, True) if self._by_cost() else exp.Literal.number(0)
        items.append(("$cost", cost))
        return branch.query(items, [])

    def _no_hop(self) -> exp.Select:
        items = [("$from", cast(null(), "VARCHAR")), ("$to", cast(null(), "VARCHAR"))]
        items += [(n.strip('"'), empty_array(kind)) for n, kind in self._lists().items()]
        items += [("$hops", exp.Literal.number(0)), ("$cost", exp.Literal.number(0))]
        return select(items).where(exp.false(), copy=False)

    def _seeds(self, entry: Slot) -> exp.Select:
        """The start nodes, under those conditions that speak of the start node alone."""
        from .branches import Branch

        start = entry.ends[0][0]
        patterns = [
            (p, names)
            for p, names in self.branch.alternative.slots[start].patterns
            if self._alone(p)
        ]
        alone = Alternative(slots={0: Slot(NODE, patterns)}, next_slot=1)
        variables = {p.variable.lower() for p, _ in patterns if p.variable}
        for name in variables:
            alone.variables[name] = 0
        alone.slots[0].patterns = [(p, alone.variables) for p, _ in patterns]
        typing = Typing({0: self.branch.typing.tables[start]})
        branch = Branch(self.lowering, alone, typing, self.graph, Scope(), structs=True)
        where = [
            self.lowering.translator.scalar(c, branch.scope)
            for c in self.branch.where
            if self.lowering.references(c) and self.lowering.references(c) <= variables
        ]
        query = branch.query([("$id", branch.elements[0].identity())], where)
        return query.distinct(copy=False)

    def _alone(self, pattern: s.ElementPattern) -> bool:
        own = {pattern.variable.lower()} if pattern.variable else set()
        conditions = [v for _, v in pattern.properties]
        if pattern.where is not None:
            conditions.append(pattern.where)
        return all(self.lowering.references(c) <= own for c in conditions)
