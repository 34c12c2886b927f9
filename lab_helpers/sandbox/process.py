"""Finding, starting and stopping the one sandbox process of a home.

Imports little: a notebook that finds its sandbox running pays for two sockets and a file, not for
the databases. Locks are taken only when something has to change.
"""

import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lab_helpers.sandbox.child import end, spawn
from lab_helpers.sandbox.errors import SandboxError
from lab_helpers.sandbox.health import LOOPBACK, Verdict, probe
from lab_helpers.sandbox.home import SandboxHome, SandboxState
from lab_helpers.sandbox.version import source_version

_POLL_S = 0.05
_STOP_GRACE_S = 10.0
_NEEDED_BYTES = 20_000_000
_COMMAND = "python -m lab_helpers.sandbox"


@dataclass(frozen=True)
class Endpoints:
    """Where the running sandbox answers."""

    spanner: str  # "127.0.0.1:9010", as SPANNER_EMULATOR_HOST wants it
    bigquery: str  # "http://127.0.0.1:9050", as BIGQUERY_EMULATOR_HOST wants it
    pid: int
    home: Path


@dataclass(frozen=True)
class Status:
    """How a home's sandbox is. Figures are None where nothing runs or the system does not tell."""

    running: bool
    endpoints: Endpoints | None
    uptime_s: float | None
    rss_bytes: int | None
    data_bytes: int
    reason: str  # why it does not run; empty while it does


def ensure(
    home: Path, *, timeout_s: float = 60, progress: Callable[[str], None] | None = None
) -> Endpoints:
    """The sandbox of `home`: the running one, or one started now.

    Any number of kernels may call this at once; exactly one process results. A dead, killed or
    outdated process is replaced, on the same ports where they are still free, with its data.
    Raises SandboxError when the home cannot be used or nothing answers within `timeout_s`.
    """
    place = _home(home)
    found = _running(place)
    if found:
        return found
    _make(place)
    deadline = time.monotonic() + timeout_s
    say = progress or (lambda _: None)
    with _start_lock(place, timeout_s):
        return _settle_running(place, deadline, say) or _start(place, deadline, say)


def status(home: Path) -> Status:
    """How the sandbox of `home` is, without changing anything."""
    place = _home(home)
    data_bytes = _size_of(place.data)
    state = place.read_state()
    if state is None or not state.pid:
        reason = "It was never started here." if state is None else "It is stopped."
        return Status(False, None, None, None, data_bytes, reason)
    result = probe(state)
    if result.verdict is Verdict.OURS:
        uptime, rss = result.report.get("uptime_s"), result.report.get("rss_bytes")
        return Status(
            True,
            _endpoints(place, state),
            float(uptime) if isinstance(uptime, int | float) else None,
            rss if isinstance(rss, int) else None,
            data_bytes,
            "",
        )
    reason = "It ended without being stopped."
    if result.verdict is Verdict.BUSY or (place.path.is_dir() and _is_owned(place)):
        reason = f"Its process ({state.pid}) lives but does not answer."
    return Status(False, None, None, None, data_bytes, reason)


def stop(home: Path) -> bool:
    """End the sandbox of `home`; True when one was running. Its data stays."""
    place = _home(home)
    if not place.path.is_dir():
        return False
    with _start_lock(place, timeout_s=60):
        if not _is_owned(place):
            return False
        _terminate(place)
        return True


