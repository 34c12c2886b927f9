"""One typed alternative as one SELECT: a flat join of its slots."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from . import labels
from .alternatives import WALK, Alternative, Environment
from .candidates import Typing, admitted
from .costs import checked_cost
from .elements import (
    ColumnElement,
    Element,
    ElementList,
    Need,
    Path,
    TableElement,
    same,
    struct_type,
)
from .errors import did_you_mean, error_at
from .path_functions import simple_nodes
from .schema import EDGE, NODE, ElementTable, PropertyGraph, properties_of
from .scope import Scope
from .sources import table_source, union_of
from .sqlnodes import (
    alias,
    array,
    call,
    column,
    conjunction,
    disjunction,
    empty_array,
    equal,
    negation,
    not_null,
    select,
    struct,
    subquery,
)

if TYPE_CHECKING:
    from .statements import Lowering
    from .walks import Walk

FIRST, LAST, COST, HOPS = "$first", "$last", "$cost", "$hops"


class Branch:
    """The FROM clause, the conditions and the named values of one typed alternative."""

    def __init__(
        self,
        lowering: Lowering,
        alternative: Alternative,
        typing: Typing,
        graph: PropertyGraph,
        outer: Scope,
        where: list[exp.Expression] = (),
        structs: bool = False,
    ):
        """`where`: conditions on the whole match; `structs`: every element may become one."""
        self.where = where
        self.all_structs = structs
        self.lowering = lowering
        self.alternative = alternative
        self.typing = typing
        self.graph = graph
        # unique in the whole statement: a subquery may read the slots of the pattern around it
        self.names = {slot: lowering.fresh("s") for slot in alternative.slots}
        self.elements: dict[int, Element] = {}
        self.walks: dict[int, Walk] = {}
        self.sources: dict[int, exp.Expression] = {}
        for slot, tables in typing.tables.items():
            self._read(slot, tables)
        self._set_neighbours()
        self.folded: dict[int, int] = {}
        self._fold()
        self.scope = outer.child()
        for name, slot in alternative.variables.items():
            self.scope.set(name, self.elements[slot])
        self._read_walks()
        for name, group in alternative.groups.items():
            if self._wanted(name):
                self.scope.set(name, self._group(group.kind, group.slots, name))
        for path, sequence in alternative.paths:
            if path.variable and self._wanted(path.variable):
                self.scope.set(path.variable, self._path(sequence))

    def _wanted(self, name: str) -> bool:
        return self.lowering.needs.used(name)

    # ------------------------------------------------------------------------- sources

    def _need(self, slot: int) -> Need:
        """What a union of tables must carry for a slot."""
        uses: set[str] = set()
        everything = self.all_structs or self._in_struct(slot)
        for pattern, _ in self.alternative.slots[slot].patterns:
            uses |= {n.name.lower() for n, _ in pattern.properties}
            if pattern.variable:
                need = self.lowering.needs.of(pattern.variable)
                everything = everything or need.properties is None
                uses |= need.properties or frozenset()
        return Need(True, None if everything else frozenset(uses))

    def _in_struct(self, slot: int) -> bool:
        for name, group in self.alternative.groups.items():
            if slot in group.slots and self._wanted(name):
                return True
        return any(
            path.variable and self._wanted(path.variable) and slot in sequence
            for path, sequence in self.alternative.paths
        )

    def _read(self, slot: int, tables: tuple[ElementTable, ...]) -> None:
        name = self.names[slot]
        declared = admitted(self.alternative, slot, self.graph)
        if self._stands_alone(slot, tables):
            element = TableElement(self.graph, tables[0], name, declared)
            source: exp.Expression = table_source(tables[0], name)
        else:
            need = self._need(slot)
            source = subquery(
                union_of(self.graph, tables, need, self.typing.directions.get(slot) == "-"), name
            )
            element = ColumnElement(
                self.graph, tables[0].kind, tables, declared, name, "", False, need
            )
            element.certain = True
        self.elements[slot] = element
        self.sources[slot] = source

    def _stands_alone(self, slot: int, tables: tuple[ElementTable, ...]) -> bool:
        """Can the slot be a plain table in the join?"""
        if len(tables) > 1 or self.typing.directions.get(slot) == "-":
            return False
        if tables[0].by_key:
            return True
        # an edge that refers to other columns than the key names its ends through plain nodes
        ends = self.alternative.slots[slot].ends[0]
        return all(len(self.typing.tables[i]) == 1 for i in ends)

    def _set_neighbours(self) -> None:
        for slot, element in self.elements.items():
            if element.kind == EDGE and isinstance(element, TableElement):
                left, right = self.alternative.slots[slot].ends[0]
                ends = (left, right) if self.typing.directions[slot] == ">" else (right, left)
                element.neighbours = (self.elements[ends[0]], self.elements[ends[1]])

    def _fold(self) -> None:
        """An edge table that is the table of its own end needs no join with it.

        `orders` as the edge `places` reaches the node `orders` by the same key: one row is both.
        """
        for slot, edge in self.elements.items():
            if edge.kind != EDGE or not isinstance(edge, TableElement):
                continue
            left, right = self.alternative.slots[slot].ends[0]
            ends = (left, right) if self.typing.directions[slot] == ">" else (right, left)
            for reference, node in zip(edge.table.ends, ends, strict=True):
                at = self.elements[node]
                if (
                    isinstance(at, TableElement)
                    and at.table.source == edge.table.source
                    and reference.columns == reference.node_columns == at.table.key
                ):
                    self.folded[slot] = node
                    edge.alias = at.alias
                    del self.sources[slot]
                    break

    def _read_walks(self) -> None:
        from .walks import Walk  # a walk is made of branches in turn

        for slot, entry in self.alternative.slots.items():
            if entry.kind == WALK:
                start = entry.ends[0][0]
                walk = Walk(self, slot, entry, self.elements[start])
                self.walks[slot] = walk
                self.sources[slot] = walk.source

    # ---------------------------------------------------------------------- conditions

    def joins(self) -> list[tuple[set[int], exp.Expression]]:
        """Conditions that connect neighbouring slots, with the slots they touch."""
        found: list[tuple[set[int], exp.Expression]] = []
        for slot, entry in self.alternative.slots.items():
            if entry.kind == EDGE:
                left, right = entry.ends[0]
                found += self._edge_joins(slot, left, right)
            elif entry.kind == WALK:
                left, right = entry.ends[0]
                walk = self.walks[slot]
                found.append(({slot, left}, equal(walk.start(), self.elements[left].identity())))
                found.append(({slot, right}, equal(walk.end(), self.elements[right].identity())))
        found = [({self.folded.get(i, i) for i in slots}, test) for slots, test in found]
        compared = {
            side for _, test in found if isinstance(test, exp.EQ) for side in test.args.values()
        }
        return [(slots, test) for slots, test in found if not _implied(test, compared)]

    def _edge_joins(self, slot: int, left: int, right: int):
        edge = self.elements[slot]
        direction = self.typing.directions[slot]
        if isinstance(edge, ColumnElement):
            names = ("$from", "$to") if direction == "-" else ("$s", "$d")
            ends = (right, left) if direction == "<" else (left, right)
            for name, node in zip(names, ends, strict=True):
                value = column(name, edge.relation)
                yield {slot, node}, equal(value, self.elements[node].identity())
            return
        ends = (left, right) if direction == ">" else (right, left)
        for reference, node in zip(edge.table.ends, ends, strict=True):
            at = self.elements[node]
            if isinstance(at, TableElement) and at.alias == edge.alias:
                for key in at.table.key:
                    yield {node}, not_null(column(key, at.alias))
            elif isinstance(at, TableElement):
                for mine, theirs in zip(reference.columns, reference.node_columns, strict=True):
                    yield {slot, node}, equal(column(mine, edge.alias), column(theirs, at.alias))
            else:
                side = 0 if reference is edge.table.ends[0] else 1
                yield {slot, node}, equal(edge.end(side), at.identity())

    def conditions(self) -> list[exp.Expression]:
        """Everything else that a row of this alternative must satisfy."""
        return [
            *self._label_conditions(),
            *self._pattern_conditions(),
            *self._mode_conditions(),
            *(same(self.elements[a], self.elements[b]) for a, b in self.alternative.same_nodes),
            *self._repeated_edges(),
            *self._loops(),
        ]

    def _label_conditions(self):
        for slot, element in self.elements.items():
            for pattern, _ in self.alternative.slots[slot].patterns:
                label = pattern.label
                if label is not None and any(
                    labels.known(label, t) is None for t in element.tables
                ):
                    rows = element.folded_row_labels
                    yield element.by_table(
                        lambda table, label=label, rows=rows: labels.condition(label, table, rows())
                    )

    def names_for(self, environment: Environment) -> Scope:
        """The names that a condition written inside a quantified path sees."""
        scope = self.scope.child()
        for name, slot in environment.items():
            scope.set(name, self.elements[slot])
        return scope

    def _pattern_conditions(self):
        translator = self.lowering.translator
        for slot, element in self.elements.items():
            for pattern, environment in self.alternative.slots[slot].patterns:
                scope = self.names_for(environment)
                for name, wanted in pattern.properties:
                    yield self._property_condition(element, name, wanted, scope)
                if pattern.where is not None:
                    yield exp.Paren(this=translator.condition(pattern.where, scope))
        for where, environment in self.alternative.filters:
            yield exp.Paren(this=translator.condition(where, self.names_for(environment)))

    def _property_condition(self, element: Element, named, wanted, scope) -> exp.Expression:
        name = named.name
        declared = properties_of(element.declared)
        dynamic = any(t.dynamic_properties for t in element.declared)
        if name.lower() not in declared and not dynamic:
            hint = did_you_mean(name, [p.name for p in declared.values()])
            raise error_at(named, f"Property {name} is not exposed by this {element.kind}{hint}")
        translator = self.lowering.translator
        prop = translator.property(element, name, wanted)
        value = translator.scalar(wanted, scope)
        if prop.type == "JSON":
            value = call("to_json", value)
        return equal(prop.expression, value)

    def _mode_conditions(self):
        for mode, sequence in self.alternative.modes:
            if any(slot in self.walks for slot in sequence):
                yield self._mode_over_lists(mode, sequence)
                continue
            kind = EDGE if mode == "TRAIL" else NODE
            slots = [i for i in sequence if self.alternative.slots[i].kind == kind]
            for a, b in combinations(range(len(slots)), 2):
                if mode == "SIMPLE" and (a, b) == (0, len(slots) - 1):
                    continue
                if slots[a] == slots[b]:
                    yield exp.false()
                    continue
                repeated = same(self.elements[slots[a]], self.elements[slots[b]])
                if not (isinstance(repeated, exp.Boolean) and not repeated.this):
                    yield negation(repeated)

    def _mode_over_lists(self, mode: str, sequence: list[int]) -> exp.Expression:
        kind = EDGE if mode == "TRAIL" else NODE
        identities = self.identity_list(sequence, kind)
        if mode == "SIMPLE":
            return simple_nodes(identities)
        distinct = call("len", call("list_distinct", identities))
        return equal(distinct, call("len", identities.copy()))

    def identity_list(self, sequence: list[int], kind: str) -> exp.Expression:
        """The identities of a path's nodes or edges, through its walks."""
        parts: list[exp.Expression] = []
        for slot, absorbed in self._with_absorbed(sequence):
            if slot in self.walks:
                parts.append(self.walks[slot].identities(kind))
            elif self.alternative.slots[slot].kind == kind and not absorbed:
                parts.append(array([self.elements[slot].identity()]))
        return _joined_lists(parts, "VARCHAR[]")

    def _with_absorbed(self, sequence: list[int]):
        """A walk lists its nodes after the first; the node slot behind it is its last."""
        yield sequence[0], False
        for before, slot in pairwise(sequence):
            yield slot, before in self.walks

    def _repeated_edges(self):
        """A second use of an edge variable joins the same two nodes."""
        for entry in self.alternative.slots.values():
            if entry.kind != EDGE:
                continue
            first = [self.elements[i] for i in entry.ends[0]]
            for ends, direction in zip(entry.ends[1:], entry.directions[1:], strict=True):
                again = [self.elements[i] for i in ends]
                along = conjunction(same(a, b) for a, b in zip(first, again, strict=True))
                across = conjunction(
                    same(a, b) for a, b in zip(first, reversed(again), strict=True)
                )
                if "-" in (direction, entry.directions[0]):
                    yield exp.Paren(this=disjunction([along, across]))
                else:
                    yield along if direction == entry.directions[0] else across

    def _loops(self):
        """An any-direction edge that is a self loop matches once."""
        for slot in self.typing.no_loop:
            left, right = self.alternative.slots[slot].ends[0]
            yield negation(same(self.elements[left], self.elements[right]))

    # --------------------------------------------------------------------------- values

    def _group(self, kind: str, slots: list[int], name: str) -> ElementList:
        declared = self.graph.tables(kind)
        list_type = struct_type(self.graph, kind) + "[]"
        if slots and slots[0] in self.walks:
            items = self.walks[slots[0]].group(name)
        elif slots:
            declared = self.elements[slots[0]].declared
            items = array([self.elements[i].struct() for i in slots])
        else:
            items = empty_array(list_type)
        return ElementList(self.graph, kind, self._declared_of(name, kind) or declared, items)

    def _declared_of(self, name: str, kind: str) -> tuple[ElementTable, ...]:
        """The tables a group variable's pattern admits, whichever the number of rounds."""
        patterns = self.lowering.group_patterns.get(name, [])
        return tuple(
            t
            for t in self.graph.tables(kind)
            if all(labels.known(p.label, t) is not False for p in patterns)
        )

    def _path(self, sequence: list[int]) -> Path:
        lists = {}
        for kind in (NODE, EDGE):
            parts: list[exp.Expression] = []
            for slot, absorbed in self._with_absorbed(sequence):
                if slot in self.walks:
                    parts.append(self.walks[slot].structs(kind))
                elif self.alternative.slots[slot].kind == kind and not absorbed:
                    parts.append(array([self.elements[slot].struct()]))
            lists[kind] = _joined_lists(parts, struct_type(self.graph, kind) + "[]")
        tables = None  # a walk may pass through any
        if not any(slot in self.walks for slot in sequence):
            found = {t for slot in sequence for t in self.typing.tables[slot]}
            tables = tuple(t for t in self.graph.elements.values() if t in found)
        return Path(self.graph, struct([("n", lists[NODE]), ("e", lists[EDGE])]), tables)

    def cost(self, sequence: list[int], by_cost: bool) -> exp.Expression:
        """The length of a path, or the sum of its COST expressions."""
        parts: list[exp.Expression] = []
        for slot in sequence:
            if slot in self.walks:
                parts.append(self.walks[slot].cost(by_cost))
            elif self.alternative.slots[slot].kind == EDGE:
                if not by_cost:
                    parts.append(exp.Literal.number(1))
                for pattern, environment in self.alternative.slots[slot].patterns:
                    if by_cost and pattern.cost is not None:
                        value = self.lowering.translator.scalar(
                            pattern.cost, self.names_for(environment)
                        )
                        parts.append(checked_cost(value))
        if not parts:
            return exp.Literal.number(0)
        total = parts[0]
        for part in parts[1:]:
            total = exp.Add(this=total, expression=part)
        return total

    # ---------------------------------------------------------------------------- SELECT

    def query(self, items: list[tuple[str, exp.Expression]], where: list[exp.Expression]):
        """SELECT items FROM the slots, joined in an order that follows the edges."""
        pending = self.joins()
        order = sorted(self.sources)
        query = exp.Select(expressions=[alias(e, n) for n, e in items])
        if not items:
            query = select([("$one", exp.Literal.number(1))])
        placed: set[int] = set()
        while order:
            following = next(
                (i for i in order if any(i in c and c - {i} <= placed for c, _ in pending)),
                order[0],
            )
            order.remove(following)
            placed.add(following)
            if len(placed) == 1:
                query = query.from_(self.sources[following], copy=False)
                continue
            on = [e for c, e in pending if following in c and c <= placed]
            pending = [(c, e) for c, e in pending if not (following in c and c <= placed)]
            if on:
                query = query.join(self.sources[following], on=conjunction(on), copy=False)
            else:
                query = query.join(self.sources[following], join_type="CROSS", copy=False)
        conditions = [*self.conditions(), *where, *(e for _, e in pending)]
        kept = [c for c in conditions if not (isinstance(c, exp.Boolean) and c.this)]
        return query.where(conjunction(kept), copy=False) if kept else query


def _implied(test: exp.Expression, compared: set[exp.Expression]) -> bool:
    """Whether it only says that a column is there which an equality says as well."""
    return isinstance(test, exp.Not) and test.this.this in compared


def _joined_lists(parts: list[exp.Expression], list_type: str) -> exp.Expression:
    """One list; neighbouring literals are merged, so a fixed path is one literal."""
    merged: list[exp.Expression] = []
    for part in parts:
        if merged and isinstance(part, exp.Array) and isinstance(merged[-1], exp.Array):
            merged[-1].set("expressions", [*merged[-1].expressions, *part.expressions])
        else:
            merged.append(part)
    if not merged:
        return empty_array(list_type)
    joined = merged[0]
    for part in merged[1:]:
        joined = call("list_concat", joined, part)
    return joined


__all__ = ["COST", "FIRST", "LAST", "Branch"]
