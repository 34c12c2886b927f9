"""Which element tables can stand in each slot of an alternative.

Labels narrow every slot; then an edge table needs node tables that it connects, and a node table
needs edges that touch it. When few combinations remain, each becomes a join of its own over plain
tables. Otherwise a slot reads the union of its tables, so that the text stays short however many
tables and hops there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from .alternatives import WALK, Alternative, expand
from .labels import known
from .schema import EDGE, ElementTable, PropertyGraph
from .syntax import PathPattern

MAX_COMBINATIONS = 6

Tables = tuple[ElementTable, ...]


@dataclass
class Typing:
    """One choice of tables. A direction is '>' or '<' as seen from the left, '-' for both."""

    tables: dict[int, Tables]
    directions: dict[int, str] = field(default_factory=dict)
    no_loop: tuple[int, ...] = ()  # edges read backwards whose self loops were read forwards


def admitted(alternative: Alternative, slot: int, graph: PropertyGraph) -> Tables:
    """The tables that the labels of a slot admit."""
    entry = alternative.slots[slot]
    return tuple(
        t
        for t in graph.tables(entry.kind)
        if all(known(p.label, t) is not False for p, _ in entry.patterns)
    )


def typings(alternative: Alternative, graph: PropertyGraph) -> list[Typing]:
    """The typed forms of an alternative; none when no tables fit."""
    found = {
        i: set(admitted(alternative, i, graph))
        for i, x in alternative.slots.items()
        if x.kind != WALK
    }
    if not _narrow(alternative, graph, found):
        return []
    if not any(x.kind == WALK for x in alternative.slots.values()):  # a walk is read once
        combinations = _combinations(alternative, graph, found)
        if combinations is not None:
            return combinations
    ordered = {
        i: tuple(t for t in graph.tables(alternative.slots[i].kind) if t in tables)
        for i, tables in found.items()
    }
    directions = {
        i: alternative.slots[i].directions[0] for i in ordered if alternative.slots[i].kind == EDGE
    }
    return [Typing(ordered, directions)]


def _uses(alternative: Alternative) -> list[tuple[int, int, int, str]]:
    """(edge, left, right, direction) of every use of every edge slot."""
    return [
        (i, left, right, direction)
        for i, x in alternative.slots.items()
        if x.kind == EDGE
        for (left, right), direction in zip(x.ends, x.directions, strict=True)
    ]


def _orientations(
    table: ElementTable, direction: str, graph: PropertyGraph
) -> list[tuple[str, ElementTable, ElementTable]]:
    """(direction, left table, right table) for each way an edge table can be read."""
    source, destination = (graph.elements[e.node] for e in table.ends)
    found = []
    if direction in ">-":
        found.append((">", source, destination))
    if direction in "<-":
        found.append(("<", destination, source))
    return found


def _narrow(alternative: Alternative, graph: PropertyGraph, found: dict[int, set]) -> bool:
    """Drop tables that no neighbour supports, until nothing changes. False: nothing is left."""
    walks = _walk_ends(alternative, graph)
    changed = True
    while changed:
        changed = False
        for left, right, low, first, last in walks:
            starts = found[left] if low == 0 else found[left] & first
            stops = found[right] & (last | starts if low == 0 else last)
            changed |= starts != found[left] or stops != found[right]
            found[left], found[right] = starts, stops
        for edge, left, right, direction in _uses(alternative):
            edges, lefts, rights = set(), set(), set()
            for table in found[edge]:
                for _, at_left, at_right in _orientations(table, direction, graph):
                    if at_left in found[left] and at_right in found[right]:
                        edges.add(table)
                        lefts.add(at_left)
                        rights.add(at_right)
            if left == right:
                lefts = rights = lefts & rights
            for slot, kept in ((edge, edges), (left, lefts), (right, rights)):
                changed |= kept != found[slot]
                found[slot] = found[slot] & kept
        for a, b in alternative.same_nodes:
            both = found[a] & found[b]
            changed |= both != found[a] or both != found[b]
            found[a] = found[b] = both
        if not all(found.values()):
            return False
    return True


def _walk_ends(alternative: Alternative, graph: PropertyGraph) -> list[tuple]:
    """(left, right, least rounds, tables a hop can start in, tables it can end in) of each walk."""
    ends = []
    for slot in alternative.slots.values():
        if slot.kind != WALK:
            continue
        first: set[ElementTable] = set()
        last: set[ElementTable] = set()
        for hop in expand((PathPattern((slot.walk.term,)),)):
            _, sequence = hop.paths[0]
            for typing in typings(hop, graph):
                first.update(typing.tables[sequence[0]])
                last.update(typing.tables[sequence[-1]])
        ends.append((*slot.ends[0], slot.walk.low, first, last))
    return ends


def _combinations(
    alternative: Alternative, graph: PropertyGraph, found: dict[int, set]
) -> list[Typing] | None:
    """Every choice of one table and one direction for each slot; None when there are too many."""
    edges = [i for i, x in alternative.slots.items() if x.kind == EDGE]
    partial: list[tuple[dict[int, ElementTable], dict[int, str], tuple[int, ...]]] = [({}, {}, ())]
    for edge in edges:
        slot = alternative.slots[edge]
        (left, right), written = slot.ends[0], slot.directions[0]
        following = []
        for tables, directions, loops in partial:
            for table in graph.tables(EDGE):
                if table not in found[edge]:
                    continue
                for direction, at_left, at_right in _orientations(table, written, graph):
                    chosen = {**tables, edge: table}
                    if not _place(chosen, left, at_left, found):
                        continue
                    if not _place(chosen, right, at_right, found):
                        continue
                    backwards = written == "-" and direction == "<" and at_left is at_right
                    following.append(
                        (
                            chosen,
                            {**directions, edge: direction},
                            (*loops, edge) if backwards else loops,
                        )
                    )
        partial = following
        if len(partial) > MAX_COMBINATIONS:
            return None
    result = []
    for tables, directions, loops in partial:
        free = [i for i in found if i not in tables]
        pools = [
            [t for t in graph.tables(alternative.slots[i].kind) if t in found[i]] for i in free
        ]
        for choice in product(*pools):
            complete = {**tables, **dict(zip(free, choice, strict=True))}
            if any(complete[a] is not complete[b] for a, b in alternative.same_nodes):
                continue
            result.append(Typing({i: (t,) for i, t in complete.items()}, directions, loops))
            if len(result) > MAX_COMBINATIONS:
                return None
    return result


def _place(
    chosen: dict[int, ElementTable], slot: int, table: ElementTable, found: dict[int, set]
) -> bool:
    return table in found[slot] and chosen.setdefault(slot, table) is table
