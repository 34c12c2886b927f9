"""Faults on purpose, at the edges of the lab: proxies before the stores, a stand-in for Gemini.

`lab.faults` is the switchboard. What stands behind the edge (agents, stores) is never changed: only
its clients are pointed at another address for as long as a `with` block lasts.
"""

from lab_helpers.faults.switchboard import Faults

__all__ = ["Faults"]
