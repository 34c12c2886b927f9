"""The stores: Spanner (what the shop holds), BigQuery (the trail), Knowledge Catalog."""
