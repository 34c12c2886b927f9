"""Run notebooks as on Colab: its versions in the kernel, the sandbox in an environment of its own.

    python -m tests.colab [FOLDER]

Not part of the tests: it installs about a gigabyte into FOLDER (a temporary one where left out).
What it stands in for: `google.colab` is a module of that name that does nothing, and the public
repository is the commit that is checked out here. Colab's front end and its Python 3.13 are not
tried.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from lab_helpers import colab

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = "https://github.com/system-of-action-lab/system-of-action-lab"
# From googlecolab/backend-info, August 2026: what a notebook of the lab imports.
COLAB = """
ipywidgets==7.7.1
ipython==7.34.0
ipykernel==6.17.1
jupyter_client==7.4.9
tornado==6.5.7
traitlets==5.7.1
pandas==2.2.3
numpy==2.1.3
pyarrow==18.1.0
protobuf==5.29.6
google-auth==2.49.0
google-adk==2.7.1
google-genai==2.12.1
google-cloud-bigquery==3.43.0
google-cloud-bigquery-storage==2.39.0
google-cloud-spanner==3.68.0
bigquery-magics==0.14.0
spanner-graph-notebook==1.1.10
db-dtypes==1.7.1
networkx==3.6.1
graphviz==0.21
filelock
pip
"""
FAKE = """import sys, types
import google
google.colab = sys.modules["google.colab"] = types.ModuleType("google.colab")
"""
NOTEBOOKS = ("00_start_here", "01_provision", "02_refund_agent", "03_decision_lineage")


def main() -> int:
    """Make the environment where it is missing, run each notebook strictly; 0 when all pass."""
    place = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="lab-colab-"))
    place = place.resolve()
    python = kernel_environment(place)
    before = installed(python)
    content = place / "content"
    shutil.rmtree(content, ignore_errors=True)
    content.mkdir()
    for name in NOTEBOOKS:  # Colab brings the one file that is opened, and nothing beside it
        shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", content)
    begun = time.monotonic()
    # The first time this cell says on stderr what it installs; the notebooks then find it done.
    first = subprocess.run([python, "-c", colab.CELL], cwd=content, env=environment(place))
    print(f"first cell: {time.monotonic() - begun:.0f} s, status {first.returncode}", flush=True)
    status = subprocess.call(command(content), cwd=content, env=environment(place))
    after = installed(python)
    changed = {name: now for name, now in before.items() if after.get(name) != now}
    print("packages of Colab that changed:", changed or "none")
    print("packages added:", sorted(after.keys() - before.keys()) or "none")
    stop = [str(python), "-m", "lab_helpers.sandbox", "stop", "--home", str(place / "home")]
    subprocess.call(stop, cwd=content / "kit")
    return first.returncode or status or bool(changed)


def kernel_environment(place: Path) -> Path:
    """The Python with Colab's versions, known to Jupyter as the kernel "colab"."""
    python = place / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(place / "venv", with_pip=True)
        wanted = place / "colab.txt"
        wanted.write_text(COLAB)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", wanted], check=True)
    fake = place / "fake"
    fake.mkdir(exist_ok=True)
    (fake / "sitecustomize.py").write_text(FAKE)
    spec = place / "jupyter" / "kernels" / "colab"
    spec.mkdir(parents=True, exist_ok=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Colab"}))
    return python


def environment(place: Path) -> dict[str, str]:
    """Variables for a kernel that believes it is on Colab and clones this checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LAB_", "GOOGLE_"))}
    return {
        **kept,
        "LAB_HOME": str(place / "home"),
        "JUPYTER_PATH": str(place / "jupyter"),
        "PYTHONPATH": str(place / "fake"),
        # Google's packages warn of this Python's age; Colab's is newer.
        "PYTHONWARNINGS": "ignore::FutureWarning",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": PUBLIC,
    }


def command(content: Path) -> list[str]:
    """The strict comparison, with the kernel that has Colab's versions."""
    return [
        *(sys.executable, "-m", "pytest", "--nbval", "--nbval-kernel-name", "colab"),
        *("--nbval-cell-timeout", "600", "-p", "no:cacheprovider"),
        *("--nbval-sanitize-with", str(ROOT / "tests" / "notebooks" / "sanitize.cfg")),
        *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(content)),
        *(str(content / f"{name}.ipynb") for name in NOTEBOOKS),
    ]


def installed(python: Path) -> dict[str, str]:
    """Name to version of everything in an environment."""
    words = [str(python), "-m", "pip", "list", "--format", "json"]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {d["name"]: d["version"] for d in json.loads(found)}


if __name__ == "__main__":
    sys.exit(main())
