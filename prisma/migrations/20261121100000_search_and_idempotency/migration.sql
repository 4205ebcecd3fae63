-- Search for a part of a name.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX "categories_name_trgm_idx" ON "categories" USING gin ("name" gin_trgm_ops);
CREATE INDEX "pets_name_trgm_idx" ON "pets" USING gin ("name" gin_trgm_ops);

-- A filter and an order together, where rows that the filter lets through may come late in the
-- order: a store sells its oldest pets and ships its oldest orders first.
CREATE INDEX "pets_status_name_id_idx" ON "pets" ("status", "name" COLLATE "C", "id");
CREATE INDEX "pets_category_id_status_id_idx" ON "pets" ("category_id", "status", "id");
CREATE INDEX "orders_complete_ship_date_id_idx" ON "orders" ("complete", COALESCE("ship_date", 'infinity'::timestamptz), "id");

-- What a write with an idempotency key made. It is in the same transaction as what it made;
-- "result" is null only while that transaction runs.
CREATE TABLE "idempotency_keys" (
    "key" VARCHAR(255) PRIMARY KEY CHECK ("key" <> ''),
    "request_hash" BYTEA NOT NULL,
    "result" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now()
);

CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys" ("created_at");
