-- Parameters: @base, @customers INT64.
SELECT @base + order_id AS order_id, @base + user_id AS user_id, status, created_at, delivered_at,
  returned_at
FROM `{source}.orders`
WHERE user_id <= @customers
ORDER BY order_id
