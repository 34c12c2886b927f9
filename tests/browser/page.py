"""The panel as a person meets it in a page: find things by their names, press, read, look."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.browser.jupyter import PANEL_CELL

WINDOW = {"width": 1280, "height": 1100}
# The widest wait is for a kernel's first cell on a busy machine; what a person does is quick.
START_MS, SOON_MS = 90_000, 15_000
_IDLE = """() => {
  const current = window.jupyterapp?.shell?.currentWidget;
  return current?.sessionContext?.session?.kernel?.status === 'idle';
}"""
_RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
# JupyterLab's file browser would take the room of a narrow window; Notebook 7 has none.
_COLLAPSE = """() => {
  const shell = window.jupyterapp.shell;
  if (shell.collapseLeft) shell.collapseLeft();
}"""


class Face:
    """A notebook page with the refund panel in it. `page` is Playwright's."""

    def __init__(self, page: Any, shots: Path) -> None:
        self.page, self._shots = page, shots
        self._shots.mkdir(parents=True, exist_ok=True)

    def open(self, url: str) -> None:
        """Open the notebook, run all its cells, wait until the panel is there."""
        self.page.goto(url)
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=START_MS)
        self.page.wait_for_function(_IDLE, timeout=START_MS)
        self.page.evaluate(_COLLAPSE)
        self.page.evaluate(_RUN_ALL)
        self.button("Send").wait_for(timeout=START_MS)
        self.page.wait_for_function(_IDLE, timeout=START_MS)

    def fresh(self) -> None:
        """Customer A, every refund undone, nothing said."""
        # Each step waits for its own words, since the line may still say the last test's.
        for name in ("Customer B", "Customer A"):
            self.persona(name).check()
            self.status.get_by_text(f"You now speak as {name}").wait_for(timeout=SOON_MS)
        self.button("Reset orders").click()
        self.status.get_by_text(re.compile(r"orders? put back")).wait_for(timeout=SOON_MS)

    def cell(self, number: int) -> Any:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    @property
    def panel(self) -> Any:
        return self.cell(PANEL_CELL).locator(".soa-panel").first

    @property
    def status(self) -> Any:
        return self.panel.get_by_role("status")

    @property
    def chat(self) -> Any:
        return self.panel.get_by_role("log", name="Conversation")

    @property
    def steps(self) -> Any:
        return self.panel.get_by_role("list", name="Steps of the turn").get_by_role("listitem")

    @property
    def decision(self) -> Any:
        return self.panel.get_by_role("group", name="Decision")

    @property
    def question(self) -> Any:
        return self.panel.locator(".soa-question")

    @property
    def message(self) -> Any:
        return self.panel.get_by_role("textbox", name="Message")

    def button(self, name: str) -> Any:
        return self.panel.get_by_role("button", name=name)

    def persona(self, name: str) -> Any:
        return self.panel.get_by_role("radio", name=re.compile(name))

    def order(self, number: int) -> Any:
        return self.panel.locator(".soa-order", has_text=f"ORD-{number}")

    def shoot(self, name: str, what: Any = None) -> None:
        """Keep a picture of the panel, or of `what`, to be looked at."""
        (what or self.panel).screenshot(path=self._shots / f"{name}.png")
