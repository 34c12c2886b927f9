"""A home for every test that changes its sandbox, and one running sandbox for those that look."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_helpers import sandbox


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "home"
    yield place
    sandbox.stop(place)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbox.Endpoints]:
    place = tmp_path_factory.mktemp("shared") / "home"
    yield sandbox.ensure(place)
    sandbox.stop(place)
