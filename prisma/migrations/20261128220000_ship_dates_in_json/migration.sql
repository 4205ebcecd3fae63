-- JSON has times of the years 1 to 9999 (RFC 3339). SQL could store others: the last moment of the year 9999 in
-- microseconds, which many programs write for "never", becomes the year 10000 in this column. Later writes get an error.
-- The rows that have such a time get the nearest one that can be sent. NOT VALID: the table is not read while it is locked.
ALTER TABLE "orders" ADD CONSTRAINT "orders_ship_date_check" CHECK (
    NOT isfinite("ship_date") OR "ship_date" BETWEEN '0001-01-01T00:00:00Z' AND '9999-12-31T23:59:59.999Z'
) NOT VALID;

-- The index of ship dates finds these rows.
UPDATE "orders" SET "ship_date" = '9999-12-31T23:59:59.999Z'
WHERE coalesce("ship_date", 'infinity'::timestamptz) > '9999-12-31T23:59:59.999Z'
    AND coalesce("ship_date", 'infinity'::timestamptz) < 'infinity';
UPDATE "orders" SET "ship_date" = '0001-01-01T00:00:00Z'
WHERE coalesce("ship_date", 'infinity'::timestamptz) < '0001-01-01T00:00:00Z'
    AND coalesce("ship_date", 'infinity'::timestamptz) > '-infinity';
