-- The shop and its policy as one graph. Relational rows (who bought what) and rows read out of
-- the policy document (what is allowed) meet at the product.
CREATE OR REPLACE PROPERTY GRAPH OperationalContextGraph
  NODE TABLES (
    users KEY (id),
    orders KEY (order_id),
    inventory_items KEY (id),
    products KEY (id),
    distribution_centers KEY (id),
    policies KEY (policy_id),
    policy_conditions KEY (condition_id),
    policy_restrictions KEY (restriction_id)
  )
  EDGE TABLES (
    orders AS places
      KEY (order_id)
      SOURCE KEY (user_id) REFERENCES users (id)
      DESTINATION KEY (order_id) REFERENCES orders (order_id)
      LABEL places NO PROPERTIES,
    order_items AS contains_item
      KEY (id)
      SOURCE KEY (order_id) REFERENCES orders (order_id)
      DESTINATION KEY (inventory_item_id) REFERENCES inventory_items (id)
      LABEL contains_item,
    inventory_items AS is_product
      KEY (id)
      SOURCE KEY (id) REFERENCES inventory_items (id)
      DESTINATION KEY (product_id) REFERENCES products (id)
      LABEL is_product NO PROPERTIES,
    products AS supplied_by
      KEY (id)
      SOURCE KEY (id) REFERENCES products (id)
      DESTINATION KEY (distribution_center_id) REFERENCES distribution_centers (id)
      LABEL supplied_by NO PROPERTIES,
    products AS governed_by
      KEY (id)
      SOURCE KEY (id) REFERENCES products (id)
      DESTINATION KEY (policy_id) REFERENCES policies (policy_id)
      LABEL governed_by NO PROPERTIES,
    policy_conditions AS requires_condition
      KEY (condition_id)
      SOURCE KEY (policy_id) REFERENCES policies (policy_id)
      DESTINATION KEY (condition_id) REFERENCES policy_conditions (condition_id)
      LABEL requires_condition NO PROPERTIES,
    policy_restrictions AS enforces_restriction
      KEY (restriction_id)
      SOURCE KEY (policy_id) REFERENCES policies (policy_id)
      DESTINATION KEY (restriction_id) REFERENCES policy_restrictions (restriction_id)
      LABEL enforces_restriction NO PROPERTIES
  );
