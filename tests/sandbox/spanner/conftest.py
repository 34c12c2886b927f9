"""A Spanner sandbox in a process of its own, and the real client in front of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import spanner
from google.cloud.spanner_v1 import _helpers
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.instance import Instance

PROJECT = "lab"
INSTANCE = "soa-lab"
_REPOSITORY = Path(__file__).resolve().parents[3]
_SERVE = """
import sys, threading
from pathlib import Path
from lab_helpers.sandbox.spanner import SpannerServer
server = SpannerServer(Path(sys.argv[1]))
print(server.start(int(sys.argv[2])), flush=True)
threading.Event().wait()
"""

# Otherwise the first client asks a metadata server that is not there where it runs.
_helpers._cloud_region = "global"


@dataclass
class Sandbox:
    """A running server process and where it listens."""

    process: subprocess.Popen
    port: int
    data_dir: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"SPANNER_EMULATOR_HOST": f"127.0.0.1:{self.port}"}

    def client(self) -> spanner.Client:
        with mock.patch.dict(os.environ, self.environment):
            return spanner.Client(project=PROJECT, credentials=AnonymousCredentials())

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()


def start(data_dir: Path, port: int = 0, prelude: str = "") -> Sandbox:
    """A server on `data_dir`; `prelude` runs in its process first."""
    process = subprocess.Popen(
        [sys.executable, "-c", prelude + _SERVE, str(data_dir), str(port)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=_REPOSITORY,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the server did not start (exit code {process.wait()})")
    return Sandbox(process, int(line), data_dir)


@pytest.fixture
def starter() -> Iterator[Callable[..., Sandbox]]:
    """Starts servers that are gone after the test."""
    with contextlib.ExitStack() as stack:

        def run(data_dir: Path, port: int = 0, prelude: str = "") -> Sandbox:
            sandbox = start(data_dir, port, prelude)
            stack.callback(sandbox.kill)
            return sandbox

        yield run


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    sandbox = start(tmp_path_factory.mktemp("spanner"))
    yield sandbox
    sandbox.kill()


@pytest.fixture(scope="session")
def client(sandbox: Sandbox) -> spanner.Client:
    return sandbox.client()


def make_instance(client: spanner.Client) -> Instance:
    instance = client.instance(
        INSTANCE,
        configuration_name=f"projects/{PROJECT}/instanceConfigs/regional-us-central1",
        display_name="System of Action lab",
        processing_units=100,
        labels={"lab": "soa"},
    )
    if not instance.exists():
        instance.create().result(30)
    return instance


@pytest.fixture(scope="session")
def instance(client: spanner.Client) -> Instance:
    return make_instance(client)


_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def make_database(instance: Instance) -> Callable[..., Database]:
    def make(*ddl: str) -> Database:
        database = instance.database(f"db-{next(_numbers)}", ddl_statements=list(ddl))
        database.create().result(30)
        return database

    return make


def rows(database: Database, sql: str, params: dict | None = None, types: dict | None = None):
    """The rows of a query on the newest data."""
    with database.snapshot() as snapshot:
        return [list(row) for row in snapshot.execute_sql(sql, params=params, param_types=types)]
