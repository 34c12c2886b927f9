-- What on the menu is nearest to a wish? Similarity is 1 - distance; nothing under the threshold
-- comes back, and nothing that another model has embedded.
SELECT p.id, p.sku, p.name, p.size, p.kind, p.price, p.caffeine_mg, p.allergens, p.diet, p.notes,
       p.says, p.says_es, near.distance
FROM (
  SELECT id, COSINE_DISTANCE({column}, @wish) AS distance
  FROM menu_products
  WHERE embedding_model = @model
) AS near
JOIN menu_products AS p ON p.id = near.id
WHERE near.distance <= @farthest
ORDER BY near.distance, p.id
LIMIT @top
