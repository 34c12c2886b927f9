"""The one error a person meets: what happened, why, what to do next."""

from __future__ import annotations


class LabError(Exception):
    """A mistake or an outage a person can mend. In a notebook it prints three lines, no traceback.

    `what` says what happened, `why` the cause, `next` the next thing to do.
    """

    def __init__(self, what: str, why: str = "", next: str = "") -> None:
        self.what, self.why, self.next = what, why, next
        super().__init__(" ".join(part for part in (what, why, next) if part))

    def _render_traceback_(self) -> list[str]:
        # IPython's own hook for exceptions that know how to show themselves.
        lines = [self.what]
        if self.why:
            lines.append(f"Why: {self.why}")
        if self.next:
            lines.append(f"Next: {self.next}")
        return lines
