"""Functions and operators of paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from .calls import arguments_of, name_of
from .elements import (
    ElementList,
    Path,
    Scalar,
    Value,
    struct_type,
)
from .errors import error_at
from .registry import only, rule
from .schema import EDGE, NODE
from .scope import Scope
from .sqlnodes import (
    array,
    call,
    case,
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
    null,
    number,
    struct,
)

if TYPE_CHECKING:
    from .expressions import Translator


def identities(elements: ElementList) -> exp.Expression:
    return call(
        "list_transform", elements.expression.copy(), lambda_("x", field(column("x"), "$k"))
    )


@rule("NODES", "EDGES")
def _members(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    return t.path(only(node, 1)[0], scope, name).list_of(NODE if name == "NODES" else EDGE)


@rule("PATH_LENGTH")
def _path_length(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    path = t.path(only(node, 1)[0], scope, "PATH_LENGTH")
    return Scalar(call("len", path.list_of(EDGE).expression), "BIGINT")


@rule("PATH_FIRST", "PATH_LAST")
def _path_end(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    nodes = t.path(only(node, 1)[0], scope, name).list_of(NODE)
    at = number(1) if name == "PATH_FIRST" else exp.Neg(this=number(1))
    return nodes.item(call("list_extract", nodes.expression, at))


def distinct(items: exp.Expression) -> exp.Expression:
    return equal(call("len", call("list_distinct", items)), call("len", items.copy()))


@rule("IS_TRAIL", "IS_ACYCLIC", "IS_SIMPLE")
def _path_test(t: Translator, node: exp.Expression, scope: Scope) -> Value:
    name = name_of(node)
    path = t.path(only(node, 1)[0], scope, name)
    if name == "IS_TRAIL":
        return Scalar(exp.Paren(this=distinct(identities(path.list_of(EDGE)))), "BOOLEAN")
    nodes = identities(path.list_of(NODE))
    if name == "IS_ACYCLIC":
        return Scalar(exp.Paren(this=distinct(nodes)), "BOOLEAN")
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
    return conjunction([distinct(but_first), distinct(but_last)])


def same_path(left: Path, right: Path) -> exp.Expression:
    return conjunction(
        equal(identities(left.list_of(kind)), identities(right.list_of(kind)))
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
