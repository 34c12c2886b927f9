"""Linear queries: one statement after another over a working table.

Each statement wraps the relation of the one before in a subquery; DuckDB flattens the nesting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from sqlglot import exp

from . import syntax as s
from .aggregate_syntax import HORIZONTAL, NONE, VERTICAL
from .columns import exported, rebound
from .elements import Element, ElementList, Path, Scalar, StructElement, Value, expression_of
from .errors import GqlError, GraphNotFound, did_you_mean, error_at, placed_at
from .expressions import Translator
from .labels import label_names
from .matching import match
from .needs import Needs
from .projection import project
from .schema import PropertyGraph, Tables
from .scope import Scope
from .setops import combine
from .sqlnodes import (
    alias,
    call,
    column,
    number,
    select,
    star,
    subquery,
)
from .typenames import item_of
from .working import Working


class Lowering:
    """The state of lowering one statement."""

    def __init__(self, graphs: Mapping[str, PropertyGraph], tables: Tables, needs: Needs):
        self.graphs = graphs
        self.tables = tables
        self.needs = needs
        self.translator = Translator(self)
        self.graph: PropertyGraph | None = None  # of the query being lowered
        self.used_graphs: dict[str, PropertyGraph] = {}
        self.group_patterns: dict[str, list[s.ElementPattern]] = {}
        self.aggregation = VERTICAL  # what an aggregate means in the clause being lowered
        self.asked_tables = False  # did the answer depend on a table outside the graphs?
        self._counter = 0

    def fresh(self, prefix: str) -> str:
        self._counter += 1
        return f"{prefix}{self._counter}"

    # ---------------------------------------------------------------------------- lookups

    def find_graph(self, name: str, node: object = None) -> PropertyGraph:
        """By name as written, in any case; then by the last part of a dotted name."""
        folded = {n.lower(): g for n, g in self.graphs.items()}
        found = folded.get(name.lower())
        if found is None:
            last = name.lower().split(".")[-1]
            found = folded.get(last) or next(
                (g for n, g in folded.items() if n.split(".")[-1] == last), None
            )
        if found is None:
            hint = did_you_mean(name, self.graphs)
            error = error_at(node, f"Property graph not found: {name}{hint}", GraphNotFound)
            error.graph = name
            raise error
        self.used_graphs[found.name] = found
        return found

    def check_labels(self, label: s.LabelExpression, graph: PropertyGraph, kind: str) -> None:
        known = graph.labels(kind)
        if any(t.dynamic_label for t in graph.tables(kind)):
            return
        for named in label_names(label):
            if named.name.lower() not in known:
                hint = did_you_mean(named.name, known.values())
                raise error_at(
                    named,
                    f"Label '{named.name}' is not found among the {kind} labels of graph "
                    f"{graph.name}{hint}",
                )

    def references(self, node: object, nested: bool = True) -> set[str]:
        """Folded first parts of every column under an expression; `nested`: also inside GQL."""
        found: set[str] = set()

        def look(value: object) -> None:
            if isinstance(value, exp.Expression):
                for part in value.walk():
                    if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
                        found.add(part.parts[0].name.lower())
                    elif nested and isinstance(part, s.GraphSubquery | s.GraphTable):
                        look(part.args["query"])
            elif isinstance(value, tuple | list):
                for part in value:
                    look(part)
            elif hasattr(value, "__dataclass_fields__"):
                for name in value.__dataclass_fields__:
                    look(getattr(value, name))

        look(node)
        return found

    # ---------------------------------------------------------------------------- queries

    def query(
        self, query: s.Query, graph: PropertyGraph, outer: Scope, start: Working | None = None
    ) -> Working:
        """The working table after every block. `outer` is the enclosing query's scope."""
        enclosing, self.graph = self.graph, graph
        try:
            working = start or Working(None, Scope(outer, outer.open))
            for block in query:
                working = self.block(block, working, outer)
            return working
        finally:
            self.graph = enclosing

    def block(self, block: s.Composite, start: Working, outer: Scope) -> Working:
        result = self.linear(block.first, start)
        for operator, statements in block.rest:
            result = combine(self, operator, result, self.linear(statements, start))
        return result

    def linear(self, statements: Iterable[s.Statement], start: Working) -> Working:
        working = start
        pending = list(statements)
        while pending:
            statement = pending.pop(0)
            with placed_at(statement):
                working = self.step(statement, pending, working)
        return working

    def step(self, statement: s.Statement, pending: list, working: Working) -> Working:
        """One statement; ORDER BY takes the limits behind it from those that are pending."""
        if isinstance(statement, s.Match):
            with self.aggregating(HORIZONTAL):
                return match(self, statement, working)
        if isinstance(statement, s.Let):
            return self.let(statement, working)
        if isinstance(statement, s.Filter):
            return self.filter(statement, working)
        if isinstance(statement, s.For):
            return self.for_each(statement, working)
        if isinstance(statement, s.OrderBy):
            limits = []
            while pending and isinstance(pending[0], s.Limit):
                limits.append(pending.pop(0))
            return self.order(statement, limits, working)
        if isinstance(statement, s.Limit):
            return self.order(None, [statement], working)
        if isinstance(statement, s.Projection):
            return project(self, statement, working)
        return self.call(statement, working)

    @contextmanager
    def aggregating(self, meaning: str) -> Iterator[None]:
        before, self.aggregation = self.aggregation, meaning
        try:
            yield
        finally:
            self.aggregation = before

    def only_horizontal(self, node: exp.Expression, scope: Scope) -> Value:
        with self.aggregating(HORIZONTAL):
            return self.translator.value(node, scope)

    def declare(self, name: str, working: Working, node: object) -> None:
        if name.lower() in working.scope.names:
            raise error_at(node, f"Variable name: {name} already exists")

    def extended(
        self, working: Working, items: list[tuple[str, exp.Expression]], name: str
    ) -> Working:
        """The working table with more columns."""
        query = exp.Select(expressions=[*working.columns(), *(alias(e, n) for n, e in items)])
        if working.relation is not None:
            query = query.from_(working.relation, copy=False)
        return working.wrapped(query, name)

    def let(self, statement: s.Let, working: Working) -> Working:
        for name, expression in statement.items:
            self.declare(name, working, expression)
            value = self.only_horizontal(expression, working.scope)
            relation = self.fresh("w")
            working = self.extended(working, exported(value, name), relation)
            working.scope.set(name, rebound(value, relation, name))
        return working

    def filter(self, statement: s.Filter, working: Working) -> Working:
        with self.aggregating(HORIZONTAL):
            condition = self.translator.condition(statement.condition, working.scope)
        relation = self.fresh("w")
        query = exp.Select(expressions=working.columns() or [exp.Literal.number(1)])
        if working.relation is not None:
            query = query.from_(working.relation, copy=False)
        if condition.find(exp.Window):
            query = query.qualify(condition, copy=False)
        else:
            query = query.where(condition, copy=False)
        if working.relation is None:
            query.set("expressions", [alias(number(1), "$one")])
        return working.wrapped(query, relation)

    def for_each(self, statement: s.For, working: Working) -> Working:
        self.declare(statement.variable, working, statement)
        with self.aggregating(NONE):
            value = self.translator.value(statement.array, working.scope)
        if isinstance(value, Element | Path):
            raise error_at(statement, "FOR needs an array after IN")
        relation = self.fresh("w")
        items = [(statement.variable, call("unnest", value.expression))]
        if statement.offset:
            self.declare(statement.offset, working, statement)
            position = call("generate_subscripts", value.expression.copy(), number(1))
            zero_based = exp.Sub(this=position, expression=number(1))
            items.append((statement.offset, exp.Paren(this=zero_based)))
        working = self.extended(working, items, relation)
        item = column(statement.variable, relation)
        if isinstance(value, ElementList):
            working.scope.set(statement.variable, value.item(item))
        else:
            working.scope.set(statement.variable, Scalar(item, item_of(value.type)))
        if statement.offset:
            working.scope.set(
                statement.offset, Scalar(column(statement.offset, relation), "BIGINT")
            )
        return working

    def order(
        self, statement: s.OrderBy | None, limits: list[s.Limit], working: Working
    ) -> Working:
        query = exp.Select(expressions=working.columns() or [alias(number(1), "$one")])
        if working.relation is not None:
            query = query.from_(working.relation, copy=False)
        if statement is not None:
            with self.aggregating(NONE):
                keys = [self.ordered(o, working.scope) for o in statement.order.expressions]
            query = query.order_by(*keys, copy=False)
        for limit in limits:
            query = self.limited(query, limit.limit, limit.offset, working.scope)
        return working.wrapped(query, self.fresh("w"))

    def ordered(self, ordered: exp.Ordered, scope: Scope) -> exp.Ordered:
        value = self.translator.value(ordered.this, scope)
        if not isinstance(value, Scalar):
            raise error_at(ordered, "Ordering by a graph element, path or array is not allowed")
        if value.type == "JSON":
            raise error_at(ordered, "ORDER BY does not support expressions of type JSON")
        found = ordered.copy()
        found.set("this", value.expression)
        return found

    def limited(self, query, limit, offset, scope: Scope):
        if limit is not None:
            query = query.limit(self.translator.scalar(limit, scope), copy=False)
        if offset is not None:
            query = query.offset(self.translator.scalar(offset, scope), copy=False)
        return query

    def call(self, statement: s.Call, working: Working) -> Working:
        """CALL runs its query once for each row, with the named variables of that row."""
        start = None
        seeds: list[tuple[str, Value]] = []
        for name in statement.variables:
            value = working.scope.find(name)
            if value is None and not working.scope.open:
                hint = did_you_mean(name, working.scope.visible())
                raise error_at(statement, f"Unrecognized name: {name}{hint}")
            if value is not None:
                seeds.append((name, value))
        outer = Scope(working.scope.outer, working.scope.open)
        if seeds:
            seed = self.fresh("w")
            items = [item for name, value in seeds for item in exported(value, name)]
            scope = Scope(outer, outer.open)
            for name, value in seeds:
                scope.set(name, rebound(value, seed, name))
            start = Working(subquery(select(items), seed), scope)
        inner = self.query(statement.query, self.graph, outer, start)
        for name, _ in inner.scope.items():
            self.declare(name, working, statement)
        source = working.one_row(self.fresh("w"))
        query = exp.Select(expressions=[star(source.alias), star(inner.name)])
        query = query.from_(source, copy=False)
        lateral = exp.Lateral(
            this=exp.Subquery(this=inner.relation.this),
            alias=exp.TableAlias(this=exp.to_identifier(inner.name, quoted=True)),
        )
        if statement.optional:
            query = query.join(lateral, on=exp.true(), join_type="LEFT", copy=False)
        else:
            query = query.join(lateral, join_type="CROSS", copy=False)
        relation = self.fresh("w")
        result = working.wrapped(query, relation)
        for name, value in inner.scope.items():
            result.scope.set(name, rebound(value, relation, _prefix(value, name)))
        return result

    # ------------------------------------------------------------------- GQL in expressions

    def subquery(self, node: s.GraphSubquery, scope: Scope) -> Value:
        kind = node.args["kind"]
        if kind == "EXISTS":
            working = self.nested(node, scope)
            source = working.one_row(self.fresh("w"))
            return Scalar(
                exp.Exists(this=exp.Select(expressions=[number(1)]).from_(source, copy=False)),
                "BOOLEAN",
            )
        value, query = self.single_column(node, scope)
        if kind == "VALUE":
            found: exp.Expression = exp.Subquery(this=query)
            if isinstance(value, Element):
                tables = value.graph.tables(value.kind)
                return StructElement(value.graph, value.kind, tables, value.declared, found)
            return Scalar(found, getattr(value, "type", None))
        found = exp.Anonymous(this="ARRAY", expressions=[query])
        if isinstance(value, Element):
            return ElementList(value.graph, value.kind, value.declared, found)
        kind_ = getattr(value, "type", None)
        return Scalar(found, f"{kind_}[]" if kind_ else None)

    def rows(self, node: s.GraphSubquery, scope: Scope) -> exp.Select:
        return self.single_column(node, scope)[1]

    def single_column(self, node: s.GraphSubquery, scope: Scope) -> tuple[Value, exp.Select]:
        working = self.nested(node, scope)
        columns = list(working.scope.items())
        if len(columns) != 1:
            raise error_at(node, f"{node.args['kind']} needs a query that returns one column")
        value = columns[0][1]
        query = exp.Select(expressions=[expression_of(value)])
        return value, query.from_(working.relation, copy=False)

    def nested(self, node: s.GraphSubquery, scope: Scope) -> Working:
        named = node.args.get("graph")
        graph = self.find_graph(named, node) if named else self.graph
        if graph is None:
            raise error_at(node, "Name the graph: write GRAPH and its name inside the braces")
        with self.aggregating(VERTICAL):
            return self.query(node.args["query"], graph, scope)

    def sql_subquery(self, node: exp.Expression, scope: Scope) -> Value:
        from .outer import SqlAround

        with self.aggregating(VERTICAL):
            return SqlAround(self).embedded(node, scope)


def _prefix(value: Value, name: str) -> str:
    return getattr(value, "prefix", None) or name


__all__ = ["GqlError", "Lowering"]
