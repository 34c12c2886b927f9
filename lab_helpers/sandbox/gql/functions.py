"""The function table: GQL's own, and GoogleSQL's that DuckDB spells or means otherwise."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

from sqlglot import exp

from . import json_shape
from .calls import arguments_of, is_aggregate, name_of
from .elements import (
    Element,
    ElementList,
    Path,
    Scalar,
    StructElement,
    Value,
    expression_of,
    same,
    struct_type,
)
from .errors import error_at, unsupported
from .schema import EDGE, NODE, ElementTable, properties_of
from .scope import Scope
from .sqlnodes import (
    array,
    as_text,
    call,
    case,
    cast,
    column,
    conjunction,
    disjunction,
    empty_array,
    equal,
    fail,
    field,
    is_null,
    lambda_,
    negation,
    not_null,
    null,
    number,
    struct,
    text,
)
from .typenames import googlesql, item_of

if TYPE_CHECKING:
    from .expressions import Translator

Rule = Callable[["Translator", exp.Expression, Scope], "Value | None"]
RULES: dict[str, Rule] = {}

RESULT_TYPES = {
    "ARRAY_LENGTH": "BIGINT",
    "LENGTH": "BIGINT",
    "CHAR_LENGTH": "BIGINT",
    "CONCAT": "VARCHAR",
    "LOWER": "VARCHAR",
    "UPPER": "VARCHAR",
    "TRIM": "VARCHAR",
    "SUBSTRING": "VARCHAR",
    "FORMAT": "VARCHAR",
    "SPLIT": "VARCHAR[]",
    "GENERATE_ARRAY": "BIGINT[]",
    "PARSE_JSON": "JSON",
    "JSON_QUERY": "JSON",
    "JSON_VALUE": "VARCHAR",
    "ROUND": "DOUBLE",
    "STARTS_WITH": "BOOLEAN",
    "ENDS_WITH": "BOOLEAN",
}


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def _only(node: exp.Expression, count: int) -> list[exp.Expression]:
    found = arguments_of(node)
    if len(found) != count:
        raise error_at(
            node, f"{name_of(node)} takes {count} argument(s), but {len(found)} are given"
        )
    return found


# ------------------------------------------------------------------ questions about elements


@rule("SAME", "ALL_DIFFERENT")
def _identity_test(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    if len(arguments_of(node)) < 2:
        raise error_at(node, f"{name} takes at least two graph elements")
    elements = [t.element(a, scope, name) for a in arguments_of(node)]
    if len({e.kind for e in elements}) > 1:
        raise error_at(node, f"{name} takes nodes or edges, not both")
    if name == "SAME":
        test = conjunction(same(elements[0], e) for e in elements[1:])
    else:
        test = conjunction(negation(same(a, b)) for a, b in combinations(elements, 2))
    test = exp.Paren(this=test)
    return Scalar(_refusing_nulls(elements, test, f"the function {name}"), "BOOLEAN")


def _refusing_nulls(elements: list[Element], test: exp.Expression, what: str) -> exp.Expression:
    uncertain = [e.is_null() for e in elements if not e.certain]
    if not uncertain:
        return test
    return case([(disjunction(uncertain), fail(f"Input to {what} must not be null"))], test)


@rule("PROPERTY_EXISTS")
def _property_exists(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    subject, prop = _only(node, 2)
    element = t.element(subject, scope, "PROPERTY_EXISTS")
    name = prop.name

    def answer(table: ElementTable) -> exp.Expression:
        if name.lower() in table.properties:
            return exp.true()
        if not table.dynamic_properties:
            return exp.false()
        names = call("json_keys", element.row_properties())
        lowered = call("list_transform", names, lambda_("p", call("lower", column("p"))))
        found = call("list_contains", lowered, text(name.lower()))
        return call("coalesce", found, exp.false())

    return Scalar(element.by_table(answer), "BOOLEAN")


def _sorted_names(names: list[str]) -> list[str]:
    return sorted(names, key=str.lower)


def _with_row_names(names: list[str], more: exp.Expression) -> exp.Expression:
    """Declared names and those of the row, once each, sorted in any case."""
    both = call(
        "list_concat",
        cast(array([text(n) for n in names]), "VARCHAR[]"),
        call("coalesce", more, empty_array("VARCHAR[]")),
    )
    keyed = call(
        "list_transform",
        call("list_distinct", both),
        lambda_("n", struct([("f", call("lower", column("n"))), ("n", column("n"))])),
    )
    return call("list_transform", call("list_sort", keyed), lambda_("n", field(column("n"), "n")))


def labels_of(element: Element) -> exp.Expression:
    def answer(table: ElementTable) -> exp.Expression:
        names = _sorted_names([label.name for label in table.labels.values()])
        if table.dynamic_label:
            return _with_row_names(names, element.row_labels())
        return cast(array([text(n) for n in names]), "VARCHAR[]")

    return element.by_table(answer)


@rule("LABELS")
def _labels(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    return Scalar(labels_of(t.element(_only(node, 1)[0], scope, "LABELS")), "VARCHAR[]")


@rule("PROPERTY_NAMES")
def _property_names(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    element = t.element(_only(node, 1)[0], scope, "PROPERTY_NAMES")

    def answer(table: ElementTable) -> exp.Expression:
        names = _sorted_names([p.name for p in table.properties.values()])
        if not table.dynamic_properties:
            return cast(array([text(n) for n in names]), "VARCHAR[]")
        declared = array([text(n.lower()) for n in names])
        extra = call(
            "list_filter",
            call("json_keys", element.row_properties()),
            lambda_("p", negation(call("list_contains", declared, call("lower", column("p"))))),
        )
        return _with_row_names(names, extra)

    return Scalar(element.by_table(answer), "VARCHAR[]")


@rule("ELEMENT_DEFINITION_NAME")
def _definition_name(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    element = t.element(_only(node, 1)[0], scope, "ELEMENT_DEFINITION_NAME")
    return Scalar(element.marker(), "VARCHAR")


def _opaque(identity: exp.Expression, element: Element) -> exp.Expression:
    shown = json_shape.opaque(identity)
    return shown if element.certain else case([(not_null(element.marker()), shown)])


@rule("ELEMENT_ID")
def _element_id(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    element = t.element(_only(node, 1)[0], scope, "ELEMENT_ID")
    return Scalar(_opaque(element.identity(), element), "VARCHAR")


@rule("SOURCE_NODE_ID", "DESTINATION_NODE_ID")
def _end_id(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    element = t.element(_only(node, 1)[0], scope, name)
    if element.kind != EDGE:
        raise error_at(node, f"{name} takes an edge, not a node")
    return Scalar(_opaque(element.end(0 if name[0] == "S" else 1), element), "VARCHAR")


@rule("TYPEOF")
def _type_name(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    value = t.value(_only(node, 1)[0], scope)
    if isinstance(value, Scalar):
        return Scalar(text(googlesql(value.type)), "VARCHAR") if value.type else None
    if not isinstance(value, Element):
        raise unsupported(node, "TYPEOF of a path or an array of graph elements")
    props = sorted(properties_of(value.declared).values(), key=lambda p: p.name.lower())
    shown = [f"{p.name} {googlesql(p.type)}" for p in props]
    if any(x.dynamic_properties for x in value.declared):
        shown.append("DYNAMIC")
    return Scalar(
        text(f"GRAPH_{value.kind.upper()}({value.graph.name})<{', '.join(shown)}>"), "VARCHAR"
    )


# ---------------------------------------------------------------------------------- paths


def _identities(elements: ElementList) -> exp.Expression:
    return call(
        "list_transform", elements.expression.copy(), lambda_("x", field(column("x"), "$k"))
    )


@rule("NODES", "EDGES")
def _members(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    return t.path(_only(node, 1)[0], scope, name).list_of(NODE if name == "NODES" else EDGE)


@rule("PATH_LENGTH")
def _path_length(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    path = t.path(_only(node, 1)[0], scope, "PATH_LENGTH")
    return Scalar(call("len", path.list_of(EDGE).expression), "BIGINT")


@rule("PATH_FIRST", "PATH_LAST")
def _path_end(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    nodes = t.path(_only(node, 1)[0], scope, name).list_of(NODE)
    at = number(1) if name == "PATH_FIRST" else exp.Neg(this=number(1))
    return nodes.item(call("list_extract", nodes.expression, at))


def _distinct(items: exp.Expression) -> exp.Expression:
    return equal(call("len", call("list_distinct", items)), call("len", items.copy()))


@rule("IS_TRAIL", "IS_ACYCLIC", "IS_SIMPLE")
def _path_test(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    path = t.path(_only(node, 1)[0], scope, name)
    if name == "IS_TRAIL":
        return Scalar(exp.Paren(this=_distinct(_identities(path.list_of(EDGE)))), "BOOLEAN")
    nodes = _identities(path.list_of(NODE))
    if name == "IS_ACYCLIC":
        return Scalar(exp.Paren(this=_distinct(nodes)), "BOOLEAN")
    return Scalar(exp.Paren(this=simple_nodes(nodes)), "BOOLEAN")


def simple_nodes(identities: exp.Expression) -> exp.Expression:
    """All distinct, save that the last may be the first."""
    length = call("len", identities.copy())
    but_first = call("list_slice", identities.copy(), number(2), length)
    but_last = call(
        "list_slice",
        identities.copy(),
        number(1),
        exp.Sub(this=length.copy(), expression=number(1)),
    )
    return conjunction([_distinct(but_first), _distinct(but_last)])


def same_path(left: Path, right: Path) -> exp.Expression:
    return conjunction(
        equal(_identities(left.list_of(kind)), _identities(right.list_of(kind)))
        for kind in (NODE, EDGE)
    )


def path_of(graph, nodes: list[exp.Expression], edges: list[exp.Expression]) -> exp.Struct:
    """A path from structs of nodes and edges."""
    edge_list = array(edges) if edges else empty_array(struct_type(graph, EDGE) + "[]")
    return struct([("n", array(nodes)), ("e", edge_list)])


@rule("PATH")
def _path(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    elements = [t.element(a, scope, "PATH") for a in arguments_of(node)]
    kinds = [e.kind for e in elements]
    if not kinds or len(kinds) % 2 == 0 or kinds[::2] != [NODE] * len(kinds[::2]):
        raise error_at(node, "PATH takes nodes and edges in turn, from a node to a node")
    if kinds[1::2] != [EDGE] * len(kinds[1::2]):
        raise error_at(node, "PATH takes nodes and edges in turn, from a node to a node")
    checks: list[tuple[exp.Expression, exp.Expression]] = []
    uncertain = [e.is_null() for e in elements if not e.certain]
    if uncertain:
        checks.append((disjunction(uncertain), fail("Input to the function PATH must not be null")))
    for i in range(1, len(elements), 2):
        before, edge, after = elements[i - 1 : i + 2]
        joined = disjunction(
            conjunction(
                [equal(edge.end(a), before.identity()), equal(edge.end(b), after.identity())]
            )
            for a, b in ((0, 1), (1, 0))
        )
        complaint = (
            "The arguments to PATH must contain edges that connect the previous node to the next "
            f"node. The edge at index {i} does not"
        )
        checks.append((negation(joined), fail(complaint)))
    graph = elements[0].graph
    packed = path_of(
        graph, [e.struct() for e in elements[::2]], [e.struct() for e in elements[1::2]]
    )
    return Path(graph, case(checks, packed) if checks else packed)


def joined_paths(node: exp.Expression, values: list[Value]) -> Path:
    """`p || q`: q starts where p ends."""
    result = values[0]
    for following in values[1:]:
        if not isinstance(result, Path) or not isinstance(following, Path):
            raise error_at(node, "A path can be concatenated only with another path")
        result = _joined(result, following)
    return result


def _joined(left: Path, right: Path) -> Path:
    nodes, more = left.list_of(NODE), right.list_of(NODE)
    last = field(call("list_extract", nodes.expression.copy(), exp.Neg(this=number(1))), "$k")
    first = field(call("list_extract", more.expression.copy(), number(1)), "$k")
    tail = call("list_slice", more.expression, number(2), call("len", more.expression.copy()))
    packed = struct(
        [
            ("n", call("list_concat", nodes.expression, tail)),
            (
                "e",
                call("list_concat", left.list_of(EDGE).expression, right.list_of(EDGE).expression),
            ),
        ]
    )
    missing = disjunction([is_null(left.expression.copy()), is_null(right.expression.copy())])
    complaint = (
        "Path concatenation requires that the first node of the path to be concatenated is equal "
        "to the last node of the previous path"
    )
    return Path(
        left.graph,
        case([(missing, null()), (exp.NEQ(this=last, expression=first), fail(complaint))], packed),
    )


# --------------------------------------------------------------------------------- arrays


@rule("FLATTEN")
def _flatten(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    (argument,) = _only(node, 1)
    if not isinstance(argument, exp.Column) or len(argument.parts) != 2:
        raise unsupported(node, "FLATTEN of anything but one property of a group variable")
    items = scope.find(argument.parts[0].name)
    if not isinstance(items, ElementList):
        raise unsupported(node, "FLATTEN of anything but one property of a group variable")
    prop = t.property(items.item(column("x")), argument.name, argument)
    mapped = call("list_transform", items.expression.copy(), lambda_("x", prop.expression))
    return Scalar(mapped, f"{prop.type}[]" if prop.type else None)


@rule("ARRAY_IS_DISTINCT")
def _array_is_distinct(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    value = t.value(_only(node, 1)[0], scope)
    items = _identities(value) if isinstance(value, ElementList) else expression_of(value)
    return Scalar(exp.Paren(this=_distinct(items)), "BOOLEAN")


@rule("ARRAY_FIRST", "ARRAY_LAST")
def _array_end(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    value = t.value(_only(node, 1)[0], scope)
    at = number(1) if name == "ARRAY_FIRST" else exp.Neg(this=number(1))
    items = expression_of(value)
    item = call("list_extract", items, at)
    empty = equal(call("len", items.copy()), number(0))
    checked = case([(empty, fail(f"{name} cannot get an element of an empty array"))], item)
    if isinstance(value, ElementList):
        return value.item(checked)
    return Scalar(checked, item_of(value.type) if isinstance(value, Scalar) else None)


_ARRAY_REDUCTIONS = {
    "ARRAY_SUM": "sum",
    "ARRAY_AVG": "avg",
    "ARRAY_MIN": "min",
    "ARRAY_MAX": "max",
}


@rule(*_ARRAY_REDUCTIONS)
def _array_reduction(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    value = t.value(_only(node, 1)[0], scope)
    if not isinstance(value, Scalar):
        raise error_at(node, f"{name} takes an array of numbers")
    kind = item_of(value.type)
    found: exp.Expression = call("list_aggregate", value.expression, text(_ARRAY_REDUCTIONS[name]))
    if name == "ARRAY_SUM" and kind == "BIGINT":
        found = cast(found, "BIGINT")
    return Scalar(found, "DOUBLE" if name == "ARRAY_AVG" else kind)


@rule("ARRAY_CONCAT")
def _array_concat(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    values = [t.value(a, scope) for a in arguments_of(node)]
    if any(isinstance(v, ElementList) for v in values):
        return joined_lists(values)
    kinds = {v.type for v in values if isinstance(v, Scalar)} - {None}
    joined = expression_of(values[0])
    for value in values[1:]:
        joined = call("list_concat", joined, expression_of(value))
    if len(values) > 1:  # DuckDB skips a NULL array, GoogleSQL answers NULL
        missing = disjunction(is_null(expression_of(v)) for v in values)
        joined = case([(missing, null())], joined)
    return Scalar(joined, kinds.pop() if len(kinds) == 1 else None)


def joined_lists(values: list[Value]) -> ElementList:
    lists = [v for v in values if isinstance(v, ElementList)]
    declared = tuple(dict.fromkeys(t for v in lists for t in v.declared))
    joined = expression_of(values[0])
    for value in values[1:]:
        joined = call("list_concat", joined, expression_of(value))
    return ElementList(lists[0].graph, lists[0].kind, declared, joined)


@rule("ARRAY_TRANSFORM", "ARRAY_FILTER")
def _array_lambda(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    """The lambda's second variable is an offset: from 0 here, from 1 in DuckDB."""
    items, function = _only(node, 2)
    if not isinstance(function, exp.Lambda):
        return None
    value = t.value(items, scope)
    variables = [v.name for v in function.expressions]
    inner = scope.child()
    if isinstance(value, ElementList):
        inner.set(variables[0], value.item(column(variables[0])))
    else:
        inner.set(variables[0], Scalar(column(variables[0]), item_of(value.type)))
    if len(variables) > 1:
        offset = exp.Paren(this=exp.Sub(this=column(variables[1]), expression=number(1)))
        inner.set(variables[1], Scalar(offset, "BIGINT"))
    body = t.value(function.this, inner)
    mapping = exp.Lambda(
        this=expression_of(body), expressions=[exp.to_identifier(v, quoted=True) for v in variables]
    )
    if name_of(node) == "ARRAY_FILTER":
        kept = call("list_filter", expression_of(value), mapping)
        if isinstance(value, ElementList):
            return ElementList(value.graph, value.kind, value.declared, kept)
        return Scalar(kept, value.type)
    mapped = call("list_transform", expression_of(value), mapping)
    if isinstance(body, Element):
        return ElementList(body.graph, body.kind, body.declared, mapped)
    return Scalar(mapped, f"{body.type}[]" if isinstance(body, Scalar) and body.type else None)


