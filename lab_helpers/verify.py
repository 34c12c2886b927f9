"""`verify`: run notebooks on the backend that is configured and compare them with what they keep.

In the sandbox every output is compared. In a cloud project the words are Gemini's and the first
line says another place, so there every cell must run and every check must say the same.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab_helpers.bootstrap import ROOT
from lab_helpers.config import LabConfig
from lab_helpers.errors import LabError

NBVAL = (
    *("--nbval-current-env", "--nbval-cell-timeout", "180"),
    *("--nbval-sanitize-with", str(ROOT / "tests" / "notebooks" / "sanitize.cfg")),
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_COLUMNS = ("notebook", "cells", "seconds", "result")


@dataclass
class Verified:
    """One notebook: how many of its cells ran, how long that took, and what went wrong."""

    name: str
    cells: int = 0
    seconds: float = 0.0
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def result(self) -> str:
        if not self.cells:
            return "no cell ran"
        return f"differs: {', '.join(self.faults)}" if self.faults else "as saved"

    @property
    def good(self) -> bool:
        return self.result == "as saved"


class _Watch:
    """A pytest plugin that keeps what each cell of a notebook came to."""

    def __init__(self, seen: Verified) -> None:
        self._seen = seen

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seen.seconds += report.duration
        # nbval counts cells from 0; a person reads [1] beside the first one.
        cell = f"cell [{int(report.nodeid.rsplit(' ', 1)[-1]) + 1}]"
        self._seen.cells += report.when == "call"
        if report.failed:
            self._seen.faults.setdefault(cell, _COLOURS.sub("", str(report.longrepr)).strip())

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._seen.faults["reading it"] = _COLOURS.sub("", str(report.longrepr)).strip()


def run(paths: Sequence[str]) -> int:
    """Print a row a notebook (all of notebooks/ where none is named), then each one's first fault.

    Returns 0 when all are as saved. Raises LabError for a path that is no notebook.
    """
    notebooks = _notebooks(paths)
    strict = LabConfig.from_env().backend == "sandbox"
    wide = max(len(path.name) for path in notebooks)
    print(_row(wide, *_COLUMNS))
    print(_row(wide, *("-" * len(name) for name in _COLUMNS)))
    seen = []
    for path in notebooks:
        print(f"{path.name} …", end="\r", file=sys.stderr, flush=True)
        one = verify(path, strict=strict)
        print(_row(wide, one.name, str(one.cells), f"{one.seconds:.1f}", one.result), flush=True)
        seen.append(one)
    for one in seen:
        # What follows a first fault is often only its consequence.
        for cell, fault in list(one.faults.items())[:1]:
            print(f"\n{one.name}, {cell}\n{fault}")
    good = sum(one.good for one in seen)
    compared = "every output" if strict else "every check"
    print(f"\n{good} of {len(seen)} notebooks as saved; {compared} was compared.")
    return 0 if good == len(seen) else 1


def verify(path: Path, *, strict: bool = True) -> Verified:
    """Run one notebook in a kernel of its own. `strict` compares every output, else the checks."""
    import pytest

    seen = Verified(path.name)
    how = "--nbval" if strict else "--nbval-lax"
    ours = ("-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", "-vv")
    words = [str(path), how, *NBVAL, *ours]
    with contextlib.redirect_stdout(io.StringIO()):  # what pytest itself would print
        pytest.main(words, plugins=[_Watch(seen)])
    return seen


def _notebooks(paths: Sequence[str]) -> list[Path]:
    if not paths:
        return sorted((ROOT / "notebooks").glob("*.ipynb"))
    found = [
        one
        for path in map(Path, paths)
        for one in (sorted(path.glob("*.ipynb")) if path.is_dir() else [path])
    ]
    for path in found:
        if path.suffix != ".ipynb" or not path.is_file():
            raise LabError(
                f"{path} is no notebook.",
                "verify compares .ipynb files with the outputs they keep.",
                "Name a file or a folder of notebooks, or none for all of them.",
            )
    if not found:
        raise LabError("There is no notebook there.", "", "Name a folder that holds .ipynb files.")
    return found


def _row(wide: int, name: str, cells: str, seconds: str, result: str) -> str:
    return f"{name:<{wide}}  {cells:>5}  {seconds:>7}  {result}"
