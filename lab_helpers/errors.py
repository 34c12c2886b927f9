"""The one error a person meets: what happened, why, what to do next."""

from __future__ import annotations

import re

# What grants access: an OAuth token, an API key, a signed assertion, whatever follows "Bearer".
_SECRETS = re.compile(
    r"ya29\.[\w.-]+|AIza[\w-]{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]*"
    r"|(?<=Bearer )\S+|(?<=[?&]key=)[^&\s]+|(?<=access_token=)[^&\s]+",
    re.I,
)


def scrubbed(text: str) -> str:
    """The text of a failure without tokens and keys, fit to be shown and stored."""
    return _SECRETS.sub("…", text)


class LabError(Exception):
    """A mistake or an outage a person can mend. In a notebook it prints three lines, no traceback.

    `what` says what happened, `why` the cause, `next` the next thing to do. All three are scrubbed,
    for a cause is often another program's words.
    """

    def __init__(self, what: str, why: str = "", next: str = "") -> None:
        self.what, self.why, self.next = map(scrubbed, (what, why, next))
        super().__init__(" ".join(filter(None, (self.what, self.why, self.next))))

    def _render_traceback_(self) -> list[str]:
        # IPython's own hook for exceptions that know how to show themselves.
        lines = [self.what]
        if self.why:
            lines.append(f"Why: {self.why}")
        if self.next:
            lines.append(f"Next: {self.next}")
        return lines
