"""Unbounded quantified paths."""

from __future__ import annotations

from .errors import unsupported


class Walk:
    def __init__(self, branch, slot, entry, start):
        raise unsupported(entry.walk, "An unbounded quantifier")
