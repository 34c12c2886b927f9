"""A browser with the lab's panel open in it, once per front end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.jupyter import FRONT_ENDS, FrontEnd, serving
from tests.browser.page import Face

SHOTS = Path(__file__).parent / "shots"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session", params=FRONT_ENDS, ids=lambda front: front.name)
def opened(request, chromium, provisioned, lab_home, tmp_path_factory) -> Iterator[Face]:
    front: FrontEnd = request.param
    place = tmp_path_factory.mktemp(front.module)
    with serving(front, place, lab_home) as address:
        page = chromium.new_page(viewport={"width": 1280, "height": 1100})
        face = Face(page, SHOTS / front.module)
        face.open(address + front.path)
        yield face
        page.close()


@pytest.fixture
def face(opened) -> Face:
    """The panel as Customer A, with orders as on the first day and an empty chat."""
    opened.fresh()
    return opened
