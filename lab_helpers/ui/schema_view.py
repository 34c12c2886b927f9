"""A property graph's schema, drawn from the DDL file that makes it."""

from __future__ import annotations

from lab_helpers.errors import LabError
from lab_helpers.stores import schema
from lab_helpers.ui.picture import Edge, Node, Picture

_FILES = {
    "OperationalContextGraph": "operational_context_graph",
    "ActionLineageGraph": "action_lineage_graph",
}


def schema_view(name: str, dataset: str) -> Picture:
    """The graph's node labels and edges as a picture whose text twin has one edge a line.

    Raises LabError for a graph the lab does not have.
    """
    # Late: the parser loads sqlglot, which nothing else of the face needs.
    from lab_helpers.sandbox.gql.ddl import CreateGraph, ElementDefinition, parse_graph_ddl

    if name not in _FILES:
        raise LabError(
            f"There is no graph named {name!r}.",
            "The lab has one graph of the shop in Spanner and one of decisions in BigQuery.",
            f"Use one of {', '.join(_FILES)}.",
        )
    (statement,) = schema.ddl(_FILES[name], dataset)
    graph = parse_graph_ddl(statement)
    assert isinstance(graph, CreateGraph)

    def label(element: ElementDefinition) -> str:
        return element.labels[0].name if element.labels else element.name

    labels = {e.name: label(e) for e in graph.elements if e.kind == "node"}
    edges = [
        Edge(labels[e.source.node], labels[e.destination.node], label(e))
        for e in graph.elements
        if e.source and e.destination
    ]
    lines = [f"{e.source} -[{e.label}]-> {e.target}" for e in edges]
    reached = {key for e in edges for key in (e.source, e.target)}
    alone = [node for node in labels.values() if node not in reached]
    text = "\n".join([f"{name}: {len(labels)} kinds of node, {len(edges)} of edge", *lines, *alone])
    return Picture([Node(node, node, "info") for node in labels.values()], edges, text)
