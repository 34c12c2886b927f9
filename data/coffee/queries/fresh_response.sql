-- Has this been answered before, and does the menu still say what it said then? `mark` is a sum
-- over every product's name and price, so no answer outlives a change of the menu. The row is
-- always there: with the answer, or with NULLs and the mark to keep the next one under.
SELECT m.mark, c.intent, c.answer, c.spoke, c.product_names
FROM (
  SELECT SUM(CAST(CONCAT('0x', SUBSTR(TO_HEX(MD5(
    CONCAT(CAST(id AS STRING), name, CAST(price AS STRING))
  )), 1, 12)) AS INT64)) AS mark
  FROM menu_products
) AS m
LEFT JOIN response_cache AS c
  ON c.model = @model AND c.persona = @persona AND c.query_text = @query_text
 AND c.menu_mark = m.mark AND c.expires_at > CURRENT_TIMESTAMP()
