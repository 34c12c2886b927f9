-- What was sold to those customers. Parameters: @base, @customers INT64.
SELECT @base + inventory_item_id AS id, @base + product_id AS product_id
FROM `{source}.order_items`
WHERE user_id <= @customers
ORDER BY id
