"""The command line: `python -m lab_helpers COMMAND`. Works on a bare Python: it sets itself up."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lab_helpers import bootstrap
from lab_helpers.errors import LabError

FIRST = "notebooks/00_start_here.ipynb"


def start(args: argparse.Namespace) -> int:
    """Set up, provision, and open JupyterLab on the first notebook."""
    from lab_helpers.lab import Lab

    lab = Lab.open()
    print(lab.provision(progress=_line))
    lab.close()
    words = ["--no-browser"] if args.no_browser else []
    words.append(f"--LabApp.app_settings_dir={_quiet_settings(lab.config.home)}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")
    print("\nOpening JupyterLab; without a browser, use the address below.", flush=True)
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--log-level=ERROR",  # the address is printed all the same
        f"--LabApp.default_url=/lab/tree/{FIRST}",
        *words,
    ]
    return subprocess.call(command, cwd=bootstrap.ROOT)


# Tests of one file share their stores, so a file stays with one worker; notebooks share one home.
_PARTS = {
    # Three for two cores, because tests also wait. In the order of the folders: sorted by size,
    # long files of few tests would come last, alone.
    "tests": ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"),
    "notebooks": (
        *("--nbval", "--nbval-current-env", "--nbval-cell-timeout", "120"),
        *("--nbval-sanitize-with", "tests/notebooks/sanitize.cfg"),
    ),
}


def test(args: argparse.Namespace) -> int:
    """All tests: units, stores, sandbox, browser, and the notebooks compared strictly."""
    words = {
        "tests": [w for w in args.words if not w.endswith(".ipynb")],
        "notebooks": [w for w in args.words if w.endswith(".ipynb")],
    }
    if not args.words:
        words = {
            "tests": ["tests"],
            "notebooks": [str(p) for p in sorted((bootstrap.ROOT / "notebooks").glob("*.ipynb"))],
        }
    with tempfile.TemporaryDirectory(prefix="lab-test-", ignore_cleanup_errors=True) as home:
        env = {k: v for k, v in os.environ.items() if not k.startswith("LAB_")}
        env.pop("GOOGLE_CLOUD_PROJECT", None)
        env["LAB_HOME"] = home
        status = 0
        for part, options in _PARTS.items():
            if words[part]:
                command = (sys.executable, "-m", "pytest", *options, *words[part])
                status = subprocess.call(command, cwd=bootstrap.ROOT, env=env) or status
        subprocess.call(
            [sys.executable, "-m", "lab_helpers", "sandbox", "stop"],
            cwd=bootstrap.ROOT,
            env=env,
            stdout=subprocess.DEVNULL,
        )
    return status


def verify(args: argparse.Namespace) -> int:
    """Run notebooks on the configured backend, compare their outputs, print a table."""
    from lab_helpers import verify

    return verify.run(args.words)


def demo(args: argparse.Namespace) -> int:
    """The same journey in a terminal: every outcome, its lineage, reset."""
    from lab_helpers import demo

    return demo.run(as_json=args.json)


def provision(args: argparse.Namespace) -> int:
    """Create both stores where they are missing."""
    from lab_helpers.lab import Lab

    lab = Lab.open()
    print(lab.provision(scale=args.scale, progress=_line))
    if args.import_thelook:
        lab.import_thelook()
        print("✓ customers and orders of the public thelook store")
    return 0


def reset(args: argparse.Namespace) -> int:
    """Put the demo orders back; with --all also empty the trail."""
    from lab_helpers.lab import Lab

    lab = Lab.open()
    print(lab.reset_all() if args.all else lab.reset_orders())
    return 0


def doctor(args: argparse.Namespace) -> int:
    """Say what is installed, where the lab runs, and what is wrong."""
    from lab_helpers import doctor

    return doctor.run_cloud() if args.cloud else doctor.run()


def sandbox(args: argparse.Namespace) -> int:
    """start, status, env, logs or stop the local sandbox."""
    from lab_helpers.config import LabConfig
    from lab_helpers.sandbox.__main__ import main

    return main([args.action, "--home", str(LabConfig.from_env().home)])


def refresh(args: argparse.Namespace) -> int:
    """Run notebooks and store their outputs again."""
    from lab_helpers import refresh

    return refresh.run(args.words)


def student(args: argparse.Namespace) -> int:
    """Write the student notebooks: the solutions taken out, their checks left in."""
    from lab_helpers import student

    return student.run(args.folder)


def bench(args: argparse.Namespace) -> int:
    """Print the ratios that tests/bench measures."""
    return subprocess.call([sys.executable, "-m", "tests.bench"], cwd=bootstrap.ROOT)


_ALL = (start, demo, test, verify, provision, reset, doctor, sandbox, refresh, student, bench)
COMMANDS = {f.__name__: f for f in _ALL}
WITH_TEST_TOOLS = {"test", "verify", "refresh", "bench"}


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="python -m lab_helpers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    made = {
        name: commands.add_parser(name, help=(f.__doc__ or "").splitlines()[0])
        for name, f in COMMANDS.items()
    }
    made["start"].add_argument("--no-browser", action="store_true", help="only print the address")
    made["demo"].add_argument("--json", action="store_true", help="print it for machines")
    made["doctor"].add_argument("--cloud", action="store_true", help="is LAB_PROJECT ready?")
    made["provision"].add_argument("--scale", type=int, default=1, help="1 is 2,000 orders")
    made["provision"].add_argument(
        "--import-thelook", action="store_true", help="also copy BigQuery's public thelook store"
    )
    made["reset"].add_argument("--all", action="store_true", help="also empty the trail")
    made["sandbox"].add_argument("action", choices=("start", "status", "env", "logs", "stop"))
    made["student"].add_argument("folder", nargs="?", help="notebooks/student where left out")
    for name in ("test", "verify", "refresh"):
        made[name].add_argument("words", nargs="*", help="paths; all where left out")
    args = parser.parse_args(words)
    if args.command != "doctor":
        requirements = bootstrap.TEST if args.command in WITH_TEST_TOOLS else bootstrap.RUN
        bootstrap.ensure(requirements, words)
    try:
        return COMMANDS[args.command](args)
    except LabError as error:
        print("\n".join(error._render_traceback_()), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _quiet_settings(home: Path) -> Path:
    """A folder of settings for JupyterLab: its question about news would lie over the notebook."""
    folder = home / "jupyterlab"
    folder.mkdir(parents=True, exist_ok=True)
    quiet = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
    (folder / "overrides.json").write_text(json.dumps(quiet), encoding="utf-8")
    return folder


def _line(done: int, total: int, step: str) -> None:
    print(f"[{done}/{total}] {step}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
