"""What a check finds, and how far the lab has come."""

from __future__ import annotations

import html
from dataclasses import dataclass

_BAR = 20
_CSS = "padding:2px 0;margin:0"

# (whether it holds, the line for yes, the line for "not yet, and what to do")
Condition = tuple[bool, str, str]


@dataclass(frozen=True)
class CheckResult:
    """One task's result. `conditions` are (met, line)."""

    task: str
    title: str
    conditions: tuple[tuple[bool, str], ...]

    @property
    def score(self) -> int:
        return sum(met for met, _ in self.conditions)

    @property
    def maximum(self) -> int:
        return len(self.conditions)

    @property
    def done(self) -> bool:
        return self.score == self.maximum

    def __repr__(self) -> str:
        head = f"{self.title}: {self.score} of {self.maximum}"
        lines = [f"  {'✓' if met else '·'} {line}" for met, line in self.conditions]
        return "\n".join([head + (", done" if self.done else ", not yet"), *lines])

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li style='{_CSS}'>{'✓' if met else '·'} {html.escape(line)}</li>"
            for met, line in self.conditions
        )
        state = "done" if self.done else "not yet"
        return (
            f"<div role='status'><b>{html.escape(self.title)}</b>: {self.score} of"
            f" {self.maximum}, {state}<ul style='list-style:none;padding-left:1em;margin:4px 0'>"
            f"{items}</ul></div>"
        )


@dataclass(frozen=True)
class Progress:
    """Every check as (task, title, done). A check that was done once stays done."""

    tasks: tuple[tuple[str, str, bool], ...]

    @property
    def done(self) -> int:
        return sum(done for *_, done in self.tasks)

    @property
    def line(self) -> str:
        """The progress in one line."""
        filled = _BAR * self.done // len(self.tasks)
        bar = "█" * filled + "░" * (_BAR - filled)
        return f"{bar} {self.done} of {len(self.tasks)} checks done"

    def __repr__(self) -> str:
        lines = [f"  {'✓' if done else '·'} {task:<18} {title}" for task, title, done in self.tasks]
        return "\n".join([self.line, *lines])