@rule("ARRAY_INCLUDES")
def _array_includes(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    items, target = _only(node, 2)
    if isinstance(target, exp.Lambda):
        filtered = exp.Anonymous(this="ARRAY_FILTER", expressions=[items.copy(), target.copy()])
        kept = t.scalar(filtered, scope)
        return Scalar(
            exp.Paren(this=exp.GT(this=call("len", kept), expression=number(0))), "BOOLEAN"
        )
    value, wanted = t.value(items, scope), t.value(target, scope)
    if isinstance(value, ElementList) and isinstance(wanted, Element):
        return Scalar(contains(value, wanted), "BOOLEAN")
    return Scalar(call("list_contains", expression_of(value), expression_of(wanted)), "BOOLEAN")


def contains(items: ElementList, element: Element) -> exp.Expression:
    return call("list_contains", _identities(items), element.identity())


@rule("ARRAY_REVERSE")
def _array_reverse(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    value = t.value(_only(node, 1)[0], scope)
    found = call("list_reverse", expression_of(value))
    if isinstance(value, ElementList):
        return ElementList(value.graph, value.kind, value.declared, found)
    return Scalar(found, value.type if isinstance(value, Scalar) else None)


# ------------------------------------------------------------------- choices that keep a type


@rule("COALESCE", "IFNULL", "NULLIF", "IF", "CASE")
def _choice(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    parts = _results(node)
    values = [t.value(p, scope) for p in parts]
    rebuilt = t.rebuilt(node, scope).expression
    graph_values = [v for v in values if not isinstance(v, Scalar)]
    if not graph_values:
        kinds = {v.type for v in values if isinstance(v, Scalar)} - {None}
        return Scalar(rebuilt, kinds.pop() if len(kinds) == 1 else None)
    first = graph_values[0]
    if isinstance(first, Path):
        return Path(first.graph, rebuilt)
    if name_of(node) == "NULLIF":
        left, right = values
        equality = same(left, right)
        missing = disjunction([left.is_null(), right.is_null()])
        kept = case([(missing, left.struct()), (equality, null())], left.struct())
        return StructElement(
            first.graph, first.kind, first.graph.tables(first.kind), first.declared, kept
        )
    declared = tuple(dict.fromkeys(x for v in graph_values for x in v.declared))
    if isinstance(first, ElementList):
        return ElementList(first.graph, first.kind, declared, rebuilt)
    return StructElement(first.graph, first.kind, first.graph.tables(first.kind), declared, rebuilt)


def _results(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.If):
        found = [node.args.get("true"), node.args.get("false")]
    elif isinstance(node, exp.Case):
        found = [i.args.get("true") for i in node.args.get("ifs") or []] + [
            node.args.get("default")
        ]
    else:
        found = arguments_of(node)
    return [x for x in found if isinstance(x, exp.Expression)]


def safe(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    """SAFE.f(...): NULL instead of an error."""
    inner = node.this
    value = t.value(inner, scope)
    if not isinstance(value, Scalar):
        raise unsupported(inner, f"SAFE.{name_of(inner)} of a graph value")
    if any(isinstance(n, exp.Query) for n in value.expression.walk()):
        raise unsupported(inner, f"SAFE.{name_of(inner)} over a query")
    if is_aggregate(inner) and isinstance(value.expression, exp.Cast):
        plain = value.expression
        return Scalar(exp.TryCast(this=plain.this, to=plain.to), value.type)
    return Scalar(_without_errors(value.expression), value.type)


def _without_errors(expression: exp.Expression) -> exp.Expression:
    """Our own error() calls become NULL; what DuckDB may raise itself goes through TRY."""
    cleaned = expression.transform(
        lambda node: null() if _raises(node) else node,
        copy=False,
    )
    if any(is_aggregate(n) or isinstance(n, exp.Window) for n in cleaned.walk()):
        return cleaned
    return call("try", cleaned)


def _raises(node: exp.Expression) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this) == "error"


_NEVER_RAISES = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Parameter, exp.Paren)


@rule("IFERROR")
def _if_error(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    """`IFERROR(x, y)`: where x can fail in one place only, its own check chooses y."""
    attempt, otherwise = _only(node, 2)
    value, other = t.value(attempt, scope), t.value(otherwise, scope)
    if not isinstance(value, Scalar):
        return value  # reading a graph value cannot fail
    if isinstance(attempt, _NEVER_RAISES):
        return value
    tree = exp.Paren(this=value.expression.copy())
    guard = tree.this
    while isinstance(guard, exp.Paren):
        guard = guard.this
    if isinstance(guard, exp.Case) and all(_raises(i.args["true"]) for i in guard.args["ifs"]):
        for branch in guard.args["ifs"]:
            branch.set("true", expression_of(other))
        return Scalar(tree, value.type)
    if _raises(guard) or name_of(attempt) == "ERROR":
        return other
    raise unsupported(attempt, "IFERROR of this expression")


# ----------------------------------------------------------------------------------- JSON


@rule("TO_JSON", "SAFE_TO_JSON", "TO_JSON_STRING")
def _to_json(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    value = t.value(arguments_of(node)[0], scope)
    if isinstance(value, Element):
        json = json_shape.element(value, labels_of)
    elif isinstance(value, ElementList):
        json = json_shape.elements(value, labels_of)
    elif isinstance(value, Path):
        json = json_shape.path(value, labels_of)
    else:
        json = json_shape.scalar(value)
    if name_of(node) != "TO_JSON_STRING":
        return Scalar(json, "JSON")
    return Scalar(call("coalesce", as_text(json), text("null")), "VARCHAR")


_JSON_READERS = {
    "STRING": ("VARCHAR", "VARCHAR"),
    "INT64": ("BIGINT", "BIGINT"),
    "FLOAT64": ("DOUBLE", "DOUBLE"),
    "DOUBLE": ("DOUBLE", "DOUBLE"),
    "BOOL": ("BOOLEAN", "BOOLEAN"),
}


@rule(*_JSON_READERS)
def _from_json(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    arguments = arguments_of(node)
    value = t.value(arguments[0], scope)
    if not isinstance(value, Scalar) or value.type not in ("JSON", None) or len(arguments) != 1:
        return None
    if value.type is None and name_of(node) == "STRING":
        return None
    _, kind = _JSON_READERS[name_of(node)]
    read = call("json_extract_string", value.expression, text("$"))
    return Scalar(read if kind == "VARCHAR" else cast(read, kind), kind)


@rule("JSON_REMOVE")
def _json_remove(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    subject, *paths = arguments_of(node)
    value = t.value(subject, scope)
    if not all(isinstance(p, exp.Literal) and p.name.startswith("$.") for p in paths):
        raise unsupported(node, "JSON_REMOVE of anything but members named by '$.name'")
    removed = {p.name[2:].strip('"') for p in paths}
    if any("." in name or "[" in name for name in removed):
        raise unsupported(node, "JSON_REMOVE below the first level")
    patch = "{" + ",".join(f'"{name}":null' for name in sorted(removed)) + "}"
    return Scalar(call("json_merge_patch", expression_of(value), cast(text(patch), "JSON")), "JSON")


# ---------------------------------------------------------------------------- timestamps

_MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
}


def _unit(node: exp.Expression) -> str:
    unit = node.args.get("unit")
    return unit.name.upper() if unit is not None else ""


@rule("TIMESTAMP_DIFF")
def _timestamp_diff(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    """Whole units of exact length; DuckDB's date_diff counts calendar boundaries."""
    unit = _unit(node)
    if unit not in _MICROSECONDS:
        return None
    later, earlier = t.scalar(node.this, scope), t.scalar(node.expression, scope)
    difference = exp.Paren(
        this=exp.Sub(this=call("epoch_us", later), expression=call("epoch_us", earlier))
    )
    return Scalar(
        exp.Paren(this=exp.IntDiv(this=difference, expression=number(_MICROSECONDS[unit]))),
        "BIGINT",
    )


@rule("DATE_ADD", "DATE_SUB", "DATE_TRUNC")
def _date(t: Translator, node: exp.Expression, scope: Scope) -> Value | None:
    """A DATE stays a DATE; DuckDB makes a timestamp of it."""
    subject = t.value(node.this, scope)
    if not isinstance(subject, Scalar) or subject.type not in ("DATE", None):
        return None
    return Scalar(cast(t.rebuilt(node, scope).expression, "DATE"), "DATE")


def shifted_timestamp(t: Translator, node: exp.Expression, scope: Scope) -> Scalar:
    """TIMESTAMP_ADD and TIMESTAMP_SUB: a day is 24 hours, also across a clock change."""
    unit = _unit(node)
    if unit not in _MICROSECONDS:
        return t.rebuilt(node, scope)
    amount = node.expression
    if isinstance(amount, exp.Interval):
        amount = amount.this
    moment = t.scalar(node.this, scope)
    if isinstance(amount, exp.Literal):
        count: exp.Expression = number(int(str(amount.this)))
    else:
        count = exp.Paren(this=cast(t.scalar(amount, scope), "BIGINT"))
    shift = call("to_microseconds", exp.Mul(this=count, expression=number(_MICROSECONDS[unit])))
    kind = exp.Add if isinstance(node, exp.TimestampAdd) else exp.Sub
    return Scalar(exp.Paren(this=kind(this=moment, expression=shift)), "TIMESTAMP WITH TIME ZONE")


__all__ = ["RESULT_TYPES", "RULES", "labels_of", "path_of", "safe", "simple_nodes"]
