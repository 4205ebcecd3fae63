-- Replaces the ship dates "infinity" and "-infinity" by null, which is what callers have always read.
UPDATE "orders" SET "ship_date" = NULL WHERE "ship_date" IN ('infinity', '-infinity');

-- In the change log too, including the changes that this migration has just made.
UPDATE "changes" SET
    "before" = regexp_replace("before"::text, '"ship_date":"-?infinity"', '"ship_date":null')::json,
    "after" = regexp_replace("after"::text, '"ship_date":"-?infinity"', '"ship_date":null')::json
WHERE "type" = 'Order' AND concat("before", "after") ~ '"ship_date":"-?infinity"';

ALTER TABLE "orders" VALIDATE CONSTRAINT "orders_ship_date_check";
