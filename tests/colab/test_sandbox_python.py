"""Where the notebook's environment must not change, the sandbox runs on a Python of its own."""

import os
import sys

import pytest

from lab_helpers import sandbox
from lab_helpers.sandbox import SandboxError


@pytest.fixture
def home(tmp_path):
    yield tmp_path / "home"
    sandbox.stop(tmp_path / "home")


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for another Python is a shell script")
def test_the_sandbox_runs_on_the_python_that_is_named(home, tmp_path, monkeypatch):
    other, mark = tmp_path / "python", tmp_path / "was-used"
    other.write_text(f'#!/bin/sh\ntouch "{mark}"\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("LAB_SANDBOX_PYTHON", str(other))
    assert sandbox.ensure(home).pid
    assert mark.exists()


def test_a_python_that_is_not_there_is_told_in_words(home, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_SANDBOX_PYTHON", str(tmp_path / "nowhere"))
    with pytest.raises(SandboxError, match="LAB_SANDBOX_PYTHON"):
        sandbox.ensure(home)
