-- How many units of these products does each store hold? A store without any is a row too.
SELECT k.product_id, k.units, s.id AS store_id, s.name AS store, s.city
FROM coffee_stock AS k
JOIN coffee_stores AS s ON s.id = k.store_id
WHERE k.product_id = @product_id
ORDER BY k.units DESC, s.id
