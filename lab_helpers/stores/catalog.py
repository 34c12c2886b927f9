"""Knowledge Catalog: the contract that names the governed terms and their parameters.

The live service says which terms exist; their parameters come from the glossary document. Where
the service cannot be asked (always so in the local sandbox) the document answers alone, and the
contract says so in `source`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from lab_helpers.stores import schema

TTL_SECONDS = 300.0

Lookup = Callable[[], set[str]]


def from_document() -> dict[str, Any]:
    """The contract as the glossary document gives it (seed 000, Knowledge Catalog)."""
    glossary = schema.document("policies/business_glossary.json")
    contract: dict[str, Any] = dict(glossary["contract"])
    for term in glossary["terms"]:
        contract.update(term["aspect"])
    return contract


class KnowledgeCatalog:
    """Resolves the refund contract, at most once in five minutes.

    `lookup` asks the live service for the ids of the glossary's terms; None means there is no
    live service (the sandbox).
    """

    def __init__(
        self,
        lookup: Lookup | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup, self._clock, self._lock = lookup, clock, threading.Lock()
        self._held: dict[str, Any] | None = None
        self._until = 0.0

    def use(self, lookup: Lookup | None) -> Lookup | None:
        """Ask another service from now on, and anew; returns what was asked before."""
        with self._lock:
            before, self._lookup, self._until = self._lookup, lookup, 0.0
            return before

    def contract(self) -> dict[str, Any]:
        """The eight keys of seed 000, and `source`: "knowledge-catalog" or "glossary-file"."""
        with self._lock:
            if self._held is None or self._clock() >= self._until:
                self._held, self._until = self._resolve(), self._clock() + TTL_SECONDS
            return dict(self._held)

    def _resolve(self) -> dict[str, Any]:
        contract = from_document()
        contract["source"] = "glossary-file"
        if self._lookup is not None:
            named = {contract[k] for k in ("catalog_term_id", "secondary_term_id", "tier_term_id")}
            try:
                live = self._lookup()
            except Exception:
                # Any failure of the service leaves the document in charge (seed 000).
                return contract
            if named <= live:
                contract["source"] = "knowledge-catalog"
        return contract
