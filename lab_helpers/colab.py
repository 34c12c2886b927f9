"""On Colab: what the first cell of every notebook does there, and the text of that cell.

Colab's own packages are left as they are: installing another version of one that is already
imported would ask for a restart. The sandbox's databases go into an environment of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from lab_helpers import bootstrap
from lab_helpers.config import LabConfig

# The first code cell of every notebook; `refresh` puts it there.
CELL = """\
# @title Find the kit; on Colab, fetch it {display-mode: "form"}
import importlib.util
import subprocess
import sys

sys.path[:0] = ["..", "../..", "kit"]  # where the kit is not installed, it is next door
if "google.colab" in sys.modules:
    if not importlib.util.find_spec("lab_helpers"):
        source = "https://github.com/system-of-action-lab/system-of-action-lab"
        subprocess.run(["git", "clone", "-q", "--depth=1", source, "kit"], check=True)
        importlib.invalidate_caches()
    from lab_helpers import colab

    colab.prepare()"""

# What a notebook imports, that Colab's image lacks, and that replaces nothing of Colab's.
_LACKING = ("wordllama",)
# In a cloud project: Knowledge Catalog's client, and what writes plain SQL where no GQL runs.
_LACKING_IN_THE_CLOUD = ("google-cloud-dataplex", "sqlglot")


def prepare() -> None:
    """Sign in where a cloud project is named; else make ready what the sandbox runs in.

    Takes about a minute the first time and nothing after that. Installs nothing that is imported
    already, so that no restart is asked for.
    """
    _add(_LACKING)
    if LabConfig.from_env().backend == "cloud":
        _add(_LACKING_IN_THE_CLOUD)
        from google.colab import auth

        auth.authenticate_user()
    elif "LAB_SANDBOX_PYTHON" not in os.environ:
        os.environ["LAB_SANDBOX_PYTHON"] = str(bootstrap.sandbox_environment())


def _add(names: tuple[str, ...]) -> None:
    """Install the requirements of these names, with every present package held where it is."""
    wanted = [line for line in bootstrap.lines_of(names) if not _here(bootstrap.name_of(line))]
    if not wanted:
        return
    held = [f"{d.name}=={d.version}" for d in metadata.distributions() if d.name]
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "held.txt"
        pins.write_text("\n".join(sorted(set(held))), encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "-c", str(pins), *wanted], check=True
        )


def _here(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
