"""An agent's ADK workflow, drawn from the graph that runs."""

from __future__ import annotations

from typing import Any

from lab_helpers.ui.picture import Edge, Node, Picture

# The one step of each workflow that may change something.
ACTING = {"route_and_commit_action", "ledger"}


def workflow_view(workflow: Any) -> Picture:
    """Nodes and edges of an ADK Workflow; the node that may act stands out."""
    kinds = {n.name: type(n).__name__.replace("Traced", "") for n in workflow.graph.nodes}
    acts = ACTING & set(kinds)
    nodes = [
        Node(name, name if name == "__START__" else f"{name}\n{kind}", _tone(name, acts))
        for name, kind in kinds.items()
    ]
    edges = [
        Edge(e.from_node.name, e.to_node.name, e.route or "then") for e in workflow.graph.edges
    ]
    lines = [f"{e.source} -> {e.target}{'   (may act)' if e.target in acts else ''}" for e in edges]
    return Picture(nodes, edges, "\n".join([workflow.name, *lines]))


def _tone(name: str, acts: set[str]) -> str:
    if name == "__START__":
        return ""
    return "wait" if name in acts else "info"
