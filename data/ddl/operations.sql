-- The operational store: what the shop knows (Cloud Spanner, database thelook-soa-db).
-- Node tables of OperationalContextGraph first, then its one table that is only an edge,
-- then two tables of the lab itself.

CREATE TABLE distribution_centers (
  id INT64 NOT NULL,
  name STRING(120) NOT NULL,
  region STRING(60) NOT NULL
) PRIMARY KEY (id);

CREATE TABLE policies (
  policy_id STRING(64) NOT NULL,
  name STRING(200) NOT NULL,
  status STRING(20) NOT NULL,
  document STRING(200)
) PRIMARY KEY (policy_id);

CREATE TABLE policy_conditions (
  condition_id STRING(64) NOT NULL,
  policy_id STRING(64) NOT NULL,
  applicable_tier STRING(20) NOT NULL,
  max_refunds_100d INT64 NOT NULL,
  return_window_days INT64 NOT NULL
) PRIMARY KEY (condition_id);

CREATE TABLE policy_restrictions (
  restriction_id STRING(64) NOT NULL,
  policy_id STRING(64) NOT NULL,
  action_code STRING(64) NOT NULL
) PRIMARY KEY (restriction_id);

CREATE TABLE products (
  id INT64 NOT NULL,
  name STRING(200) NOT NULL,
  category STRING(60) NOT NULL,
  retail_price FLOAT64 NOT NULL,
  distribution_center_id INT64 NOT NULL,
  policy_id STRING(64) NOT NULL
) PRIMARY KEY (id);

CREATE TABLE users (
  id INT64 NOT NULL,
  email STRING(200) NOT NULL,
  customer_tier STRING(20) NOT NULL
) PRIMARY KEY (id);

CREATE TABLE orders (
  order_id INT64 NOT NULL,
  user_id INT64 NOT NULL,
  status STRING(20) NOT NULL,
  created_at TIMESTAMP NOT NULL,
  delivered_at TIMESTAMP,
  returned_at TIMESTAMP
) PRIMARY KEY (order_id);

CREATE INDEX orders_by_user ON orders (user_id);

CREATE TABLE inventory_items (
  id INT64 NOT NULL,
  product_id INT64 NOT NULL
) PRIMARY KEY (id);

CREATE TABLE order_items (
  id INT64 NOT NULL,
  order_id INT64 NOT NULL,
  inventory_item_id INT64 NOT NULL,
  status STRING(20) NOT NULL,
  sale_price FLOAT64 NOT NULL,
  returned_at TIMESTAMP,
  refund_trace_id STRING(64)
) PRIMARY KEY (id);

CREATE INDEX order_items_by_order ON order_items (order_id);

-- What a turn must still tell BigQuery. The refund transaction writes here too, so a crash
-- between the commit and the flush loses no trail.
CREATE TABLE lineage_outbox (
  trace_id STRING(64) NOT NULL,
  payload STRING(MAX) NOT NULL,
  status STRING(20) NOT NULL,
  created_at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true),
  delivered_at TIMESTAMP OPTIONS (allow_commit_timestamp = true)
) PRIMARY KEY (trace_id);

-- What the lab remembers of itself: the schema it made and the moment demo ages count from.
CREATE TABLE lab_state (
  name STRING(64) NOT NULL,
  value STRING(MAX) NOT NULL
) PRIMARY KEY (name);
