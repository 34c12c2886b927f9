"""The student notebooks: made from the solved ones, runnable, and every exercise is still open."""

import json
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from lab_helpers import student
from lab_helpers.errors import LabError

SOURCES = student.sources()
CHECK = 'lab.check("t", answer)'


def code(source, *tags, output="1"):
    outputs = [{"output_type": "stream", "name": "stdout", "text": output}]
    meta = {"tags": list(tags)} if tags else {}
    made = {"cell_type": "code", "source": source, "metadata": meta}
    return {**made, "outputs": outputs, "execution_count": 1}


def sources(*cells):
    return ["".join(cell["source"]) for cell in student.student_cells(cells)]


@pytest.mark.parametrize(
    ("solution", "stub"),
    [
        ("rows = q()\nanswer = rows[0]\nrows", "answer = None  # your answer here"),
        (f"answer = 1\n{CHECK}", f"answer = None  # your answer here\n\n{CHECK}"),
        ("answer = await lab.ask('x')", "answer = None  # your answer here"),
        ("def answer(x):\n    return x", "answer = None  # your answer here"),
        ("lab.teach('x')", "# your answer here"),
    ],
    ids=["query", "with its check", "awaited", "function", "an act"],
)
def test_a_solution_becomes_a_place_for_the_answer(solution, stub):
    found = sources(code(solution, "solution"), code(CHECK))
    assert found == [stub, CHECK]


def test_a_function_to_repair_stays_as_it_was_given():
    given = "def answer(x):\n    return True"
    found = sources(code(given), code(f"def answer(x):\n    return x\n\n{CHECK}", "solution"))
    assert found == [given, f"# your answer here\n\n{CHECK}"]


def test_only_stubs_and_their_checks_lose_their_output():
    cells = (code("a = 1"), code("answer = 1", "solution"), code(CHECK), code('lab.check("u")'))
    made = student.student_cells(cells)
    assert [bool(cell["outputs"]) for cell in made] == [True, False, False, True]
    assert [cell["execution_count"] for cell in made] == [1, None, None, 1]
    assert [cell["metadata"].get("tags") for cell in made] == [None, ["exercise"], None, None]


@pytest.mark.parametrize(
    ("link", "moved"),
    [
        ("[x](01_provision.ipynb)", "[x](01_provision.ipynb)"),
        ("[x](instructor_demo.ipynb)", "[x](../instructor_demo.ipynb)"),
        ("![x](images/gate.png)", "![x](../images/gate.png)"),
        ("[x](https://example.org/a.png)", "[x](https://example.org/a.png)"),
        ("[x](#setup)", "[x](#setup)"),
    ],
)
def test_links_lead_to_the_same_things(link, moved):
    cell = {"cell_type": "markdown", "source": link, "metadata": {}}
    assert sources(cell) == [moved]


def test_a_solution_in_a_magic_is_refused_in_words():
    with pytest.raises(LabError, match="not plain Python"):
        student.student_cells([code("%%bigquery answer\nSELECT 1", "solution")])


def test_most_notebooks_have_an_exercise():
    assert sum('"solution"' in path.read_text(encoding="utf-8") for path in SOURCES) >= 4


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
class TestStudentNotebook:
    def test_it_is_in_step_with_the_solved_one(self, path):
        kept = (student.FOLDER / path.name).read_text(encoding="utf-8")
        assert kept == student.text(path), "run: python -m lab_helpers student"

    def test_links_and_pictures_lead_somewhere(self, path):
        for cell in json.loads(student.text(path))["cells"]:
            if cell["cell_type"] == "markdown":
                for _, target in student._LINK.findall("".join(cell["source"])):
                    assert (student.FOLDER / target).resolve().exists(), target


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if '"solution"' in p.read_text()], ids=lambda p: p.stem
)
def test_it_runs_to_the_end_and_every_exercise_says_not_yet(path, provisioned, lab_home, tmp_path):
    """The others have the same cells as the solved ones, which are compared strictly."""
    provisioned.reset_all()
    folder = tmp_path / "notebooks" / "student"
    student.write(path, folder)
    notebook = nbformat.read(folder / path.name, as_version=4)
    done = _executed(notebook, student.FOLDER.parent, lab_home)
    asked = [c for c in done.cells if c.cell_type == "code" and _blank(c, notebook)]
    checks = [c for c in asked if "lab.check(" in c.source]
    assert checks, "the exercise has no check"
    for cell in checks:
        assert "not yet" in cell.outputs[-1]["data"]["text/plain"], cell.source


def _blank(cell, notebook) -> bool:
    made = next(c for c in notebook.cells if c.id == cell.id)
    return not made.outputs and made.execution_count is None


def _executed(notebook, folder: Path, home: Path):
    # The kernel inherits this process's environment.
    before = dict(os.environ)
    os.environ.update(LAB_HOME=str(home))
    try:
        client = NotebookClient(
            nbformat.from_dict(notebook),
            timeout=120,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
        )
        return client.execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
