"""Run the notebooks top to bottom and store outputs that can be compared and read anywhere.

Outputs that differ from run to run (the graph widget, marked NBVAL_IGNORE_OUTPUT) and widget state
are dropped, cells get stable ids, so a second refresh changes no byte.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from lab_helpers.bootstrap import ROOT

WIDGET = "application/vnd.jupyter.widget-view+json"
IGNORE = "NBVAL_IGNORE_OUTPUT"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def run(paths: list[str]) -> int:
    """Refresh these notebooks, or all of them, in a sandbox of their own."""
    from lab_helpers import sandbox

    notebooks = [Path(p) for p in paths] or sorted((ROOT / "notebooks").glob("*.ipynb"))
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
    NotebookClient(
        notebook,
        timeout=180,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    count = 0
    for n, cell in enumerate(notebook.cells):
        cell["id"] = f"{path.stem[:20].replace('_', '-')}-{n:02d}"
        tags = cell.metadata.get("tags")
        cell["metadata"] = {"tags": tags} if tags else {}
        if cell.cell_type != "code":
            continue
        count += 1
        cell["execution_count"] = count
        ignored = IGNORE in cell.source
        cell["outputs"] = [] if ignored else _merged([_plain(o, count) for o in cell.outputs])
    notebook["metadata"] = METADATA
    nbformat.validate(notebook)
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    changed = path.read_text(encoding="utf-8") != text
    path.write_text(text, encoding="utf-8")
    return changed


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
