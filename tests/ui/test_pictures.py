"""Drawings: always a text, a PNG where Graphviz is installed, and no label is lost."""

import shutil

import nbformat
import pytest
from nbclient import NotebookClient

from lab_helpers.errors import LabError
from lab_helpers.ui.picture import Edge, Node, Picture
from lab_helpers.ui.schema_view import schema_view

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")

SHOP = """\
OperationalContextGraph: 8 kinds of node, 7 of edge
users -[places]-> orders
orders -[contains_item]-> inventory_items
inventory_items -[is_product]-> products
products -[supplied_by]-> distribution_centers
products -[governed_by]-> policies
policies -[requires_condition]-> policy_conditions
policies -[enforces_restriction]-> policy_restrictions"""

TRAIL = """\
ActionLineageGraph: 4 kinds of node, 3 of edge
AgentSession -[RAN_STEP]-> WorkflowNode
WorkflowNode -[EVALUATED]-> PolicyEvaluation
PolicyEvaluation -[DECIDED]-> AgentAction"""


@pytest.mark.parametrize(
    ("graph", "text"), [("OperationalContextGraph", SHOP), ("ActionLineageGraph", TRAIL)]
)
def test_a_schema_is_read_from_the_ddl_that_makes_it(graph, text):
    assert repr(schema_view(graph, "any_dataset")) == text


def test_an_unknown_graph_names_the_known_ones():
    with pytest.raises(LabError) as caught:
        schema_view("Nope", "d")
    assert "OperationalContextGraph, ActionLineageGraph" in caught.value.next


AWKWARD = ["a:b:c", 'quote " inside', "back\\slash", "two\nlines", "<b>bold</b>", "%", "é …"]


@needs_dot
def test_a_png_is_drawn():
    bundle = schema_view("ActionLineageGraph", "d")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert schema_view("ActionLineageGraph", "d").png().startswith(b"\x89PNG")


@needs_dot
@pytest.mark.parametrize("label", AWKWARD)
def test_an_awkward_label_is_drawn_whole(label):
    import graphviz

    picture = Picture([Node(label, label), Node("z", "z")], [Edge(label, "z", label)], "t")
    drawn = picture._graph(graphviz).pipe(format="plain", encoding="utf-8", quiet=True)
    shown = label.split("\n")[0].replace("\\", "\\\\").replace('"', '\\"')
    nodes = [line for line in drawn.splitlines() if line.startswith("node ")]
    assert len(nodes) == 2
    assert shown in nodes[0]


def test_without_graphviz_the_text_remains(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert schema_view("ActionLineageGraph", "d")._repr_mimebundle_() == {"text/plain": TRAIL}


@pytest.mark.parametrize("drawn", [pytest.param(True, marks=needs_dot), False])
def test_a_cell_shows_a_picture_or_its_words_and_the_words_folded(drawn):
    code = f"""
import os
from lab_helpers.ui.schema_view import schema_view
if not {drawn}:
    os.environ["PATH"] = ""
schema_view("ActionLineageGraph", "d")
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, kernel_name="python3").execute()
    picture, words = (output.data for output in notebook.cells[0].outputs)
    assert picture["text/plain"] == TRAIL
    assert ("image/png" in picture) is drawn
    assert "<details><summary>The picture in words</summary>" in words["text/html"]
    assert TRAIL.replace(">", "&gt;") in words["text/html"]
