"""A real JupyterLab or Notebook 7 server of its own, and the notebook that the tests open in it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "refund.ipynb"
_START_S = 60

PANEL_CELL, GRAPH_CELL, QUERY_CELL, TABLE_CELL, PROGRESS_CELL = 1, 3, 4, 5, 6


def cells(trace_id: str) -> tuple[str, ...]:
    """The notebook: the panel, the graph of one turn, and outputs wider than a narrow window."""
    return (
        "from lab_helpers import Lab\n\nlab = Lab.open(quiet=True)",
        "panel = lab.panel()\npanel",
        "%load_ext bigquery_magics",
        f"""%%bigquery --graph
GRAPH `soa_action_lineage.ActionLineageGraph`
MATCH p = (:AgentSession {{trace_id: "{trace_id}"}})-[:RAN_STEP]->(:WorkflowNode)
        -[:EVALUATED]->(:PolicyEvaluation)-[:DECIDED]->(:AgentAction)
RETURN TO_JSON(p) AS path""",
        'lab.show_query("policy_evaluation")',
        """from lab_helpers.ui.tables import Table

reply = "The price is $18.40 a carton. That comes to $220.80 in all."
codes = ["PENDING_CONFIRMATION", "RETURN_WINDOW_EXPIRED", "evaluate_spanner_policy"]
Table([{"reply": reply, **{code.lower(): code for code in codes}}])""",
        """from lab_helpers.ui.progress import progress_bar

progress_bar("Provisioning")(10, 10, "ready")""",
    )


@dataclass(frozen=True)
class FrontEnd:
    """How one front end is started and where it opens a notebook."""

    name: str
    module: str
    path: str


FRONT_ENDS = (
    FrontEnd("JupyterLab", "jupyterlab", f"/lab/tree/{NOTEBOOK}?reset"),
    FrontEnd("Notebook 7", "notebook", f"/notebooks/{NOTEBOOK}"),
)


@contextlib.contextmanager
def serving(
    front: FrontEnd, place: Path, lab_home: Path, sources: tuple[str, ...]
) -> Iterator[str]:
    """Start `front` on a free port, with settings and a notebook of its own; yields its address."""
    work, settings = place / "work", place / "settings"
    for folder in (work, settings):
        folder.mkdir(parents=True)
    code = [nbformat.v4.new_code_cell(source) for source in sources]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=code, metadata=kernel), work / NOTEBOOK)
    # A first start asks whether to fetch news; the question would lie over the page.
    quiet = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
    (settings / "overrides.json").write_text(json.dumps(quiet))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        *(sys.executable, "-m", front.module, "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        *(f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token="),
        *("--ServerApp.password=", f"--ServerApp.root_dir={work}"),
        *(f"--{app}.app_settings_dir={settings}" for app in ("LabApp", "JupyterNotebookApp")),
        *("--LabApp.news_url=None", "--expose-app-in-browser"),
    ]
    own = {name: str(place / name) for name in _FOLDERS}
    env = {**os.environ, **own, "PYTHONPATH": str(ROOT), "LAB_HOME": str(lab_home)}
    with (place / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=work, env=env, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address, process, place / "log")
        yield address
    finally:
        process.terminate()
        process.wait(20)


_FOLDERS = (
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the Jupyter server ended at once:\n{log.read_text()[-2000:]}")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api/status", timeout=1).close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"no answer from {address} in {_START_S} s:\n{log.read_text()[-2000:]}")