def logs(home: Path, lines: int = 50) -> str:
    """The last `lines` lines the sandbox wrote; empty when it never ran."""
    try:
        text = _home(home).log.read_text("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def env(home: Path) -> dict[str, str]:
    """The two variables that point Google's clients at the running sandbox of `home`.

    Raises SandboxError when it does not run.
    """
    place = _home(home)
    now = status(home)
    found = now.endpoints
    if not found:
        raise SandboxError(
            "There is no sandbox to point at.",
            now.reason,
            f"Start it with `{_COMMAND} start --home {place.path}`.",
        )
    return {"SPANNER_EMULATOR_HOST": found.spanner, "BIGQUERY_EMULATOR_HOST": found.bigquery}


def _home(home: Path) -> SandboxHome:
    return SandboxHome(Path(home).expanduser().absolute())


def _endpoints(place: SandboxHome, state: SandboxState) -> Endpoints:
    return Endpoints(
        spanner=f"{LOOPBACK}:{state.spanner_port}",
        bigquery=f"http://{LOOPBACK}:{state.bigquery_port}",
        pid=state.pid,
        home=place.path,
    )


def _running(place: SandboxHome) -> Endpoints | None:
    """The endpoints when a ready sandbox of this very version answers."""
    state = place.read_state()
    if state is None or not state.ready or state.version != source_version():
        return None
    return _endpoints(place, state) if probe(state).verdict is Verdict.OURS else None


def _settle_running(
    place: SandboxHome, deadline: float, say: Callable[[str], None]
) -> Endpoints | None:
    """With the start lock held: wait for a living process, end an outdated one.

    Returns its endpoints, or None once no process owns the home.
    """
    told = False
    while _is_owned(place):
        found = _running(place)
        if found:
            return found
        state = place.read_state()
        if state and state.ready and state.version != source_version():
            say("The kit has changed; restarting the sandbox. Its data stays.")
            _terminate(place)
            continue
        if time.monotonic() > deadline:
            raise SandboxError(
                "The sandbox does not answer.",
                f"Its process{f' ({state.pid})' if state else ''} lives but is busy or stuck.",
                f"Wait for what it is doing, or run `{_COMMAND} stop --home {place.path}`.",
            )
        if not told:
            say("A sandbox is already there; waiting until it answers.")
            told = True
        time.sleep(_POLL_S)
    return None


def _start(place: SandboxHome, deadline: float, say: Callable[[str], None]) -> Endpoints:
    """With the start lock held and no process alive: start one and wait until it answers."""
    say("Starting the local Spanner and BigQuery (a few seconds).")
    token = uuid.uuid4().hex
    # No pid may be left in the file: `stop` trusts it as soon as the new process holds the lock.
    previous = place.read_state()
    if previous:
        _write(place, previous.without_process())
    try:
        child = spawn(place, token)
    except OSError as error:
        raise _cannot_write(place, error) from error
    while time.monotonic() < deadline:
        state = place.read_state()
        if state and state.ready and state.token == token and probe(state).verdict is Verdict.OURS:
            say(f"The sandbox answers (process {state.pid}).")
            return _endpoints(place, state)
        if child.process.poll() is not None:
            raise SandboxError(
                "The sandbox stopped while starting.",
                child.last_words(),
                f"Correct that and try again; its log is {place.log}.",
            )
        time.sleep(_POLL_S)
    child.process.kill()
    child.process.wait()
    raise SandboxError(
        "The sandbox did not start in time.",
        f"Its last words: {child.last_words()}",
        f"Try again with more time; its log is {place.log}.",
    )


def _terminate(place: SandboxHome) -> None:
    """End the process that holds the run lock: politely, then by force.

    The start lock is held, so the pid in the state file can only be the run lock holder's.
    """
    deadline = time.monotonic() + _STOP_GRACE_S
    asked = 0
    while _is_owned(place):
        state = place.read_state()
        late = time.monotonic() > deadline
        if late and time.monotonic() > deadline + _STOP_GRACE_S:
            raise SandboxError(
                "The sandbox cannot be stopped.",
                f"Process {state.pid if state else 'unknown'} does not end.",
                "End it with your system's task manager.",
            )
        if state and state.pid and (asked != state.pid or late):
            asked = state.pid
            end(state.pid, by_force=late)
        time.sleep(_POLL_S)
    state = place.read_state()
    if state:
        # Tidiness only, so it may fail on a full disk: no one trusts a pid without the run lock.
        with suppress(OSError):
            place.write_state(state.without_process())


def _is_owned(place: SandboxHome) -> bool:
    """Whether a living process holds the run lock."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(place.run_lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError as error:
        raise _cannot_write(place, error) from error


@contextmanager
def _start_lock(place: SandboxHome, timeout_s: float) -> Iterator[None]:
    """One starter or stopper at a time, over threads and processes."""
    from filelock import FileLock, Timeout

    lock = FileLock(place.start_lock, timeout=timeout_s)
    try:
        lock.acquire()
    except Timeout as error:
        raise SandboxError(
            "The sandbox is being started or stopped by someone else.",
            f"That has taken more than {timeout_s:.0f} seconds.",
            "Wait for the other notebook, or restart its kernel, and try again.",
        ) from error
    except OSError as error:
        raise _cannot_write(place, error) from error
    try:
        yield
    finally:
        lock.release()


def _make(place: SandboxHome) -> None:
    try:
        place.data.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(place.path).free
    except OSError as error:
        raise _cannot_write(place, error) from error
    if free < _NEEDED_BYTES:
        raise SandboxError(
            f"The sandbox cannot use the folder {place.path}.",
            f"Its disk has {free / 1e6:.0f} MB left and {_NEEDED_BYTES / 1e6:.0f} MB are needed.",
            "Free some space or give another folder (`home=`, `--home`).",
        )


def _write(place: SandboxHome, state: SandboxState) -> None:
    try:
        place.write_state(state)
    except OSError as error:
        raise _cannot_write(place, error) from error


def _cannot_write(place: SandboxHome, error: OSError) -> SandboxError:
    return SandboxError(
        f"The sandbox cannot use the folder {place.path}.",
        f"{error.strerror or error}.",
        "Free some space or give a folder you may write to (`home=`, `--home`).",
    )


def _size_of(folder: Path) -> int:
    """Bytes in the files below `folder`; files that vanish meanwhile count nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
