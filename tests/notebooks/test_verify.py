"""`python -m lab_helpers verify`: a row a notebook, and the first fault of each in full."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]


def kept(source: str, text: str, n: int) -> nbformat.NotebookNode:
    """A cell that was run and printed `text`."""
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
    return nbformat.v4.new_code_cell(source, outputs=outputs, execution_count=n)


@pytest.fixture
def verify(tmp_path):
    """Verify one notebook made of (source, kept output) pairs; returns status and lines."""

    def run(*cells: tuple[str, str]) -> tuple[int, str]:
        code = [kept(source, text, n) for n, (source, text) in enumerate(cells, 1)]
        path = tmp_path / "made.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=code), path)
        return command(str(path))

    return run


def command(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "lab_helpers", "verify", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def row(said: str) -> list[str]:
    return next(line for line in said.splitlines() if line.startswith("made.ipynb  ")).split()


def test_a_notebook_that_says_the_same_is_as_saved(verify):
    status, said = verify(("print(1)", "1\n"), ("print(2)", "2\n"))
    name, cells, seconds, *result = row(said)
    assert (status, name, cells, " ".join(result)) == (0, "made.ipynb", "2", "as saved")
    assert float(seconds) > 0
    assert "1 of 1 notebooks as saved; every output was compared." in said


@pytest.mark.parametrize(
    ("cells", "result", "shown"),
    [
        ([("print(1)", "1\n"), ("print(2)", "3\n")], "differs: cell [2]", "+ 3"),
        ([("1 / 0", "")], "differs: cell [1]", "ZeroDivisionError"),
        ([("x = 1 / 0", ""), ("print(x)", "1\n")], "differs: cell [1], cell [2]", "ZeroDivision"),
        ([("print('TRC-0123456789ab')", "TRC-ba9876543210\n")], "as saved", "1 of 1"),
        ([("print('<style>a</style>x')", "<style>b</style>x\n")], "as saved", "1 of 1"),
    ],
    ids=["other output", "exception", "consequence", "trace ids", "style sheet"],
)
def test_what_differs_is_named(verify, cells, result, shown):
    status, said = verify(*cells)
    assert " ".join(row(said)[3:]) == result
    assert shown in said
    assert status == (result != "as saved")


def test_a_path_that_is_no_notebook_is_refused_in_words(tmp_path):
    status, said = command(str(tmp_path / "nothing.ipynb"))
    assert status == 1
    assert "is no notebook" in said and "Next:" in said and "Traceback" not in said
