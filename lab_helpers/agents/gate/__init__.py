"""The fail-closed gate (seed 004): triage → gardener → gate → ledger."""
