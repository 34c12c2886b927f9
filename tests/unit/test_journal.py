"""The journal: what a dead process still owes, and nothing of a living one."""

import os
import signal
import subprocess
import sys

import pytest

from lab_helpers.config import ROOT
from lab_helpers.stores.journal import FOLDER, Journal

# Another process: does the work, says so, and waits to be killed.
OTHER = """
import sys, time
from pathlib import Path
from lab_helpers.stores.journal import Journal

journal = Journal(Path(sys.argv[1]))
{work}
print("done", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    running = []

    def start(work):
        process = subprocess.Popen(
            [sys.executable, "-c", OTHER.format(work=work), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdout.readline() == "done\n"
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def owed(home):
    with Journal(home).inherited() as found:
        return found


WORK = [
    ("journal.keep('T1', 'a')", {"T1": "a"}),
    ("journal.keep('T1', 'a'); journal.keep('T1', 'bñ\\n')", {"T1": "bñ\n"}),
    ("journal.keep('T1', 'a'); journal.done('T1')", {}),
    ("journal.keep('T1', 'a'); journal.keep('T2', 'b'); journal.done('T1')", {"T2": "b"}),
    ("journal.done('T1')", {}),
    ("", {}),
]


@pytest.mark.parametrize(("work", "expected"), WORK)
def test_the_dead_are_inherited_once(other, tmp_path, work, expected):
    process = other(work)
    assert owed(tmp_path) == {}, "it lives"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert owed(tmp_path) == expected
    assert owed(tmp_path) == {}
    assert not list((tmp_path / FOLDER).glob("*.jsonl"))


def test_an_error_while_they_are_delivered_forgets_nothing(other, tmp_path):
    process = other("journal.keep('T1', 'a')")
    process.kill()
    process.wait()
    with pytest.raises(ZeroDivisionError), Journal(tmp_path).inherited():
        _ = 1 / 0
    assert owed(tmp_path) == {"T1": "a"}


def test_two_heirs_do_not_get_the_same(other, tmp_path):
    process = other("journal.keep('T1', 'a')")
    process.kill()
    process.wait()
    with Journal(tmp_path).inherited() as first, Journal(tmp_path).inherited() as second:
        assert (first, second) == ({"T1": "a"}, {})


def test_a_line_that_the_full_disk_cut_is_passed_over(tmp_path):
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "1-x.jsonl").write_text('["T1", "a"]\n["T2", "half', encoding="utf-8")
    assert owed(tmp_path) == {"T1": "a"}


def test_a_file_does_not_grow_over_turns_that_are_done(tmp_path):
    journal = Journal(tmp_path)
    for n in range(100):
        journal.keep(f"T{n}", "x" * 1_000)
        journal.done(f"T{n}")
    (file,) = (tmp_path / FOLDER).glob("*.jsonl")
    assert file.stat().st_size == 0


def test_a_home_that_cannot_be_written_stops_nobody(tmp_path):
    (tmp_path / FOLDER).write_text("in the way", encoding="utf-8")
    journal = Journal(tmp_path)
    journal.keep("T1", "a")
    journal.done("T1")
    assert owed(tmp_path) == {}
