-- Has this been answered before, and does the menu still say what it said then? `mark` sums up
-- every product's price and the length of its name, so no answer outlives a change of either. The
-- row is always there: with the answer, or with NULLs and the mark to keep the next one under.
SELECT m.mark, c.intent, c.answer, c.spoke, c.product_names
FROM (
  SELECT SUM(id * (CAST(ROUND(price * 100) AS INT64) + LENGTH(name))) AS mark
  FROM menu_products
) AS m
LEFT JOIN response_cache AS c
  ON c.model = @model AND c.persona = @persona AND c.query_text = @query_text
 AND c.menu_mark = m.mark AND c.expires_at > CURRENT_TIMESTAMP()
