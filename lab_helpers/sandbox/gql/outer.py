"""SQL around GRAPH_TABLE, and SQL subqueries inside GQL.

Graph elements cross into SQL as struct columns. The walk below follows them through subqueries,
WITH and set operations, so that `a.name`, `TO_JSON(a)` or `GROUP BY a` mean there what they mean
inside a graph query. Tables and everything else of the SQL stay as written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from . import syntax as s
from .elements import (
    Element,
    ElementList,
    Path,
    Scalar,
    StructElement,
    Value,
    expression_of,
)
from .errors import error_at
from .schema import properties_of
from .scope import Scope
from .sqlnodes import alias, column, identifier, select, subquery

if TYPE_CHECKING:
    from .statements import Lowering

Columns = dict[str, Value]  # by written name, in order
_CLAUSES = ("where", "having", "qualify", "limit", "offset", "windows", "distinct")


class SqlAround:
    def __init__(self, lowering: Lowering):
        self.lowering = lowering
        self.translator = lowering.translator

    # ----------------------------------------------------------------------------- entries

    def statement(self, tree: exp.Expression) -> tuple[exp.Expression, tuple[str, ...]]:
        """The lowered statement and its column names, () where they are not known."""
        scope = Scope(None, open_=True)
        if isinstance(tree, exp.Query):
            columns = self.query(tree, scope, {})
            for name, value in (columns or {}).items():
                if isinstance(value, Element | Path | ElementList):
                    raise error_at(
                        tree,
                        f"Column {name} is a graph element, path or array of elements; a query "
                        "cannot return it. Return its properties, or TO_JSON() of it",
                    )
            return tree, tuple(columns or ())
        for key, value in list(tree.args.items()):
            if isinstance(value, exp.Query):
                self.query(value, scope, {})
            elif isinstance(value, exp.Where):
                value.set("this", self.translator.scalar(value.this, scope))
            elif key == "expressions" and isinstance(tree, exp.Update):
                tree.set(key, [self.translator.scalar(x, scope) for x in value])
        return tree, ()

    def embedded(self, node: exp.Expression, scope: Scope) -> Value:
        """A query inside an expression."""
        query = node.copy()
        columns = self.query(query, scope, {})
        only = next(iter(columns.values())) if columns and len(columns) == 1 else None
        if isinstance(only, Element):
            tables = only.graph.tables(only.kind)
            return StructElement(only.graph, only.kind, tables, only.declared, query)
        return Scalar(query, only.type if isinstance(only, Scalar) else None)

    # ------------------------------------------------------------------------------- walk

    def query(self, query: exp.Expression, outer: Scope, known: dict[str, Columns]):
        """Lowers in place; gives the output columns, or None where SQL alone knows them."""
        known = dict(known)
        clause = query.args.get("with_") or query.args.get("with")
        if clause is not None:
            for cte in clause.expressions:
                columns = self.query(cte.this, outer, known)
                known[cte.alias.lower()] = columns
        if isinstance(query, exp.Subquery):
            columns = self.query(query.this, outer, known)
            self._tail(query, outer, columns or {})
            return columns
        if isinstance(query, exp.SetOperation):
            columns = self.query(query.this, outer, known)
            self.query(query.expression, outer, known)
            self._tail(query, outer, columns or {})
            return columns
        if isinstance(query, exp.Select):
            return self._select(query, outer, known)
        return None

    def _tail(self, query, outer: Scope, columns: Columns) -> None:
        """ORDER BY and LIMIT behind a parenthesis or a set operation."""
        scope = outer.child()
        scope.open = True
        for name, value in columns.items():
            scope.set(name, _as_column(value, name, None))
        for key in ("order", "limit", "offset"):
            if query.args.get(key) is not None:
                query.set(key, self.translator.scalar(query.args[key], scope))

    def _select(self, query: exp.Select, outer: Scope, known: dict[str, Columns]):
        scope = outer.child()
        scope.open = True
        sources: list[tuple[str, Columns | None]] = []
        start = query.args.get("from_") or query.args.get("from")
        if start is not None:
            self._source(start.this, scope, outer, known, sources)
        for join in query.args.get("joins") or []:
            self._source(join.this, scope, outer, known, sources)
            if join.args.get("on") is not None:
                join.set("on", self.translator.scalar(join.args["on"], scope))
        columns = self._projections(query, scope, sources)
        for key in _CLAUSES:
            if isinstance(query.args.get(key), exp.Expression):
                query.set(key, self.translator.rebuilt(query.args[key], scope).expression)
        self._keys(query, scope, columns)
        return columns if columns is None or None not in columns else None

    def _source(self, node, scope: Scope, outer: Scope, known, sources) -> None:
        name = node.alias_or_name
        columns: Columns | None = None
        if isinstance(node, s.GraphTable):
            name, columns = self._graph_table(node, scope)
        elif isinstance(node, exp.Subquery):
            columns = self.query(node.this, outer, known)
            if not name and isinstance(node.this, exp.Query):
                name = self.lowering.fresh("q")
                node.set("alias", exp.TableAlias(this=identifier(name)))
            for join in node.args.get("joins") or []:
                self._source(join.this, scope, outer, known, sources)
        elif isinstance(node, exp.Table):
            if not node.args.get("db") and node.name.lower() in known:
                columns = known[node.name.lower()]
            else:
                columns = self._table_columns(node)
            for join in node.args.get("joins") or []:
                self._source(join.this, scope, outer, known, sources)
                if join.args.get("on") is not None:
                    join.set("on", self.translator.scalar(join.args["on"], scope))
        elif isinstance(node, exp.Unnest):
            columns = self._unnest(node, scope)
        sources.append((name, columns))
        if columns is None:
            return
        name = name or None  # UNNEST(x) AS item names a column and no relation
        visible = {n.lower(): _as_column(v, n, name) for n, v in columns.items()}
        if name:
            scope.tables[name.lower()] = visible
        for written, value in columns.items():
            folded = written.lower()
            if folded in scope.names:  # two sources have it: the engine reports the ambiguity
                del scope.names[folded]
            elif folded not in scope.written:
                scope.set(written, _as_column(value, written, name))

    def _unnest(self, node: exp.Unnest, scope: Scope) -> Columns | None:
        values = [self.translator.value(x, scope) for x in node.expressions]
        node.set("expressions", [expression_of(v) for v in values])
        given = node.args.get("alias")
        names = given.columns if given is not None else []
        if len(names) == 1 and isinstance(values[0], ElementList):
            return {names[0].name: values[0].item(column(names[0].name))}
        return None

    def _table_columns(self, table: exp.Table) -> Columns | None:
        self.lowering.asked_tables = True
        dotted = ".".join(p.name for p in table.parts)
        try:
            found = self.lowering.tables.columns(dotted)
        except KeyError:
            return None
        return {name: Scalar(column(name), kind) for name, kind in found.items()}

    def _graph_table(self, node: s.GraphTable, scope: Scope) -> tuple[str, Columns]:
        graph = self.lowering.find_graph(node.args["graph"], node)
        working = self.lowering.query(node.args["query"], graph, scope)
        given = node.args.get("alias")
        name = given.name if given is not None and given.name else self.lowering.fresh("g")
        columns = dict(working.scope.items())
        query = select([(n, expression_of(v)) for n, v in columns.items()], working.relation)
        node.replace(subquery(query, name))
        return name, columns

    # ------------------------------------------------------------------------ projections

    def _projections(self, query: exp.Select, scope: Scope, sources) -> Columns | None:
        items: list[exp.Expression] = []
        columns: Columns = {}
        complete = True
        for item in query.expressions:
            if _is_star(item):
                complete = self._star(item, scope, sources, items, columns) and complete
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            value = self.translator.value(inner, scope)
            expression = expression_of(value)
            name = item.alias if isinstance(item, exp.Alias) else _implicit_name(inner)
            if isinstance(item, exp.Alias):
                expression = alias(expression, item.alias)
            elif name and not (isinstance(expression, exp.Column) and expression.name == name):
                expression = alias(expression, name)
            items.append(expression)
            columns[name or f"f{len(columns)}_"] = value
        query.set("expressions", items)
        return columns if complete else None

    def _star(self, item, scope: Scope, sources, items, columns: Columns) -> bool:
        parts = [p.name for p in item.parts[:-1]] if isinstance(item, exp.Column) else []
        element = self._element_named(parts, scope)
        if element is not None:
            for prop in sorted(
                properties_of(element.declared).values(), key=lambda p: p.name.lower()
            ):
                value = self.translator.property(element, prop.name, item)
                items.append(alias(value.expression, prop.name))
                columns[prop.name] = value
            return True
        items.append(item.copy())
        for name, found in sources:
            if parts and name.lower() != parts[-1].lower():
                continue
            if found is None:
                return False
            columns.update(found)
        star = item.this if isinstance(item, exp.Column) else item
        return not (star.args.get("except_") or star.args.get("replace") or star.args.get("except"))

    def _element_named(self, parts: list[str], scope: Scope) -> Element | None:
        if not parts:
            return None
        value: Value | None = None
        if len(parts) > 1:
            value = (scope.find_table(parts[0]) or {}).get(parts[1].lower())
        elif parts[0].lower() not in scope.tables:
            value = scope.find(parts[0])
        return value if isinstance(value, Element) else None

    def _keys(self, query: exp.Select, scope: Scope, columns: Columns | None) -> None:
        """GROUP BY and ORDER BY know the names of the result before those of the sources."""
        results = {n.lower() for n in columns or {}}
        group = query.args.get("group")
        if group is not None:
            group.set("expressions", [self._key(k, scope, results) for k in group.expressions])
        order = query.args.get("order")
        if order is not None:
            for ordered in order.expressions:
                ordered.set("this", self._key(ordered.this, scope, results, renamed=True))

    def _key(self, node, scope: Scope, results: set[str], renamed: bool = False):
        if isinstance(node, exp.Literal):
            return node.copy()
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            folded = node.name.lower()
            if folded in results and (renamed or folded not in scope.names):
                return exp.Column(this=identifier(node.name))
        return expression_of(self.translator.value(node, scope))


def _is_star(item: exp.Expression) -> bool:
    return isinstance(item, exp.Star) or (
        isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
    )


def _implicit_name(node: exp.Expression) -> str:
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return node.expression.name
    return ""


def _as_column(value: Value, name: str, relation: str | None) -> Value:
    """A source's column as its readers see it."""
    there = column(name, relation)
    if isinstance(value, Element):
        tables = value.graph.tables(value.kind)
        return StructElement(value.graph, value.kind, tables, value.declared, there)
    if isinstance(value, ElementList):
        return ElementList(value.graph, value.kind, value.declared, there)
    if isinstance(value, Path):
        return Path(value.graph, there)
    return Scalar(there, value.type)
