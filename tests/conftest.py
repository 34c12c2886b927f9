"""One lab for the tests that need stores: its own sandbox, set up once."""

import contextlib
import os
import threading

import pytest

POINTERS = (
    "SPANNER_EMULATOR_HOST",
    "BIGQUERY_EMULATOR_HOST",
    "LAB_SANDBOX_SPANNER",
    "GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS_FOR_RW",
)


@contextlib.contextmanager
def pointed_back():
    """Opening a lab points the clients of this process at it; afterwards they are where they were.

    A kernel or command that is started later would otherwise take a lab that is gone for Google's
    emulator.
    """
    kept = {name: os.environ.get(name) for name in POINTERS}
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@pytest.fixture(autouse=True)
def pointers():
    with pointed_back():
        yield


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory):
    from lab_helpers import sandbox

    home = tmp_path_factory.mktemp("lab-home").resolve()
    yield home
    sandbox.stop(home)


@pytest.fixture(scope="session")
def provisioned(lab_home):
    from lab_helpers.lab import Lab

    with pointed_back():
        lab = Lab.open(env={"LAB_HOME": str(lab_home)}, quiet=True)
        lab.provision(progress=None)
        yield lab
        lab.close()


@pytest.fixture
def lab(provisioned, lab_home, monkeypatch):
    """The lab with the demo orders as on the first day."""
    from lab_helpers import sandbox

    # Another test of this process may have opened a lab elsewhere.
    for name, value in sandbox.env(lab_home).items():
        monkeypatch.setenv(name, value)
    provisioned.reset_orders()
    return provisioned


@pytest.fixture
def at_once():
    """Run one function in n threads that start together; returns results and exceptions."""

    def run(n, work):
        gate, out = threading.Barrier(n), [None] * n

        def one(i):
            gate.wait()
            try:
                out[i] = work(i)
            except Exception as error:
                out[i] = error

        threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return out

    return run
