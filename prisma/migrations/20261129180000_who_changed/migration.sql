-- Records who made a change. A gateway sets "gateway.who" in the transaction of each mutation, and the triggers store it.
-- Earlier releases and SQL don't set it.
--
-- No table is locked but "changes", for a moment: the triggers stay, and their functions are replaced. Psql can run this
-- file in advance.
ALTER TABLE "changes" ADD COLUMN IF NOT EXISTS "who" JSON;

CREATE OR REPLACE VIEW "settled_changes" AS
SELECT
    "transaction", "id", "type", "row_id", "kind", "changed_at",
    CASE json_typeof("before")
        WHEN 'array' THEN ("after"::jsonb || ("before"::jsonb -> 0))::json
        ELSE "before"
    END AS "before",
    "after", "who"
FROM "changes" WHERE "transaction" < pg_snapshot_xmin(pg_current_snapshot())::text::bigint;

CREATE OR REPLACE FUNCTION record_changes_of("table" text, "type" text, "id" text) RETURNS void LANGUAGE plpgsql AS $do$
BEGIN
    EXECUTE format($create$
        CREATE OR REPLACE FUNCTION %4$I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $function$
        DECLARE
            "old_row" pg_catalog.json;
            "new_row" pg_catalog.json;
            -- Null if nothing has set it in this session; empty if only an earlier transaction has.
            "who" pg_catalog.text := pg_catalog.current_setting('gateway.who', true);
        BEGIN
            -- If several requests share the statement, finds who makes this change by the value of a column. An operator's
            -- trigger can change the rows of one request for another, so what it changes has no author. The text is not JSON,
            -- because parsing it would take a third of the time of the statement.
            IF pg_catalog.left("who", 1) OPERATOR(pg_catalog.<>) '{' THEN
                "new_row" := pg_catalog.row_to_json(COALESCE(NEW, OLD));
                "who" := CASE WHEN pg_catalog.pg_trigger_depth() OPERATOR(pg_catalog.=) 1 THEN
                    pg_catalog.split_part(pg_catalog.split_part("who", pg_catalog.concat(
                        E'\n', "new_row" OPERATOR(pg_catalog.->>) pg_catalog.split_part("who", E'\n', 1), E'\t'
                    ), 2), E'\n', 1)
                END;
            END IF;
            IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
                IF OLD OPERATOR(pg_catalog.*<>) NEW THEN
                    "old_row" := pg_catalog.row_to_json(OLD);
                    "new_row" := COALESCE("new_row", pg_catalog.row_to_json(NEW));
                    -- In bytes.
                    IF pg_catalog.pg_column_size("old_row") OPERATOR(pg_catalog.>) 1000 THEN
                        SELECT pg_catalog.json_build_array(
                            COALESCE(pg_catalog.json_object_agg("was"."key", "was"."value"), '{}')
                        ) INTO "old_row"
                        FROM pg_catalog.json_each("old_row") AS "was"
                        JOIN pg_catalog.json_each("new_row") AS "is" ON "was"."key" OPERATOR(pg_catalog.=) "is"."key"
                        WHERE "was"."value"::pg_catalog.text OPERATOR(pg_catalog.<>) "is"."value"::pg_catalog.text;
                    END IF;
                    INSERT INTO %1$I."changes" ("type", "row_id", "kind", "before", "after", "who")
                    VALUES (%2$L, NEW.%3$I, 'updated', "old_row", "new_row", %6$s);
                END IF;
            ELSIF TG_OP OPERATOR(pg_catalog.=) 'INSERT' THEN
                INSERT INTO %1$I."changes" ("type", "row_id", "kind", "after", "who")
                VALUES (%2$L, NEW.%3$I, 'created', COALESCE("new_row", pg_catalog.row_to_json(NEW)), %6$s);
            ELSIF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
                INSERT INTO %1$I."changes" ("type", "row_id", "kind", "before", "who")
                VALUES (%2$L, OLD.%3$I, 'deleted', COALESCE("new_row", pg_catalog.row_to_json(OLD)), %6$s);
            ELSE
                INSERT INTO %1$I."changes" ("type", "row_id", "kind", "before")
                SELECT %2$L, "row".%3$I, 'deleted', pg_catalog.row_to_json("row")
                FROM %1$I.%5$I AS "row" ORDER BY "row".%3$I;
            END IF;
            RETURN NULL;
        END
        $function$;
        -- Otherwise, any role could write to the change log through a trigger on its own table.
        REVOKE EXECUTE ON FUNCTION %4$I() FROM PUBLIC;
    $create$, current_schema(), "type", "id", 'record_' || "table", "table",
        $who$CASE WHEN "who" OPERATOR(pg_catalog.<>) '' THEN "who"::pg_catalog.json END$who$);
    -- A migration that only replaces the function must not wait for the table.
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = quote_ident("table")::regclass AND tgname = 'record_truncate') THEN
        RETURN;
    END IF;
    EXECUTE format($create$
        CREATE OR REPLACE TRIGGER "record_change" AFTER INSERT OR DELETE ON %1$I
        FOR EACH ROW EXECUTE FUNCTION %2$I();
        CREATE OR REPLACE TRIGGER "record_update" AFTER UPDATE ON %1$I
        FOR EACH ROW EXECUTE FUNCTION %2$I();
        CREATE OR REPLACE TRIGGER "record_truncate" BEFORE TRUNCATE ON %1$I
        FOR EACH STATEMENT EXECUTE FUNCTION %2$I();
    $create$, "table", 'record_' || "table");
END
$do$;

SELECT
    record_changes_of('categories', 'Category', 'id'),
    record_changes_of('pets', 'Pet', 'id'),
    record_changes_of('inventory_items', 'InventoryItem', 'pet_id'),
    record_changes_of('orders', 'Order', 'id');
