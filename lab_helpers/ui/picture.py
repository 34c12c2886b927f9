"""A drawing with its text twin: PNG where Graphviz is installed, the text everywhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab_helpers.ui.style import esc, page

# Fills carry their own dark text and the background is clear, so a picture suits both themes.
FILLS = {
    "": ("#eef1f4", "#6e7781"),
    "info": ("#e3edfb", "#2166c9"),
    "good": ("#dff3e4", "#1a7f37"),
    "bad": ("#fbe4e1", "#c2352b"),
    "wait": ("#fdf0d9", "#a86500"),
    "missing": ("#ffffff", "#9aa2ab"),
}
_INK = "#1f2328"
_EDGE = "#767c85"
_FONT = "Helvetica"


@dataclass(frozen=True)
class Node:
    """A box: `key` is its own, `label` may have several lines, `tone` is a key of FILLS."""

    key: str
    label: str
    tone: str = ""


@dataclass(frozen=True)
class Edge:
    """An arrow between two keys. Without a label it is dotted: it is expected but not there."""

    source: str
    target: str
    label: str = ""


class Picture:
    """Nodes and edges to be drawn; `text` says the same in words."""

    def __init__(
        self, nodes: Sequence[Node], edges: Sequence[Edge], text: str, direction: str = "LR"
    ) -> None:
        self.nodes, self.edges, self.text, self.direction = nodes, edges, text, direction

    def png(self) -> bytes | None:
        """The drawing, or None where Graphviz's `dot` is not installed."""
        import graphviz

        try:
            # dot's warnings would land in the notebook.
            return self._graph(graphviz).pipe(format="png", quiet=True)
        except (graphviz.ExecutableNotFound, graphviz.CalledProcessError):
            return None

    def _graph(self, graphviz: Any) -> Any:
        graph = graphviz.Digraph(
            graph_attr={
                "rankdir": self.direction,
                "bgcolor": "transparent",
                "pad": "0.15",
                "nodesep": "0.22",
                "ranksep": "0.5",
                "dpi": "110",
            },
            node_attr={"shape": "box", "style": "rounded,filled", "fontname": _FONT}
            | {"fontsize": "11", "fontcolor": _INK, "margin": "0.14,0.07"},
            edge_attr={"fontname": _FONT, "fontsize": "10", "fontcolor": _EDGE, "color": _EDGE}
            | {"arrowsize": "0.7"},
        )
        # Keys never reach dot: a ':' in a node's name would be read as a port.
        names = {node.key: f"n{at}" for at, node in enumerate(self.nodes)}
        for node in self.nodes:
            fill, line = FILLS[node.tone]
            style = {"style": "rounded,dashed"} if node.tone == "missing" else {}
            graph.node(
                names[node.key],
                label=graphviz.escape(node.label),
                fillcolor=fill,
                color=line,
                **style,
                **({"fontcolor": _EDGE} if node.tone == "missing" else {}),
            )
        for edge in self.edges:
            graph.edge(
                names[edge.source],
                names[edge.target],
                label=graphviz.escape(edge.label),
                style="" if edge.label else "dotted",
            )
        return graph

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if png := self.png():
            bundle["image/png"] = base64.b64encode(png).decode()
        return bundle

    def _ipython_display_(self) -> None:
        # Hosts show an image alone, with no alternative text, so the text is an output of its own;
        # also without Graphviz, because outputs are compared and their number must not differ.
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        display({"text/plain": "", "text/html": self._folded()}, raw=True)

    def _folded(self) -> str:
        text = f"<pre><code>{esc(self.text)}</code></pre>"
        return page(f"<details><summary>The picture in words</summary>{text}</details>")
