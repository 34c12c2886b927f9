-- Parameters: @base INT64, @policy STRING: the policy that governs every product.
SELECT @base + id AS id, SUBSTR(COALESCE(name, category), 1, 200) AS name,
  SUBSTR(category, 1, 60) AS category, ROUND(retail_price, 2) AS retail_price,
  @base + distribution_center_id AS distribution_center_id, @policy AS policy_id
FROM `{source}.products`
ORDER BY id
