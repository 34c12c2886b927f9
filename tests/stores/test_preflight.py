"""Before a talk: green, or what to fix; no network is asked, and a reset is quick."""

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

from lab_helpers.lab import Lab

ROOT = Path(__file__).parents[2]
SECONDS_FOR_A_RESET = 3.0


async def refund(lab):
    await lab.refund.turn("Please refund my order ORD-90124.", "A", session="talk")
    await lab.refund.turn("Yes.", "A", confirmed=True, session="talk")


async def test_green_after_a_reset_and_in_words_before(lab):
    lab.reset_all()
    assert repr(lab.preflight()).startswith("Green: the local sandbox")
    await refund(lab)
    found = lab.preflight()
    assert not found.green
    assert "1 refunds are left from before: run lab.reset_all()" in repr(found)
    assert "the trail holds turns from before" in found._repr_html_()
    lab.reset_all()
    assert lab.preflight().green


async def test_everything_is_reset_in_under_three_seconds(lab):
    await refund(lab)
    await lab.gate.run(seed=1)
    begun = time.monotonic()
    lab.reset_all()
    assert time.monotonic() - begun < SECONDS_FOR_A_RESET
    assert lab.preflight().green


def test_stores_that_are_not_there_are_told_not_raised(lab):
    nowhere = Lab(dataclasses.replace(lab.config, database="not-made"))
    assert "the stores are not set up: run lab.provision()" in repr(nowhere.preflight())
    nowhere.close()


def test_a_store_that_does_not_answer_is_told_not_raised(lab, monkeypatch):
    monkeypatch.setenv("SPANNER_EMULATOR_HOST", "127.0.0.1:9")
    deaf = Lab(dataclasses.replace(lab.config, backend="emulator"))
    said = repr(deaf.preflight())
    assert "a store does not answer" in said and "run lab.provision()" not in said
    deaf.close()


ALONE = """
import socket
connect = socket.socket.connect
def loopback_only(self, address):
    host = address[0] if isinstance(address, tuple) else "127.0.0.1"
    if host not in ("127.0.0.1", "::1", "localhost"):
        raise OSError("there is no network: " + repr(address))
    return connect(self, address)
socket.socket.connect = loopback_only
socket.getaddrinfo = lambda host, *a, _all=socket.getaddrinfo, **k: (
    _all(host, *a, **k) if host in (None, "127.0.0.1", "::1", "localhost") else 1 / 0
)
from lab_helpers import Lab
lab = Lab.open(quiet=True)
lab.provision(progress=None)
lab.reset_all()
print(lab.preflight())
"""


def test_it_is_green_without_a_network(provisioned, lab_home):
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        cwd=ROOT,
        env={**os.environ, "LAB_HOME": str(lab_home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.startswith("Green"), done.stderr
