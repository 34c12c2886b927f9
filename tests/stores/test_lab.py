"""Mistakes a student can make: plain words, nothing changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab_helpers import sandbox
from lab_helpers.errors import LabError
from lab_helpers.lab import Lab

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bare(tmp_path):
    """A lab whose stores are not set up."""
    home = tmp_path.resolve()
    lab = Lab.open(env={"LAB_HOME": str(home)}, quiet=True)
    yield lab
    lab.close()
    sandbox.stop(home)


def test_a_cell_before_setup_says_what_to_run(bare):
    for ask in (
        lambda: bare.lineage("TRC-1"),
        lambda: bare.orders("A"),
        lambda: bare.refund,
        lambda: bare.panel(),
        lambda: bare.reset_orders(),
        lambda: bare.query("counts"),
    ):
        with pytest.raises(LabError) as caught:
            ask()
        assert caught.value.next.startswith("Run `lab.provision()`")
    check = bare.check("00-refund")
    assert (check.done, "run lab.provision()" in repr(check)) == (False, True)


@pytest.mark.parametrize("task", ["", "task-2", "99-nothing"])
def test_an_unknown_check_lists_those_there_are(lab, task):
    with pytest.raises(LabError, match="01-stores"):
        lab.check(task)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("GRAPH OperationalContextGraph MATCH (n:user) RETURN n.id AS i", "did you mean 'users'?"),
        ("GRAPH Nowhere MATCH (n) RETURN 1 AS one", "Nowhere"),
        ("SELECT nothing FROM orders", "nothing"),
        ("SELECT 1 FROM missing_table", "missing_table"),
        ("", ""),
    ],
)
def test_a_wrong_query_explains_itself(lab, text, says):
    with pytest.raises(LabError) as caught:
        lab.gql(text)
    assert says in caught.value.why


@pytest.mark.parametrize("text", ["SELECT 1 FROM nowhere.t", "SELEC 1", "GRAPH a.b RETURN 1 AS x"])
def test_a_wrong_query_of_the_trail_explains_itself(lab, text):
    with pytest.raises(LabError) as caught:
        lab.trail_gql(text)
    assert caught.value.why and "http" not in caught.value.why


def command(*words, home, **env):
    return subprocess.run(
        [sys.executable, "-m", "lab_helpers", *words],
        cwd=ROOT,
        env={**os.environ, "LAB_HOME": str(home), **env},
        capture_output=True,
        text=True,
    )


def test_a_wrong_project_name_is_three_lines_on_the_command_line(tmp_path):
    done = command("demo", home=tmp_path, LAB_PROJECT="my project!")
    assert done.returncode == 1
    assert "is not a Google Cloud project id" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_that_cannot_be_made_is_said_to_be(tmp_path):
    (tmp_path / "file").write_text("")
    done = command("demo", home=tmp_path / "file" / "lab")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and "sandbox could not start" in done.stderr


def test_the_doctor_says_where_the_lab_runs_and_what_is_wrong(tmp_path):
    good = command("doctor", home=tmp_path)
    assert good.returncode == 0, good.stdout
    assert "local sandbox" in good.stdout and "Nothing is wrong." in good.stdout
    bad = command("doctor", home=tmp_path, LAB_PROJECT="your-project")
    assert bad.returncode == 1 and "Something is wrong" in bad.stdout


def test_the_demo_keeps_its_promises_for_machines(lab_home, provisioned):
    import json

    done = command("demo", "--json", home=lab_home)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["ok"] is True
    outcomes = {o["order_id"]: o["outcome"] for o in told["orders"]}
    assert outcomes == {
        90124: "APPROVED",
        90131: "RETURN_WINDOW_EXPIRED",
        90137: "ORDER_NOT_DELIVERED",
        90142: "ALREADY_RETURNED",
        90158: "APPROVED",
        90163: "MISSING_ORDER_ID",
        90477: "MAX_REFUNDS_EXCEEDED",
        90910: "APPROVED",
        90923: "RETURN_WINDOW_EXPIRED",
    }
    for order in told["orders"]:
        assert all(list(n.values()) == [1, 5, 1, 1] for n in order["lineage"])
