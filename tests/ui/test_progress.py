"""Progress: a line in a terminal, a bar in a notebook, silence elsewhere; never on stdout."""

import io

import nbformat
import pytest
from nbclient import NotebookClient

from lab_helpers.ui.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_that_is_rewritten(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    tell = progress_bar("Provisioning")
    tell(0, 2, "instance")
    tell(1, 2, "tables")
    assert "\n" not in terminal.getvalue()
    tell(2, 2, "ready")
    shown = terminal.getvalue()
    assert shown.endswith("2/2 ready\n")
    assert shown.count("\r") == 3
    assert capsys.readouterr().out == ""


def test_a_pipe_gets_nothing(monkeypatch, capsys):
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    tell = progress_bar("Provisioning")
    tell(0, 0, "nothing to do")
    tell(1, 1, "ready")
    assert pipe.getvalue() == ""
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("steps", [1, 7])
def test_a_notebooks_cell_keeps_one_output_however_many_steps(steps):
    code = f"""
from lab_helpers.ui.progress import progress_bar
tell = progress_bar("Provisioning")
for n in range({steps}):
    tell(n, {steps}, f"step {{n}}")
tell({steps}, {steps}, "ready")
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, kernel_name="python3", store_widget_state=False).execute()
    (output,) = notebook.cells[0].outputs
    assert output.output_type == "display_data"
    assert output.data["text/plain"] == "Provisioning (progress bar)"
