-- Searches ignore the case of the Armenian ligature "և", whose capital forms are two letters: "Երևան" is "ԵՐԵՎԱՆ" or "ԵՐԵՒԱՆ".
-- Gateways of the last release find more with these texts, and nothing less.
--
-- For a large store, psql can run this file before the migration without blocking writes, because it commits each
-- statement: psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f migration.sql. The migration then changes no more texts. Both run as
-- the owner of the tables.

-- Returns a folded text and, if it contains the Armenian ligature "և" or its capital forms, which are two letters each, its
-- other spellings, each on a line of its own. So searches also ignore the case of "և", and words do not extend over two
-- spellings. Not part of "folded", which must never change.
CREATE OR REPLACE FUNCTION "spellings"("text" text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $function$
BEGIN
    IF "text" !~ 'և|ե[ւվ]' THEN
        RETURN "text";
    END IF;
    RETURN concat_ws(
        E'\n',
        "text",
        regexp_replace("text", 'ե[ւվ]', 'և', 'g'),
        regexp_replace("text", 'և|եվ', 'եւ', 'g'),
        regexp_replace("text", 'և|եւ', 'եվ', 'g')
    );
END
$function$;

-- As before, but the trigger stores all spellings.
CREATE OR REPLACE FUNCTION make_searchable("table" text, "id" text, "column" text) RETURNS void LANGUAGE plpgsql AS $do$
DECLARE
    reader text;
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    EXECUTE format($create$
        CREATE TABLE IF NOT EXISTS %5$I ("id" BIGINT PRIMARY KEY, "text" TEXT);
        CREATE INDEX IF NOT EXISTS %6$I ON %5$I USING gin ("text" gin_trgm_ops);
        CREATE OR REPLACE FUNCTION %7$I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
        SET search_path TO pg_catalog, pg_temp AS $function$
        BEGIN
            IF TG_OP = 'TRUNCATE' THEN
                TRUNCATE %1$I.%5$I;
                RETURN NULL;
            END IF;
            -- Not a condition of the trigger, which would keep the column's type from being changed.
            IF TG_OP = 'UPDATE' AND
               ROW(OLD.%3$I, OLD.%4$I)::text = ROW(NEW.%3$I, NEW.%4$I)::text THEN
                RETURN NULL;
            END IF;
            IF TG_OP <> 'INSERT' THEN
                DELETE FROM %1$I.%5$I WHERE "id" = OLD.%3$I;
            END IF;
            IF TG_OP <> 'DELETE' THEN
                -- While a migration fills the table, it may already contain the row.
                INSERT INTO %1$I.%5$I VALUES (NEW.%3$I, %1$I."spellings"(%1$I."folded"(lower(NEW.%4$I))))
                ON CONFLICT ("id") DO UPDATE SET "text" = EXCLUDED."text";
            END IF;
            RETURN NULL;
        END
        $function$;
        REVOKE EXECUTE ON FUNCTION %7$I() FROM PUBLIC;
        CREATE OR REPLACE TRIGGER %7$I AFTER INSERT OR DELETE OR UPDATE ON %2$I
        FOR EACH ROW EXECUTE FUNCTION %7$I();
        CREATE OR REPLACE TRIGGER %8$I AFTER TRUNCATE ON %2$I
        FOR EACH STATEMENT EXECUTE FUNCTION %7$I();
    $create$, current_schema(), "table", "id", "column", "table" || '_folded_' || "column",
        "table" || '_folded_' || "column" || '_text_idx', 'fold_' || "table" || '_' || "column",
        'fold_' || "table" || '_' || "column" || '_truncate');
    -- Roles that read the table, such as that of a gateway that does not own it, also search it.
    FOR reader IN
        SELECT CASE "grantee" WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident("grantee") END
        FROM information_schema.table_privileges
        WHERE "table_schema" = current_schema() AND "table_name" = "table" AND "privilege_type" = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON %I TO %s', "table" || '_folded_' || "column", reader);
    END LOOP;
END
$do$;

SELECT make_searchable('categories', 'id', 'name'), make_searchable('pets', 'id', 'name');

-- Most texts have no such letter. Names are folded again only for those that do.
UPDATE "categories_folded_name" AS "stored" SET "text" = "spellings"("folded"(lower("name"))) FROM "categories" AS "row"
WHERE "row"."id" = "stored"."id" AND "stored"."text" ~ 'և|ե[ւվ]' AND "stored"."text" <> "spellings"("folded"(lower("name")));

UPDATE "pets_folded_name" AS "stored" SET "text" = "spellings"("folded"(lower("name"))) FROM "pets" AS "row"
WHERE "row"."id" = "stored"."id" AND "stored"."text" ~ 'և|ե[ւվ]' AND "stored"."text" <> "spellings"("folded"(lower("name")));
