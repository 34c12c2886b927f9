"""The agents: refund (acts when code has checked), gate (fail-closed) and concierge (rows only)."""
