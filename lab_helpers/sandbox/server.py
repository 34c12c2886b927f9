"""The sandbox process itself: `python -m lab_helpers.sandbox.server HOME TOKEN`.

Started by `process.ensure`, which reads its state file and, when it fails, its last line of output:
that line says in plain words why it could not run.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from lab_helpers.sandbox.home import SandboxHome, SandboxState
from lab_helpers.sandbox.memory import resident_bytes
from lab_helpers.sandbox.ports import choose_port, ports_of
from lab_helpers.sandbox.version import source_version

_WATCH_S = 0.5
_LOG_LIMIT_BYTES = 1_000_000
_LOG_KEEP_BYTES = 200_000
_STOP_LIMIT_S = 8.0
# The prober and the starter touch the run lock for an instant each.
_RUN_LOCK_WAIT_S = 5.0

log = logging.getLogger("sandbox")

# What an error's text says, and what a person should read instead.
_PLAIN_WORDS = (
    ("No space left", "The disk is full."),
    ("Disk quota", "The disk quota is used up."),
    ("Permission denied", "The folder may not be written to."),
    ("Read-only file system", "The folder may not be written to."),
    ("Could not set lock", "Another program has the data files open."),
)


def main(arguments: list[str]) -> int:
    """Serve until told to stop; returns the exit code."""
    home, token = SandboxHome(Path(arguments[0])), arguments[1]
    _log_to_stderr()
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    try:
        with FileLock(home.run_lock, timeout=_RUN_LOCK_WAIT_S):
            _serve(home, token, stopping)
            return 0
    except Timeout:
        last_words = "Another sandbox process already owns this folder."
    except Exception as error:
        log.exception("the sandbox failed")
        last_words = _plainly(error)
    print(last_words, file=sys.stderr, flush=True)
    return 1


def _log_to_stderr() -> None:
    line = logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s")
    handler = logging.StreamHandler()
    handler.setFormatter(line)
    logging.basicConfig(handlers=[handler])
    # On this logger itself, because bqemulator replaces what the root logger has.
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


def _serve(home: SandboxHome, token: str, stopping: threading.Event) -> None:
    """With the run lock held: start both services, watch the home, stop both."""
    previous = home.read_state()
    spanner_port, bigquery_port = ports_of(home.path)
    state = SandboxState(
        pid=os.getpid(),
        token=token,
        version=source_version(),
        spanner_port=(previous and previous.spanner_port) or spanner_port,
        bigquery_port=(previous and previous.bigquery_port) or bigquery_port,
        ready=False,
        started_at=time.time(),
    )
    services = Services(home.data)
    try:
        home.write_state(state)
        state = services.start(state)
        home.write_state(state)
        log.info("ready: Spanner %d, BigQuery %d", state.spanner_port, state.bigquery_port)
        while not stopping.wait(_WATCH_S) and home.path.is_dir():
            _keep_in_order(home, state)
    finally:
        # A service that waits for a client that never leaves must not keep the process.
        guillotine = threading.Timer(_STOP_LIMIT_S, os._exit, (0,))
        guillotine.daemon = True
        guillotine.start()
        services.stop()
        with suppress(OSError):
            home.write_state(state.without_process())
        log.info("stopped")


class Services:
    """The two services, started and stopped together."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._stops: list[Callable[[], None]] = []

    def start(self, state: SandboxState) -> SandboxState:
        """Start both on the ports of `state` where free; returns the state that is now true."""
        from lab_helpers.sandbox.bigquery import BigQueryServer
        from lab_helpers.sandbox.spanner import SpannerServer

        spanner = SpannerServer(self._data / "spanner")
        self._stops.append(spanner.stop)
        state = replace(state, spanner_port=spanner.start(choose_port(state.spanner_port)))
        # BigQuery comes last: its health answer is what says that both are there.
        ready = replace(state, bigquery_port=choose_port(state.bigquery_port), ready=True)
        bigquery = BigQueryServer(self._data / "bigquery", health=lambda: _health(ready))
        self._stops.append(bigquery.stop)
        bigquery.start(ready.bigquery_port)
        return ready

    def stop(self) -> None:
        """Stop what was started; a failure to stop one does not spare the other."""
        for stop in reversed(self._stops):
            try:
                stop()
            except Exception:
                log.exception("a service did not stop cleanly")


def _health(state: SandboxState) -> dict[str, object]:
    return {
        "token": state.token,
        "pid": state.pid,
        "version": state.version,
        "uptime_s": round(time.time() - state.started_at, 3),
        "rss_bytes": resident_bytes(),
    }


def _keep_in_order(home: SandboxHome, state: SandboxState) -> None:
    """Mend a state file that was damaged, and keep the log from growing without end."""
    try:
        if home.read_state() != state:
            home.write_state(state)
        if home.log.stat().st_size > _LOG_LIMIT_BYTES:
            tail = home.log.read_bytes()[-_LOG_KEEP_BYTES:]
            # In place: this process's own output is open for appending to this very file.
            with home.log.open("r+b") as file:
                file.write(tail)
                file.truncate()
    except OSError as error:
        log.warning("the home could not be kept in order: %s", error)


def _plainly(error: Exception) -> str:
    text = str(error)
    for sign, words in _PLAIN_WORDS:
        if sign in text:
            return words
    return f"{type(error).__name__}: {text}".splitlines()[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
