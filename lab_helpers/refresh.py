"""Run the notebooks top to bottom and store outputs that can be compared and read anywhere.

Outputs that differ from run to run (the graph widget, marked NBVAL_IGNORE_OUTPUT) and widget state
are dropped, cells get stable ids, so a second refresh changes no byte.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from lab_helpers import colab, student
from lab_helpers.bootstrap import ROOT

WIDGET = "application/vnd.jupyter.widget-view+json"
IGNORE = "NBVAL_IGNORE_OUTPUT"
KIT = "kit"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def run(paths: list[str]) -> int:
    """Refresh these notebooks, or all of them, in a sandbox of their own."""
    from lab_helpers import sandbox

    notebooks = [Path(p).resolve() for p in paths] or sorted((ROOT / "notebooks").glob("*.ipynb"))
    with tempfile.TemporaryDirectory(prefix="lab-refresh-", ignore_cleanup_errors=True) as home:
        os.environ["LAB_HOME"] = home
        try:
            for path in notebooks:
                print(f"{path.name} …", end=" ", flush=True, file=sys.stderr)
                changed = refresh(path)
                print("changed" if changed else "unchanged", file=sys.stderr)
        finally:
            sandbox.stop(Path(home).resolve())
    return 0


def refresh(path: Path) -> bool:
    """Execute one notebook and rewrite it; True when a byte changed. Raises on a failing cell."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    _put_kit_cell(notebook)
    NotebookClient(
        notebook,
        timeout=180,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        # Errors only: a warning about the local socket would stand in the progress line.
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    count = 0
    for n, cell in enumerate(notebook.cells):
        cell["id"] = f"{path.stem[:20].replace('_', '-')}-{n:02d}"
        cell["metadata"] = _metadata(cell)
        if cell.cell_type != "code":
            continue
        count += 1
        cell["execution_count"] = count
        ignored = IGNORE in cell.source
        cell["outputs"] = [] if ignored else _merged([_plain(o, count) for o in cell.outputs])
    notebook["metadata"] = METADATA
    nbformat.validate(notebook)
    text = nbformat.writes(notebook) + "\n"
    changed = path.read_text(encoding="utf-8") != text
    path.write_text(text, encoding="utf-8")
    if path in student.sources():
        student.write(path)
    return changed


def _put_kit_cell(notebook: Any) -> None:
    """The cell that finds the kit, the same in all notebooks, before every other code cell."""
    import nbformat

    at, first = next((n, c) for n, c in enumerate(notebook.cells) if c.cell_type == "code")
    if KIT not in first.metadata.get("tags", []):
        first = nbformat.v4.new_code_cell(metadata={"tags": [KIT]})
        notebook.cells.insert(at, first)
    first.source = colab.CELL


def _metadata(cell: Any) -> dict[str, Any]:
    """A cell's tags, and what hides or compares it in the hosts: nothing that a run leaves."""
    tags = set(cell.metadata.get("tags", []))
    if cell.cell_type == "code" and "lab.check(" in cell.source:
        tags.add("nbval-check-output")  # what `verify` compares where replies are a model's
    if KIT in tags:
        return {"tags": sorted(tags), "jupyter": {"source_hidden": True}, "cellView": "form"}
    return {"tags": sorted(tags)} if tags else {}


def _merged(outputs: list[dict]) -> list[dict]:
    """Printed pieces of one stream as one: how a kernel cuts them differs from run to run."""
    out: list[dict] = []
    for output in outputs:
        last = out[-1] if out else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            out.append(output)
    return out


def _plain(output: dict, count: int) -> dict:
    if "execution_count" in output:
        output["execution_count"] = count
    if "data" in output:
        output["data"].pop(WIDGET, None)
        output["metadata"] = {}
    return output
