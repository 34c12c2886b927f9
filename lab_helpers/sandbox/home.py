"""The folder one sandbox lives in: where its files are, and the state file that names the process.

Standard library only: a notebook reads the state on every `ensure`, so this must import fast.
"""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SandboxState:
    """What the running process says about itself. The pid is 0 while no process owns the home."""

    pid: int
    token: str  # made by the starter, echoed by /lab/health: proves a port answers for this home
    version: str
    spanner_port: int
    bigquery_port: int
    ready: bool
    started_at: float  # seconds since the epoch

    def without_process(self) -> "SandboxState":
        """The same ports with no owner: what is left for the next start to prefer."""
        return replace(self, pid=0, token="", ready=False)


@dataclass(frozen=True)
class SandboxHome:
    """File names inside the home, and the reading and writing of the state file."""

    path: Path

    @property
    def state_file(self) -> Path:
        """Written by the process while it runs, and kept afterwards for its ports."""
        return self.path / "sandbox.json"

    @property
    def start_lock(self) -> Path:
        """Held by whoever starts or stops the process: one at a time."""
        return self.path / "start.lock"

    @property
    def run_lock(self) -> Path:
        """Held by the process as long as it lives; the system lets go of it even on kill -9."""
        return self.path / "run.lock"

    @property
    def log(self) -> Path:
        """What the process says; it keeps the file short itself."""
        return self.path / "sandbox.log"

    @property
    def data(self) -> Path:
        """One folder below it for each service."""
        return self.path / "data"

    def read_state(self) -> SandboxState | None:
        """The state file's content, or None when it is absent, unreadable or not a state."""
        try:
            return _parse_state(json.loads(self.state_file.read_text("utf-8")))
        except (OSError, ValueError):
            return None

    def write_state(self, state: SandboxState) -> None:
        """Replace the state file in one step, so that no reader ever sees half of it.

        Raises OSError and leaves the old file as it was when there is no room or permission.
        """
        draft = self.state_file.with_suffix(f".{os.getpid()}.tmp")
        try:
            draft.write_text(json.dumps(asdict(state), indent=1), "utf-8")
            os.replace(draft, self.state_file)
        finally:
            draft.unlink(missing_ok=True)


def _parse_state(raw: Any) -> SandboxState:
    """Raise ValueError unless every field is there with its type."""
    if not isinstance(raw, dict):
        raise ValueError("not an object")
    fields = SandboxState.__dataclass_fields__
    if set(raw) != set(fields):
        raise ValueError("other fields")
    for name, field in fields.items():
        accepted = (int, float) if field.type is float else field.type
        if not isinstance(raw[name], accepted):
            raise ValueError(f"{name} has another type")
    return SandboxState(**raw)
