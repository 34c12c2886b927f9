-- Customers of the public store, beside the lab's own. Parameters: @base, @customers INT64.
SELECT @base + id AS id, CONCAT('thelook', CAST(id AS STRING), '@example.com') AS email,
  IF(MOD(id, 9) = 0, 'VIP', 'STANDARD') AS customer_tier
FROM `{source}.users`
WHERE id <= @customers
ORDER BY id
