"""One process per home: found, started, healed and stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab_helpers import sandbox
from lab_helpers.sandbox import Endpoints, SandboxError, child, process

REPOSITORY = Path(__file__).parents[3]
STARTER = """
import sys, threading
from lab_helpers import sandbox
def start():
    print(sandbox.ensure(sys.argv[1]).pid, flush=True)
threads = [threading.Thread(target=start) for _ in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
"""


def run_starter(home: Path, repository: Path = REPOSITORY) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", STARTER, str(home)],
        cwd=repository,
        stdout=subprocess.PIPE,
        text=True,
    )


def pids_from(starter: "subprocess.Popen[str]") -> list[int]:
    out, _ = starter.communicate(timeout=60)
    assert starter.returncode == 0
    return [int(line) for line in out.split()]


def kill(pid: int) -> None:
    """Kill a sandbox that this process started, and wait until the system has ended it."""
    os.kill(pid, signal.SIGKILL)
    (started,) = [process for process in child._children if process.pid == pid]
    started.wait(30)


def test_many_starters_in_many_processes_share_one_sandbox_that_outlives_them(home: Path) -> None:
    starters = [run_starter(home) for _ in range(3)]

    pids = [pid for starter in starters for pid in pids_from(starter)]

    assert len(pids) == 6
    assert set(pids) == {sandbox.ensure(home).pid}


def test_a_killed_process_is_replaced_on_the_same_ports(home: Path) -> None:
    first = sandbox.ensure(home)
    kill(first.pid)

    second = sandbox.ensure(home)

    assert second.pid != first.pid
    assert (second.spanner, second.bigquery) == (first.spanner, first.bigquery)


def test_a_port_taken_meanwhile_is_left_to_its_taker(home: Path) -> None:
    first = sandbox.ensure(home)
    assert sandbox.stop(home)
    port = int(first.bigquery.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):
        second = sandbox.ensure(home)

        assert second.bigquery != first.bigquery


GARBAGE = ["", "{", '{"pid": 1}', "[1, 2]", '{"pid": "x"}', "\x00\x01"]


def test_a_damaged_state_file_is_mended_by_the_running_process(running: Endpoints) -> None:
    for garbage in GARBAGE:
        (running.home / "sandbox.json").write_text(garbage)

        assert sandbox.ensure(running.home) == running


def test_a_damaged_state_file_does_not_stop_a_start(home: Path) -> None:
    home.mkdir()
    (home / "sandbox.json").write_text('{"pid": 12, "spanner_po')

    assert sandbox.status(sandbox.ensure(home).home).running


def test_a_state_that_names_a_foreign_process_is_not_believed_and_the_process_is_spared(
    home: Path,
) -> None:
    first = sandbox.ensure(home)
    kill(first.pid)
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        state = json.loads((home / "sandbox.json").read_text())
        (home / "sandbox.json").write_text(json.dumps({**state, "pid": bystander.pid}))

        assert not sandbox.status(home).running
        assert not sandbox.stop(home)
        assert sandbox.ensure(home).pid != bystander.pid
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_stop_ends_the_process_and_only_once(home: Path) -> None:
    started = sandbox.ensure(home)

    assert sandbox.stop(home)
    assert not sandbox.stop(home)
    assert not sandbox.status(home).running
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(started.bigquery.rpartition(":")[2])), 1)


def test_a_home_that_vanishes_takes_its_process_with_it(home: Path, tmp_path: Path) -> None:
    started = sandbox.ensure(home)
    home.rename(tmp_path / "elsewhere")

    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and child._children[-1].poll() is None:
        time.sleep(0.1)

    assert child._children[-1].pid == started.pid
    assert child._children[-1].poll() == 0


def test_status_tells_figures_while_it_runs(running: Endpoints) -> None:
    now = sandbox.status(running.home)

    assert now.running
    assert now.endpoints == running
    assert now.uptime_s is not None and 0 <= now.uptime_s < 600
    assert now.rss_bytes is None or now.rss_bytes > 10_000_000
    assert now.data_bytes > 0


def test_status_tells_why_it_does_not_run(home: Path) -> None:
    assert sandbox.status(home).reason == "It was never started here."
    kill(sandbox.ensure(home).pid)

    assert sandbox.status(home).reason == "It ended without being stopped."
    sandbox.ensure(home)
    sandbox.stop(home)
    assert sandbox.status(home).reason == "It is stopped."


def test_env_names_both_endpoints(running: Endpoints) -> None:
    assert sandbox.env(running.home) == {
        "SPANNER_EMULATOR_HOST": running.spanner,
        "BIGQUERY_EMULATOR_HOST": running.bigquery,
    }


def test_env_says_how_to_start_what_does_not_run(home: Path) -> None:
    with pytest.raises(SandboxError, match="start --home"):
        sandbox.env(home)


def test_logs_end_with_what_the_process_said_last(home: Path) -> None:
    assert sandbox.logs(home) == ""
    sandbox.ensure(home)
    sandbox.stop(home)

    assert sandbox.logs(home, lines=1).endswith("stopped")


def test_the_log_stays_short(running: Endpoints) -> None:
    log = running.home / "sandbox.log"
    with log.open("a") as file:
        file.writelines("a long story\n" for _ in range(200_000))

    deadline = time.monotonic() + 10
    while log.stat().st_size > 1_000_000 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert 0 < log.stat().st_size < 1_000_000
    assert sandbox.logs(running.home, lines=1) == "a long story"


def test_progress_is_told_at_a_start_and_silent_when_it_runs(home: Path) -> None:
    told: list[str] = []
    sandbox.ensure(home, progress=told.append)
    at_start = len(told)
    sandbox.ensure(home, progress=told.append)

    assert at_start == len(told) == 2


def test_a_changed_kit_restarts_the_process_and_keeps_ports_and_data(
    home: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "kit"
    for source in (REPOSITORY / "lab_helpers" / "sandbox").rglob("*.py"):
        target = copy / source.relative_to(REPOSITORY)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    (copy / "lab_helpers" / "__init__.py").touch()
    before = set(pids_from(run_starter(home, copy)))
    state_before = json.loads((home / "sandbox.json").read_text())
    (home / "data" / "kept").touch()

    with (copy / "lab_helpers" / "sandbox" / "home.py").open("a") as source_file:
        source_file.write("# changed\n")
    after = set(pids_from(run_starter(home, copy)))
    state_after = json.loads((home / "sandbox.json").read_text())

    assert before.isdisjoint(after) and len(after) == 1
    assert state_after["bigquery_port"] == state_before["bigquery_port"]
    assert (home / "data" / "kept").exists()


def test_a_home_that_cannot_be_a_folder_is_refused_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SandboxError, match=r"cannot use the folder .*Not a directory.*may write"):
        sandbox.ensure(tmp_path / "file" / "home")


def test_a_disk_without_room_is_refused_in_plain_words(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_NEEDED_BYTES", 10**18)

    with pytest.raises(SandboxError, match=r"MB left .* are needed\. Free some space"):
        sandbox.ensure(home)


def test_a_start_that_fails_says_why(home: Path) -> None:
    (home / "data").mkdir(parents=True)
    (home / "data" / "bigquery").write_text("in the way")

    with pytest.raises(SandboxError, match=r"stopped while starting\. FileExistsError.*log is"):
        sandbox.ensure(home)


def test_an_unusable_time_limit_is_reported_and_leaves_no_process(home: Path) -> None:
    with pytest.raises(SandboxError, match="did not start in time"):
        sandbox.ensure(home, timeout_s=0.3)

    assert not sandbox.stop(home)


def test_finding_a_running_sandbox_is_quick_and_loads_no_database(
    running: Endpoints,
) -> None:
    script = (
        "import sys, time\n"
        "from lab_helpers import sandbox\n"
        "def once():\n"
        "    start = time.perf_counter(); sandbox.ensure(sys.argv[1])\n"
        "    return time.perf_counter() - start\n"
        "print(min(once() for _ in range(5)))\n"
        "heavy = {'duckdb', 'grpc', 'bqemulator', 'sqlglot', 'google.cloud'} & set(sys.modules)\n"
        "print(sorted(heavy))\n"
    )

    out = subprocess.run(
        [sys.executable, "-c", script, str(running.home)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")

    assert float(out[0]) < 0.25  # about 2 ms on an idle machine; the limit allows for a busy one
    assert out[1] == "[]"


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("start", 0, "BigQuery http://127.0.0.1:"),
        ("status", 1, "does not run"),
        ("env", 1, "Start it with"),
        ("stop", 0, "was not running"),
        ("logs", 0, ""),
    ],
)
def test_the_command_line_says_what_it_did(
    home: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, says: str
) -> None:
    from lab_helpers.sandbox.__main__ import main

    assert main([command, "--home", str(home)]) == code
    captured = capsys.readouterr()
    assert says in captured.out + captured.err
