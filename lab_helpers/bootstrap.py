"""Set the lab up on a bare machine: Python and pip, nothing else. Standard library only.

Debian's Python refuses to install packages system-wide and may lack `ensurepip`; a virtual
environment is made with `venv`, and where that fails with `virtualenv`, fetched by pip into a
folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BOOT = ROOT / ".venv-boot"
RUN, TEST = ROOT / "requirements.txt", ROOT / "tests" / "requirements.txt"
PINS = ROOT / "tests" / "constraints.txt"
# What the sandbox process imports, for hosts whose own packages must stay as they are.
SANDBOX_VENV = ROOT / ".venv-sandbox"
SANDBOX = (
    *("bqemulator", "duckdb", "duckdb-extensions", "duckdb-extension-spatial", "sqlglot"),
    *("filelock", "google-cloud-spanner", "pandas"),  # DuckDB hands rows over with numpy
)
# Compiling every module ahead costs a third of the wait; what is imported compiles itself.
_INSTALL = ("install", "-q", "--no-compile")
_MARK = "LAB_BOOTSTRAPPED"


def ensure(requirements: Path, argv: list[str]) -> None:
    """Return if this Python has what `requirements` names; else set up .venv and go on there.

    Does not return in the second case: the process exits with the status of the command run in
    the environment.
    """
    if satisfied(requirements):
        return
    if os.environ.get(_MARK):
        raise SystemExit(
            "The lab's environment is incomplete although it was just installed.\n"
            f"Next: delete the folder {VENV.name} and run the command again."
        )
    python = environment(requirements)
    status = subprocess.call(
        [str(python), "-m", "lab_helpers", *argv], env={**os.environ, _MARK: "1"}
    )
    raise SystemExit(status)


def satisfied(requirements: Path) -> bool:
    """True when every distribution that the file names is installed, and pins are met."""
    for name, pin in _named(requirements):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            return False
        if pin and version != pin:
            return False
    return True


def _named(requirements: Path) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for line in requirements.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("-r "):
            out += _named(requirements.parent / line[3:].strip())
        elif line:
            head = line.split(";")[0]
            out.append((name_of(line), head.split("==")[1].strip() if "==" in head else ""))
    return out


def name_of(line: str) -> str:
    """The distribution that a line of a requirements file names."""
    return re.split(r"[\[;<>=!~ ]", line)[0]


def lines_of(names: Sequence[str]) -> list[str]:
    """The lines of requirements.txt that name these distributions."""
    lines = (line.split("#")[0].strip() for line in RUN.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if name_of(line) in names]


def environment(requirements: Path) -> Path:
    """Make or refresh .venv with these requirements; returns its Python."""
    python = _python(VENV)
    stamp = VENV / f".{requirements.parent.name}-{requirements.stem}"
    wanted = _digest(requirements)
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    if not python.exists():
        _say("Making a virtual environment in .venv …")
        _make_venv(VENV)
    _say("Installing the lab's packages (one to three minutes, once) …")
    _pip(python, *_INSTALL, "-r", str(requirements), "-c", str(PINS))
    _pip(python, "install", "-q", "--no-deps", "-e", str(ROOT))
    stamp.write_text(wanted)
    return python


def sandbox_environment() -> Path:
    """Make .venv-sandbox with only what the sandbox process needs; returns its Python.

    For LAB_SANDBOX_PYTHON, where the notebook's own environment must not change (Colab).
    """
    python, stamp, lines = _python(SANDBOX_VENV), SANDBOX_VENV / ".made", lines_of(SANDBOX)
    wanted = "\n".join([sys.version, *lines])
    if not (python.exists() and stamp.exists() and stamp.read_text() == wanted):
        _say("Installing the sandbox beside the notebook's own packages (a minute, once) …")
        if not python.exists():
            _make_venv(SANDBOX_VENV)
        _pip(python, *_INSTALL, *lines, "-c", str(PINS))
        stamp.write_text(wanted)
    return python


def _python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _digest(requirements: Path) -> str:
    files = (RUN, TEST, PINS, ROOT / "pyproject.toml")
    parts = [
        sys.version,
        str(ROOT),
        requirements.name,
        *(f.read_text(encoding="utf-8") for f in files),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _make_venv(folder: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True
    )
    if made.returncode == 0:
        return
    shutil.rmtree(folder, ignore_errors=True)
    # `pip install --target` is allowed where an installation into the system is not.
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--target", str(BOOT), "virtualenv"],
        capture_output=True,
        text=True,
    )
    if fetched.returncode == 0:
        path = os.pathsep.join(filter(None, (str(BOOT), os.environ.get("PYTHONPATH"))))
        made = subprocess.run(
            [sys.executable, "-m", "virtualenv", "-q", str(folder)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
    shutil.rmtree(BOOT, ignore_errors=True)
    if fetched.returncode or made.returncode:
        raise SystemExit(
            "A virtual environment could not be made.\n"
            f"Why: {(fetched.stderr if fetched.returncode else made.stderr).strip()[-500:]}\n"
            "Next: install pip for this Python (Debian: apt-get install python3-pip), then run the"
            " command again."
        )


def _pip(python: Path, *words: str) -> None:
    done = subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", *words],
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(
            "The lab's packages could not be installed.\n"
            f"Why: {done.stderr.strip()[-800:]}\n"
            "Next: check the network and the free disk space (the lab needs about 1.5 GB), then run"
            " the command again."
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
