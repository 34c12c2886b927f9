"""From path patterns to fixed shapes.

A quantified path of two to three hops matches what a pattern of two hops or one of three matches.
`expand` unrolls every bounded quantifier and gives the alternatives: each a row of slots (node,
edge, node, ...) that one join can answer. An unbounded quantifier stays one slot, a walk.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from . import syntax as s
from .errors import GqlError, error_at, unsupported
from .schema import EDGE, NODE

WALK = "walk"
MAX_ALTERNATIVES = 128
MAX_UNROLLED = 40

Environment = dict[str, int]  # folded variable to slot


@dataclass
class Slot:
    kind: str
    patterns: list[tuple[s.ElementPattern, Environment]] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)  # left and right node, each use
    directions: list[str] = field(default_factory=list)
    walk: s.Quantified | None = None
    mode: str | None = None  # the path mode a walk is under

    def copy(self) -> Slot:
        return Slot(
            self.kind,
            list(self.patterns),
            list(self.ends),
            list(self.directions),
            self.walk,
            self.mode,
        )


@dataclass
class Group:
    """A group variable: its elements, slot by slot; a slot can be a walk."""

    kind: str
    slots: list[int] = field(default_factory=list)


@dataclass
class Alternative:
    slots: dict[int, Slot] = field(default_factory=dict)
    variables: Environment = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    sequence: list[int] = field(default_factory=list)  # of the path being expanded
    filters: list[tuple[exp.Expression, Environment]] = field(default_factory=list)
    modes: list[tuple[str, list[int]]] = field(default_factory=list)
    same_nodes: list[tuple[int, int]] = field(default_factory=list)
    paths: list[tuple[s.PathPattern, list[int]]] = field(default_factory=list)
    next_slot: int = 0

    def copy(self) -> Alternative:
        return Alternative(
            {i: x.copy() for i, x in self.slots.items()},
            dict(self.variables),
            {v: Group(g.kind, list(g.slots)) for v, g in self.groups.items()},
            list(self.sequence),
            list(self.filters),
            list(self.modes),
            list(self.same_nodes),
            list(self.paths),
            self.next_slot,
        )

    def slot_for(self, pattern: s.ElementPattern, names: Environment) -> int:
        kind = EDGE if isinstance(pattern, s.EdgePattern) else NODE
        folded = pattern.variable.lower() if pattern.variable else None
        index = names.get(folded) if folded else None
        if index is None:
            index = self.add(Slot(kind))
            if folded:
                names[folded] = index
        if self.slots[index].kind != kind:
            raise error_at(pattern, f"Variable '{pattern.variable}' names both a node and an edge")
        self.slots[index].patterns.append((pattern, names))
        return index

    def add(self, slot: Slot) -> int:
        index = self.next_slot
        self.next_slot += 1
        self.slots[index] = slot
        return index

    def ends_in_node(self) -> bool:
        return bool(self.sequence) and self.slots[self.sequence[-1]].kind == NODE

    def meet(self, node: int) -> None:
        """Append a node, or merge it with the node the sequence already ends in."""
        if not self.ends_in_node():
            if self.sequence:
                last = self.slots[self.sequence[-1]]
                last.ends[-1] = (last.ends[-1][0], node)
            self.sequence.append(node)
            return
        before = self.sequence[-1]
        if before == node:
            return
        if not any(node in pair for x in self.slots.values() for pair in x.ends):
            for pattern, names in self.slots.pop(node).patterns:  # it stands here only
                self.slots[before].patterns.append((pattern, names))
                if pattern.variable:
                    names[pattern.variable.lower()] = before
            return
        self.same_nodes.append((before, node))
        self.sequence[-1] = node

    def close(self, names: Environment) -> None:
        """Make the sequence end in a node."""
        if not self.ends_in_node():
            self.meet(self.slot_for(s.NodePattern(), names))

    def leave(self, slot: Slot, direction: str) -> None:
        """Record a use of an edge or walk that starts at the last node."""
        slot.ends.append((self.sequence[-1], -1))
        slot.directions.append(direction)


def expand(paths: tuple[s.PathPattern, ...]) -> list[Alternative]:
    """Every fixed shape of the comma-separated paths together."""
    found = [Alternative()]
    for path in paths:
        following = []
        for alternative in found:
            for expanded in _expand_path(path, alternative.copy()):
                expanded.paths.append((path, expanded.sequence))
                expanded.sequence = []
                following.append(expanded)
        found = following
        if len(found) > MAX_ALTERNATIVES:
            raise unsupported(path, f"A pattern of more than {MAX_ALTERNATIVES} path lengths")
    return found


def _expand_path(path: s.PathPattern, start: Alternative) -> list[Alternative]:
    walks = _Expansion(path)
    found = [start]
    for term in path.terms:
        found = [y for x in found for y in walks.step(term, x, x.variables, path.mode)]
    for alternative in found:
        alternative.close(alternative.variables)
        if path.mode and path.mode != "WALK":
            alternative.modes.append((path.mode, list(alternative.sequence)))
    return found


class _Expansion:
    """Walks one path pattern, term by term."""

    def __init__(self, path: s.PathPattern):
        self.path = path

    def step(
        self, term: s.Term, into: Alternative, names: Environment, mode: str | None
    ) -> list[Alternative]:
        if isinstance(term, s.NodePattern):
            into.meet(into.slot_for(term, names))
            return [into]
        if isinstance(term, s.EdgePattern):
            if not into.ends_in_node():
                into.close(names)
            index = into.slot_for(term, names)
            into.leave(into.slots[index], term.direction)
            into.sequence.append(index)
            return [into]
        if isinstance(term, s.SubPath):
            return self.sub_path(term, into, names, mode)
        if term.high is None:
            return [self.walk(term, into, names, mode)]
        return self.unrolled(term, into, names, mode)

    def sub_path(self, term, into, names, mode) -> list[Alternative]:
        start = len(into.sequence) - 1 if into.ends_in_node() else len(into.sequence)
        found = [into]
        at_top = names is into.variables
        for inner in term.terms:
            found = [
                y
                for x in found
                for y in self.step(inner, x, x.variables if at_top else names, term.mode or mode)
            ]
        for alternative in found:
            inside = alternative.variables if at_top else names
            if term.where is not None:
                alternative.filters.append((term.where, inside))
            if term.mode and term.mode != "WALK":
                alternative.close(inside)
                alternative.modes.append((term.mode, alternative.sequence[max(start, 0) :]))
        return found

    def unrolled(self, term: s.Quantified, into, names, mode) -> list[Alternative]:
        if term.high > MAX_UNROLLED:
            raise unsupported(term, f"A quantifier bound above {MAX_UNROLLED}")
        variables = _variables_of(term.term)
        outer = into.variables if names is into.variables else names
        for variable in variables:
            if variable in outer or variable in into.groups:
                raise error_at(
                    term,
                    f"Variable '{variable}' in a quantified path is already declared outside it",
                )
        found = []
        for count in range(term.low, term.high + 1):
            found += self.repeated(term, count, into.copy(), names is into.variables, names, mode)
        return found

    def repeated(self, term, count, into, at_top, names, mode) -> list[Alternative]:
        variables = _variables_of(term.term)
        for variable, kind in variables.items():
            into.groups[variable] = Group(kind)
        current = [into]
        for _ in range(count):
            following = []
            for alternative in current:
                # each round names its own elements, beside those declared outside
                round_names = _Round(alternative.variables if at_top else names)
                for done in self.step(term.term, alternative.copy(), round_names, mode):
                    done.close(round_names)
                    for variable in variables:
                        if variable in round_names:
                            done.groups[variable].slots.append(round_names[variable])
                    following.append(done)
            current = following
        return current

    def walk(self, term: s.Quantified, into: Alternative, names, mode) -> Alternative:
        if not into.ends_in_node():
            into.close(names)
        if mode in (None, "WALK") and self.path.selector is None:
            raise GqlError(
                "An unbounded quantifier needs a path search prefix (ANY, SHORTEST, CHEAPEST) or a "
                "path mode (TRAIL, ACYCLIC, SIMPLE)",
                *(term.position or (None, None)),
            )
        slot = Slot(WALK, walk=term, mode=None if mode == "WALK" else mode)
        index = into.add(slot)
        into.leave(slot, ">")
        into.sequence.append(index)
        for variable, kind in _variables_of(term.term).items():
            into.groups[variable] = Group(kind, [index])
        return into


class _Round(dict):
    """The variables of one round of a quantified path; it reads through to those outside."""

    def __init__(self, outer: Environment):
        super().__init__()
        self.outer = outer


def _variables_of(path: s.SubPath) -> dict[str, str]:
    """The variables declared under a quantifier, with their kinds."""
    found: dict[str, str] = {}
    for term in path.terms:
        if isinstance(term, s.Quantified):
            raise unsupported(term, "A quantified path inside a quantified path")
        if isinstance(term, s.SubPath):
            found |= _variables_of(term)
        elif term.variable:
            kind = EDGE if isinstance(term, s.EdgePattern) else NODE
            found[term.variable.lower()] = kind
    return found
