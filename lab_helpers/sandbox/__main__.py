"""`python -m lab_helpers.sandbox start|status|env|logs|stop [--home DIR]`."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from lab_helpers.sandbox import SandboxError, ensure, env, logs, status, stop

DEFAULT_HOME = Path(".lab") / "sandbox"


def _start(home: Path) -> int:
    found = ensure(home, progress=lambda text: print(text, file=sys.stderr))
    print(f"Spanner {found.spanner}\nBigQuery {found.bigquery}\nprocess {found.pid}")
    return 0


def _status(home: Path) -> int:
    now = status(home)
    if not now.running or now.endpoints is None:
        print(f"The sandbox does not run. {now.reason}")
        return 1
    print(f"Spanner {now.endpoints.spanner}\nBigQuery {now.endpoints.bigquery}")
    print(f"process {now.endpoints.pid}, up {now.uptime_s or 0:.0f} s, data {_mb(now.data_bytes)}")
    if now.rss_bytes is not None:
        print(f"memory {_mb(now.rss_bytes)}")
    return 0


def _env(home: Path) -> int:
    for name, value in env(home).items():
        print(f"export {name}={value}")
    return 0


def _logs(home: Path) -> int:
    print(logs(home))
    return 0


def _stop(home: Path) -> int:
    print("Stopped; its data stays." if stop(home) else "The sandbox was not running.")
    return 0


COMMANDS: dict[str, Callable[[Path], int]] = {
    "start": _start,
    "status": _status,
    "env": _env,
    "logs": _logs,
    "stop": _stop,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 on success, 1 when the sandbox does not run or cannot."""
    parser = argparse.ArgumentParser(prog="python -m lab_helpers.sandbox", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="its folder (%(default)s)")
    chosen = parser.parse_args(arguments)
    try:
        return COMMANDS[chosen.command](chosen.home)
    except SandboxError as error:
        print(error, file=sys.stderr)
        return 1


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main())
