"""A property graph's schema, drawn from the DDL file that makes it."""

from __future__ import annotations

import re

from lab_helpers.errors import LabError
from lab_helpers.stores import schema
from lab_helpers.ui.picture import Edge, Node, Picture

_FILES = {
    "OperationalContextGraph": "operational_context_graph",
    "ActionLineageGraph": "action_lineage_graph",
}
# The lab's own files, so their layout is known: no parser is loaded where only the face runs.
_ELEMENT = re.compile(r"(?P<table>\S+)(?:\s+AS\s+(?P<alias>\w+))?\s+KEY\s*\((?P<rest>.*)", re.S)
_LABEL = re.compile(r"\bLABEL\s+(\w+)")
_END = re.compile(r"\bREFERENCES\s+(\w+)")


def schema_view(name: str, dataset: str) -> Picture:
    """The graph's node labels and edges as a picture whose text twin has one edge a line.

    Raises LabError for a graph the lab does not have.
    """
    if name not in _FILES:
        raise LabError(
            f"There is no graph named {name!r}.",
            "The lab has one graph of the shop in Spanner and one of decisions in BigQuery.",
            f"Use one of {', '.join(_FILES)}.",
        )
    (statement,) = schema.ddl(_FILES[name], dataset)
    nodes, edges = (
        _elements(part) for part in statement.split("NODE TABLES")[1].split("EDGE TABLES")
    )
    labels = {alias: label for alias, label, _ in nodes}
    drawn = [Edge(labels[a], labels[b], label) for _, label, (a, b) in edges]
    lines = [f"{e.source} -[{e.label}]-> {e.target}" for e in drawn]
    reached = {key for e in drawn for key in (e.source, e.target)}
    alone = [node for node in labels.values() if node not in reached]
    text = "\n".join([f"{name}: {len(labels)} kinds of node, {len(drawn)} of edge", *lines, *alone])
    return Picture([Node(node, node, "info") for node in labels.values()], drawn, text)


def _elements(part: str) -> list[tuple[str, str, list[str]]]:
    """(alias, label, the aliases of its two ends where it is an edge) of each element."""
    found = []
    # An element starts on a line of its own after "(" or ","; a comma inside brackets does not end
    # a line.
    for text in re.split(r"[(,]\s*\n", part):
        if element := _ELEMENT.search(text):
            alias = element["alias"] or element["table"]
            label = _LABEL.search(text)
            found.append((alias, label[1] if label else alias, _END.findall(text)))
    return found
