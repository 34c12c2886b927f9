"""kill -9 of a provisioning process at each step: running it again ends in the same stores."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab_helpers import sandbox
from lab_helpers.lab import Lab
from lab_helpers.provision.store import COLUMNS

ROOT = Path(__file__).parents[2]
STEPS = 10
COFFEE = ("menu_products", "coffee_stores", "coffee_stock")

# The real provisioning; it kills itself before step `n`, or in the midst of step `n`'s commits.
CHILD = """
import os, signal, sys
from google.cloud.spanner_v1.batch import Batch
from lab_helpers.lab import Lab
from lab_helpers.provision.store import COLUMNS

last, commits = int(sys.argv[1]), int(sys.argv[2])
step, sent, commit = -1, 0, Batch.commit

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def at_step(n, total, label):
    global step, sent
    step, sent = n, 0
    if n == last and not commits:
        die()

def counted(self, *args, **kwargs):
    global sent
    done = commit(self, *args, **kwargs)
    sent += 1
    if step == last and sent == commits:
        die()
    return done

Batch.commit = counted
Lab.open(quiet=True).provision(progress=at_step)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("killed").resolve()
    sandbox.ensure(place)
    yield place
    sandbox.stop(place)


def provision(home, step, commits=0):
    keep = {k: v for k, v in os.environ.items() if "EMULATOR" not in k and "LAB_" not in k}
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(step), str(commits)],
        cwd=ROOT,
        env={**keep, "LAB_HOME": str(home)},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def whole(tmp_path_factory):
    """A lab set up in one go, which no other test has written to."""
    other = tmp_path_factory.mktemp("whole").resolve()
    lab = Lab.open(env={"LAB_HOME": str(other)}, quiet=True)
    lab.provision(progress=None)
    yield {t: lab.operations.count(t) for t in (*COLUMNS, *COFFEE)}
    lab.close()
    sandbox.stop(other)


def test_a_kill_at_each_step_is_recovered_by_running_it_again(whole, home):
    # Before each step, and inside those that send rows: after their first commits.
    for step in range(STEPS):
        died = provision(home, step)
        assert died.returncode == -signal.SIGKILL, (step, died.stderr[-400:])
        if step in (3, 4, 5, 6):
            died = provision(home, step, 2)
            assert died.returncode == -signal.SIGKILL, (step, died.stderr[-400:])
    done = provision(home, STEPS + 1)
    assert done.returncode == 0, done.stderr[-400:]
    lab = Lab.open(env={"LAB_HOME": str(home)}, quiet=True)
    try:
        again = lab.provision(progress=None)
        assert {result for _, result in again.steps} == {"there"}
        assert {t: lab.operations.count(t) for t in whole} == whole
        assert lab.query("counts").rows == []
    finally:
        lab.close()
