"""Graph paths, as a query returns them with TO_JSON, drawn with a text twin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lab_helpers.ui.picture import Edge, Node, Picture

Element = Mapping[str, Any]

# Which property names a node of each label for a reader.
_NAMES = {
    "users": ("customer_tier",),
    "orders": ("order_id", "status"),
    "products": ("name",),
    "policies": ("policy_id",),
    "policy_conditions": ("max_refunds_100d", "return_window_days"),
    "distribution_centers": ("name",),
}


def path_view(paths: Iterable[Sequence[Element]]) -> Picture:
    """The nodes and edges of all paths, each once. The text has one edge a line."""
    nodes: dict[str, Node] = {}
    edges: dict[str, Edge] = {}
    for path in paths:
        for element in path:
            key, label = element["identifier"], ", ".join(element["labels"])
            if element["kind"] == "node":
                nodes[key] = Node(key, _title(label, element["properties"]), "info")
            else:
                ends = element["source_node_identifier"], element["destination_node_identifier"]
                edges[key] = Edge(*ends, label)
    flat = {key: node.label.replace("\n", " ") for key, node in nodes.items()}
    text = "\n".join(f"{flat[e.source]} -[{e.label}]-> {flat[e.target]}" for e in edges.values())
    return Picture(list(nodes.values()), list(edges.values()), text or "no path")


def _title(label: str, properties: Mapping[str, Any]) -> str:
    shown = [
        f"{p} {properties[p]}" if p[0] in "mr" else str(properties[p])
        for p in _NAMES.get(label, ())
    ]
    return "\n".join([label, *shown])
