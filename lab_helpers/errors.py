"""The one error a person meets: what happened, why, what to do next."""

from __future__ import annotations

import re

# What grants access: whatever follows "Bearer" or the name of a secret, then what is known by its
# look: an OAuth or refresh token, an API key of Google's or of another maker's, a signed assertion.
_SECRETS = re.compile(
    r"(?<=Bearer )[^\s\"']+|(?<=[?&]key=)[^&\s]+"
    r"|(?P<name>\b(?:api_?key|(?:access|refresh|id)_token|client_secret)[\"']?\s*[=:]\s*[\"']?)"
    r"[\w./+~-]+=*"
    r"|ya29\.[\w./+-]+|\b1//[\w-]{20,}|AIza[\w-]{20,}|\bsk-[\w-]{16,}|GOCSPX-[\w-]+"
    r"|eyJ[\w-]+\.[\w-]+\.[\w-]*",
    re.I,
)


def scrubbed(text: str) -> str:
    """The text of a failure without tokens and keys, fit to be shown and stored."""
    return _SECRETS.sub(lambda found: f"{found['name'] or ''}…", text)


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
