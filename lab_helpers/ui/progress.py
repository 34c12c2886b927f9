"""A progress bar for work that tells `(done, total, step)`: in a notebook, or in a terminal.

Nothing goes to stdout, and a notebook's cell keeps one constant output however the work went.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

Progress = Callable[[int, int, str], None]
_WIDTH = 24


def progress_bar(title: str) -> Progress:
    """A function to be called as `(done, total, step)`.

    It moves a bar in a notebook, rewrites one line of stderr in a terminal, and is silent
    elsewhere (a file, a pipe, a test).
    """
    if _in_notebook():
        return _notebook_bar(title)
    if sys.stderr.isatty():
        return _terminal_line(title, sys.stderr)
    return lambda done, total, step: None


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _notebook_bar(title: str) -> Progress:
    from IPython.display import display

    bar = ProgressBar(title)
    display(bar)
    return bar.show


class ProgressBar:
    """The notebook's bar. Its text is constant, because saved outputs are compared as text."""

    def __init__(self, title: str) -> None:
        import ipywidgets as w

        self.title = title
        self._bar = w.IntProgress(description=title, style={"description_width": "initial"})
        self._label = w.Label("starting")
        # In a narrow window the words go below the bar instead of being cut.
        self.widget = w.HBox([self._bar, self._label], layout=w.Layout(flex_flow="row wrap"))

    def show(self, done: int, total: int, step: str) -> None:
        """Move to `done` of `total`; `step` says what is being done."""
        self._bar.max, self._bar.value = total, done
        self._bar.bar_style = "success" if done >= total else ""
        self._label.value = f"{done} of {total}: {step}"

    def __repr__(self) -> str:
        return f"{self.title} (progress bar)"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "text/plain": repr(self),
            "application/vnd.jupyter.widget-view+json": widget_view(self.widget),
        }


def widget_view(widget: Any) -> dict[str, Any]:
    """What a front end needs in order to show a widget."""
    return {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}


def _terminal_line(title: str, stream: TextIO) -> Progress:
    def show(done: int, total: int, step: str) -> None:
        filled = _WIDTH * done // max(total, 1)
        bar = "█" * filled + "·" * (_WIDTH - filled)
        stream.write(f"\r\x1b[K{title} {bar} {done}/{total} {step}")
        if done >= total:
            stream.write("\n")
        stream.flush()

    return show
