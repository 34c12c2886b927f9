"""A full disk for one process: its files may not grow, which every write meets as a failure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lab_helpers.errors import LabError

FAULTS = {"full": "the sandbox's files may not grow any more"}
# Not a byte more in any file, so that the next write of either store fails.
_LIMIT_BYTES = 0


@contextlib.contextmanager
def full(pid: int) -> Iterator[None]:
    """Limit the size of the files of process `pid`; lifting it again is freeing space."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit
    except ImportError:
        raise LabError(
            "This system cannot limit another process.",
            "A full disk is played by a limit on the sandbox's files, which only Linux can set.",
            "Try another fault: print(lab.faults) lists them.",
        ) from None
    _, most = prlimit(pid, RLIMIT_FSIZE)
    prlimit(pid, RLIMIT_FSIZE, (_LIMIT_BYTES, most))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            prlimit(pid, RLIMIT_FSIZE, (RLIM_INFINITY if most == RLIM_INFINITY else most, most))
