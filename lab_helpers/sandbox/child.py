"""The sandbox process seen from outside: starting it apart from this one, and ending it."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lab_helpers.sandbox.errors import SandboxError
from lab_helpers.sandbox.home import SandboxHome

# Kept so that they are reaped when they end, instead of lingering as zombies of this kernel.
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Child:
    """A started process and where in the log its words begin."""

    process: subprocess.Popen[bytes]
    log: Path
    log_start: int

    def last_words(self) -> str:
        """The last line it wrote: where it failed to start, that line says why."""
        try:
            said = self.log.read_bytes()[self.log_start :].decode("utf-8", errors="replace")
        except OSError:
            said = ""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return lines[-1] if lines else "It said nothing."


def spawn(place: SandboxHome, token: str) -> Child:
    """Start the sandbox process of a home.

    Raises OSError when its log cannot be written, SandboxError when there is no Python for it.
    """
    _children[:] = [child for child in _children if child.poll() is None]
    root = str(Path(__file__).parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [_python(), "-m", "lab_helpers.sandbox.server", str(place.path), token]
    with place.log.open("ab") as log:
        child = subprocess.Popen(
            command,
            cwd=place.path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **_detached(),
        )
        log_start = log.tell()
    _children.append(child)
    return Child(child, place.log, log_start)


def _python() -> str:
    """This Python, or the one that holds the databases where this one must not change (Colab)."""
    named = os.environ.get("LAB_SANDBOX_PYTHON")
    if named and not shutil.which(named):
        raise SandboxError(
            "The sandbox has no Python to run on.",
            f"LAB_SANDBOX_PYTHON names {named}, which is not there.",
            "Unset it, or run the notebook's first cell again.",
        )
    return named or sys.executable


def _detached() -> dict[str, object]:
    """Popen arguments that let the process outlive the kernel and its Ctrl-C."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def end(pid: int, *, by_force: bool) -> None:
    """Ask a process to end, or end it; nothing happens when it has ended already."""
    # Windows has no SIGKILL; there SIGTERM already ends the process at once.
    number = getattr(signal, "SIGKILL", signal.SIGTERM) if by_force else signal.SIGTERM
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError as error:
        raise SandboxError(
            "The sandbox cannot be stopped.",
            f"Process {pid} belongs to another user.",
            "Ask its owner to stop it, or use a home of your own.",
        ) from error
