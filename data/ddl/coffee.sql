-- The coffee shop's side of the store (Spanner, database thelook-soa-db): what the concierge may
-- speak of, and what it keeps.

-- `embedding` says what a product is and does, `name_embedding` what it is called. Both are of
-- `embedding_model`; rows of another model are embedded again before they are searched.
CREATE TABLE IF NOT EXISTS menu_products (
  id INT64 NOT NULL,
  sku STRING(20) NOT NULL,
  name STRING(120) NOT NULL,
  size STRING(20),
  kind STRING(20) NOT NULL,
  price FLOAT64 NOT NULL,
  caffeine_mg INT64 NOT NULL,
  allergens STRING(200) NOT NULL,
  diet STRING(200) NOT NULL,
  notes STRING(200) NOT NULL,
  says STRING(400) NOT NULL,
  says_es STRING(400) NOT NULL,
  embedding ARRAY<FLOAT64>,
  name_embedding ARRAY<FLOAT64>,
  embedding_model STRING(80),
  embedding_dimension INT64
) PRIMARY KEY (id);

CREATE TABLE IF NOT EXISTS coffee_stores (
  id INT64 NOT NULL,
  name STRING(80) NOT NULL,
  city STRING(80) NOT NULL,
  address STRING(200) NOT NULL,
  weekdays STRING(20) NOT NULL,
  weekend STRING(20) NOT NULL,
  features STRING(200) NOT NULL
) PRIMARY KEY (id);

CREATE TABLE IF NOT EXISTS coffee_stock (
  product_id INT64 NOT NULL,
  store_id INT64 NOT NULL,
  units INT64 NOT NULL
) PRIMARY KEY (product_id, store_id);

-- `menu_mark` sums up the menu an answer was given from (fresh_response.sql): an answer does not
-- outlive a change of a name or a price.
CREATE TABLE IF NOT EXISTS response_cache (
  model STRING(80) NOT NULL,
  persona STRING(20) NOT NULL,
  query_text STRING(512) NOT NULL,
  intent STRING(40) NOT NULL,
  answer STRING(MAX) NOT NULL,
  spoke STRING(20) NOT NULL,
  product_names ARRAY<STRING(MAX)> NOT NULL,
  menu_mark INT64 NOT NULL,
  created_at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true),
  expires_at TIMESTAMP NOT NULL
) PRIMARY KEY (model, persona, query_text);

CREATE TABLE IF NOT EXISTS embedding_cache (
  model STRING(80) NOT NULL,
  query_text STRING(512) NOT NULL,
  embedding ARRAY<FLOAT64> NOT NULL,
  created_at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true)
) PRIMARY KEY (model, query_text);

CREATE TABLE IF NOT EXISTS search_metrics (
  metric_id STRING(64) NOT NULL,
  trace_id STRING(64) NOT NULL,
  vector_query STRING(512) NOT NULL,
  embedding_ms FLOAT64 NOT NULL,
  spanner_ms FLOAT64 NOT NULL,
  tool_ms FLOAT64 NOT NULL,
  results_count INT64 NOT NULL,
  products_found ARRAY<STRING(MAX)> NOT NULL,
  embedding_cache_hit BOOL NOT NULL,
  grounded_answer_mode STRING(40) NOT NULL,
  grounded_answer_ms FLOAT64 NOT NULL,
  created_at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true)
) PRIMARY KEY (metric_id);
