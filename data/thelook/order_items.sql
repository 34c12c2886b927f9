-- Parameters: @base, @customers INT64.
SELECT @base + id AS id, @base + order_id AS order_id, @base + inventory_item_id AS inventory_item_id,
  status, ROUND(sale_price, 2) AS sale_price, returned_at, CAST(NULL AS STRING) AS refund_trace_id
FROM `{source}.order_items`
WHERE user_id <= @customers
ORDER BY id
