-- In the API, an id is digits, so a row with a negative id could not be requested. NOT VALID: rows that have been imported
-- with such an id stay in the lists, and the tables are not read while they are locked.
ALTER TABLE "categories" ADD CONSTRAINT "categories_id_check" CHECK ("id" >= 0) NOT VALID;
ALTER TABLE "pets" ADD CONSTRAINT "pets_id_check" CHECK ("id" >= 0) NOT VALID;
ALTER TABLE "orders" ADD CONSTRAINT "orders_id_check" CHECK ("id" >= 0) NOT VALID;
