"""A test that opens a lab of its own leaves the clients pointed where they were."""

import os

import pytest

POINTERS = (
    "SPANNER_EMULATOR_HOST",
    "BIGQUERY_EMULATOR_HOST",
    "LAB_SANDBOX_SPANNER",
    "GOOGLE_CLOUD_SPANNER_MULTIPLEXED_SESSIONS_FOR_RW",
)


@pytest.fixture(autouse=True)
def pointers():
    kept = {name: os.environ.get(name) for name in POINTERS}
    yield
    for name, value in kept.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
