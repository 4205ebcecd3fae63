-- The order and the search of names for people: "Zoé", "zoe" and "ZOE" are the same. The text is folded to small
-- letters without accents, and compared by code point.
--
-- Nothing here depends on ICU, LC_COLLATE or LC_CTYPE, whose versions and rules differ between servers: the order is
-- the same on each, and an update of the system never makes an index wrong. Unicode never changes how an assigned
-- character is decomposed. So this function must never change either: another one would need other indexes.
--
-- plpgsql, as a function in SQL would be inlined, and PostgreSQL would take four times as long to plan a page.
-- With the default cost of 100, it would sort the rows of a parent in place of reading an index.
CREATE OR REPLACE FUNCTION "folded"("name" text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 500 AS $function$
BEGIN
    -- Most names are ASCII.
    IF octet_length("name") = length("name") THEN
        RETURN lower("name" COLLATE "C");
    END IF;
    "name" := regexp_replace(lower(normalize("name", NFD) COLLATE "C"), '[\u0300-\u036f]', '', 'g');
    -- Most other names need no translation: they are Latin with accents, or in a script without case. Checking for such
    -- letters takes a tenth of the time of translate, which compares each letter of the name with each of these.
    IF "name" !~ '[ßæœþðÐđĐħĦıłŁøØŧŦŋŊÞÆŒẞΑ-ΩςЀ-ЯҐԱ-Ֆ]' THEN
        RETURN "name";
    END IF;
    -- Letters that are more than an ASCII letter and an accent: Latin, Greek, Cyrillic and Armenian ones.
    "name" := translate(
        "name",
        'ðÐđĐħĦıłŁøØŧŦŋŊÞÆŒẞΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣςΤΥΦΧΨΩ'
            'АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏҐ'
            'ԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ',
        'ddddhhilloottnnþæœßαβγδεζηθικλμνξοπρσστυφχψω'
            'абвгдежзиклмнопрстуфхцчшщъыьэюяђєѕіјљњћџґ'
            'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ'
    );
    RETURN replace(replace(replace(replace("name", 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
END
$function$;

-- A large store creates these indexes before the migration, without a lock (concurrently.sql). One whose creation was
-- interrupted is invalid, and would never be used.
DO $do$
DECLARE
    "invalid" text;
BEGIN
    SELECT string_agg("indexrelid"::regclass::text, ', ') INTO "invalid"
    FROM "pg_index" WHERE NOT "indisvalid" AND "indrelid" IN ('categories'::regclass, 'pets'::regclass, 'orders'::regclass);
    IF "invalid" IS NOT NULL THEN
        RAISE EXCEPTION 'these indexes are invalid: %. Drop them, then migrate again', "invalid";
    END IF;
END
$do$;

CREATE INDEX IF NOT EXISTS "categories_folded_name_id_idx" ON "categories" ("folded"("name") COLLATE "C", "id");
CREATE INDEX IF NOT EXISTS "categories_folded_name_trgm_idx" ON "categories" USING gin ("folded"("name") gin_trgm_ops);
CREATE INDEX IF NOT EXISTS "pets_folded_name_id_idx" ON "pets" ("folded"("name") COLLATE "C", "id");
CREATE INDEX IF NOT EXISTS "pets_category_id_folded_name_id_idx" ON "pets" ("category_id", "folded"("name") COLLATE "C", "id");
CREATE INDEX IF NOT EXISTS "pets_status_folded_name_id_idx" ON "pets" ("status", "folded"("name") COLLATE "C", "id");
CREATE INDEX IF NOT EXISTS "pets_folded_name_trgm_idx" ON "pets" USING gin ("folded"("name") gin_trgm_ops);

-- The orders by their quantities.
CREATE INDEX IF NOT EXISTS "orders_quantity_id_idx" ON "orders" ("quantity", "id");

-- An index of an expression has no statistics until its table is analyzed, which its creation does not start.
DO $do$
BEGIN
    IF EXISTS (SELECT FROM "categories") THEN
        ANALYZE "categories", "pets";
    END IF;
END
$do$;
