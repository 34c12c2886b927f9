"""The agents: refund (acts when code has checked), gate (fail-closed) and concierge (rows only)."""

import importlib.util
import sys

# ADK looks for its optional A2A part anew at every node of every turn. Where that is not installed
# the vain search is half of what an empty turn costs; None makes Python say no at once.
if importlib.util.find_spec("a2a") is None:
    sys.modules.setdefault("google.adk.agents.remote_a2a_agent", None)  # type: ignore[arg-type]
