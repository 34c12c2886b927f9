"""A browser with the lab's panel open in it, once per front end."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.jupyter import FRONT_ENDS, FrontEnd, cells, serving
from tests.browser.page import WINDOW, Face

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


@pytest.fixture(scope="package")
def trail(provisioned) -> str:
    """The trace id of one turn, for the notebook's graph cell to draw.

    It comes before the browser, whose driver keeps an event loop running in this thread; for that
    reason nothing here outlives the folder either.
    """
    turn = provisioned.refund.turn("Please refund my order ORD-90131.", "A")
    return asyncio.run(turn).trace_id


@pytest.fixture(scope="package")
def chromium() -> Iterator[object]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package", params=FRONT_ENDS, ids=lambda front: front.name)
def opened(request, trail, chromium, lab_home, tmp_path_factory) -> Iterator[Face]:
    front: FrontEnd = request.param
    place = tmp_path_factory.mktemp(front.module)
    with serving(front, place, lab_home, cells(trail)) as address:
        page = chromium.new_page(viewport=WINDOW)
        face = Face(page, SHOTS / front.module)
        face.open(address + front.path)
        yield face
        page.close()


@pytest.fixture
def face(opened) -> Face:
    """The panel as Customer A, with orders as on the first day and an empty chat."""
    opened.fresh()
    return opened
