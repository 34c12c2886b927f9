-- Parameter: @base INT64.
SELECT @base + id AS id, SUBSTR(name, 1, 120) AS name, 'US' AS region
FROM `{source}.distribution_centers`
ORDER BY id
