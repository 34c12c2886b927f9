-- The trail of every turn (BigQuery, dataset soa_action_lineage): 1 / 5 / 1 / 1 rows a turn.
-- A row's key is also its insert id; a retry may store a row twice, so readers count distinct keys.

CREATE TABLE IF NOT EXISTS `{dataset}.agent_sessions` (
  trace_id STRING NOT NULL,
  customer_id INT64,
  target_order_id INT64,
  user_prompt STRING,
  started_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS `{dataset}.workflow_nodes` (
  node_exec_id STRING NOT NULL,
  trace_id STRING NOT NULL,
  node_name STRING NOT NULL,
  step_order INT64 NOT NULL,
  latency_ms FLOAT64 NOT NULL,
  executed_at TIMESTAMP NOT NULL,
  spoke STRING,
  error STRING
);

CREATE TABLE IF NOT EXISTS `{dataset}.policy_evaluations` (
  eval_id STRING NOT NULL,
  node_exec_id STRING NOT NULL,
  trace_id STRING NOT NULL,
  catalog_term_id STRING NOT NULL,
  policy_id STRING NOT NULL,
  policy_name STRING NOT NULL,
  observed_refunds_100d INT64 NOT NULL,
  max_refunds_100d INT64 NOT NULL,
  observed_order_age_days INT64,
  return_window_days INT64 NOT NULL,
  evaluation_result STRING NOT NULL,
  evaluated_at TIMESTAMP NOT NULL,
  failure_code STRING
);

CREATE TABLE IF NOT EXISTS `{dataset}.agent_actions` (
  action_id STRING NOT NULL,
  eval_id STRING NOT NULL,
  trace_id STRING NOT NULL,
  action_type STRING NOT NULL,
  decision_status STRING NOT NULL,
  rejection_reason STRING,
  created_at TIMESTAMP NOT NULL,
  confirms_trace_id STRING
);
