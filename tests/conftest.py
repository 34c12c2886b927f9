"""One lab for the tests that need stores: its own sandbox, set up once."""

import os
import threading

import pytest


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory):
    from lab_helpers import sandbox

    home = tmp_path_factory.mktemp("lab-home").resolve()
    yield home
    sandbox.stop(home)


@pytest.fixture(scope="session")
def provisioned(lab_home):
    from lab_helpers.lab import Lab

    before = {k: os.environ.get(k) for k in ("SPANNER_EMULATOR_HOST", "BIGQUERY_EMULATOR_HOST")}
    lab = Lab.open(env={"LAB_HOME": str(lab_home)}, quiet=True)
    lab.provision(progress=None)
    yield lab
    lab.close()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


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
