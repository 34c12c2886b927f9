"""`doctor`: what is installed, where the lab runs, and what is wrong, in plain words."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata

from lab_helpers import bootstrap
from lab_helpers.config import LabConfig
from lab_helpers.errors import LabError, scrubbed

OK, NOTE, BAD = "ok", "note", "wrong"
NEEDED_DISK = 1_000_000_000
Finding = tuple[str, str]


def run() -> int:
    """Print one line a finding; 0 when nothing is wrong."""
    worst = 0
    for state, text in findings():
        print(f"{state:<6}{text}")
        worst |= state == BAD
    print("\nNothing is wrong." if not worst else "\nSomething is wrong: see the lines above.")
    return worst


def run_cloud() -> int:
    """Print the cloud project's pre-flight; 0 when it is green. Creates nothing."""
    from lab_helpers.lab import Lab

    found = Lab(LabConfig.from_env()).cloud_preflight()
    print(found)
    return 0 if found.green else 1


def findings() -> Iterator[Finding]:
    yield OK, f"Python {platform.python_version()} on {platform.system()} ({sys.prefix})"
    yield from _packages()
    try:
        config = LabConfig.from_env()
    except LabError as error:
        yield BAD, f"{error.what} {error.why} {error.next}"
        return
    yield from _place(config)
    yield from _tools()
    if config.backend == "sandbox" and not bootstrap.satisfied(bootstrap.RUN):
        return
    yield from _stores(config)


def _packages() -> Iterator[Finding]:
    for name, pin in bootstrap._named(bootstrap.RUN):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield BAD, f"{name} is not installed. Next: python -m lab_helpers start"
            continue
        if pin and version != pin:
            yield BAD, f"{name} {version} is installed, {pin} is needed. Next: delete .venv, start"
        elif name in ("google-adk", "google-cloud-spanner", "google-cloud-bigquery", "jupyterlab"):
            yield OK, f"{name} {version}"
    if _version("ipywidgets") == "8.1.9":
        yield NOTE, "ipywidgets 8.1.9 draws nothing in VS Code; 8.1.8 does"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _place(config: LabConfig) -> Iterator[Finding]:
    if config.backend == "cloud":
        yield OK, f"The lab runs on Google Cloud, project {config.project}"
    else:
        yield OK, f"The lab runs in the local sandbox; its data is in {config.home}"
        yield NOTE, "No model here: replies come from templates and say so"
    home = config.home
    while not home.exists():
        home = home.parent
    free = shutil.disk_usage(home).free
    state = OK if free > NEEDED_DISK else BAD
    yield state, f"{free / 1e9:.1f} GB free on the lab's disk"
    if not os.access(home, os.W_OK):
        yield BAD, f"{home} cannot be written. Next: set LAB_HOME to a folder of yours"


def _tools() -> Iterator[Finding]:
    if shutil.which("dot"):
        yield OK, "graphviz's dot program is here: graphs are drawn as pictures"
    else:
        yield NOTE, "graphviz's dot program is missing: graphs are shown as text only"


def _stores(config: LabConfig) -> Iterator[Finding]:
    if config.backend == "sandbox":
        from lab_helpers import sandbox

        status = sandbox.status(config.home)
        if not status.running:
            yield NOTE, "The sandbox is not running; Lab.open() starts it"
            return
        yield OK, f"The sandbox runs (process {status.endpoints.pid})"
    from lab_helpers.lab import Lab

    try:
        lab = Lab.open(quiet=True)
        if not lab.is_provisioned():
            yield NOTE, "The stores are not set up yet. Next: python -m lab_helpers provision"
            return
        yield OK, f"{lab.operations.count('orders')} orders in Spanner"
        yield OK, f"{lab.trail.counts()['agent_sessions']} turns in the trail"
        owed = len(lab.operations.pending_outbox())
        if owed:
            yield NOTE, f"{owed} trails are not delivered yet. Next: lab.reconcile()"
    except Exception as error:
        yield BAD, f"The stores do not answer: {scrubbed(str(error))}"
