-- The orders of a pet by their dates: a pet can have many orders.
CREATE INDEX "orders_pet_id_ship_date_id_idx" ON "orders" ("pet_id", COALESCE("ship_date", 'infinity'::timestamptz), "id");
