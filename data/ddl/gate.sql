-- What the fail-closed gate keeps in Spanner: the ledger that locks, and the pool of items that
-- had to leave the handler's page.

-- Append-only. The key grows by one because a chain has one end: of two writers that follow the
-- same entry, one fails on the key and follows the other. Every append also moves the row
-- `gate_head` of lab_state in the same commit, so a removed tail is noticed.
CREATE TABLE IF NOT EXISTS gate_ledger (
  seq INT64 NOT NULL,
  entry_id STRING(80) NOT NULL,
  kind STRING(20) NOT NULL,
  trace_id STRING(64) NOT NULL,
  draft_id STRING(64) NOT NULL,
  released BOOL NOT NULL,
  body STRING(MAX) NOT NULL,
  written_at STRING(40) NOT NULL,
  prev_hash STRING(64) NOT NULL,
  entry_hash STRING(64) NOT NULL
) PRIMARY KEY (seq);

-- One entry per draft and kind: an append whose answer was lost is found again, not repeated.
CREATE UNIQUE INDEX IF NOT EXISTS gate_ledger_by_entry ON gate_ledger (entry_id);

-- Items that are off the page. A recalled item leaves the pool; nothing is ever dropped.
CREATE TABLE IF NOT EXISTS gate_pool (
  run_id STRING(64) NOT NULL,
  item_id STRING(64) NOT NULL,
  body STRING(MAX) NOT NULL,
  why STRING(400) NOT NULL,
  evicted_at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true)
) PRIMARY KEY (run_id, item_id);
