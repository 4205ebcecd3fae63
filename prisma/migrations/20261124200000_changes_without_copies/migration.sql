-- An update of a long row is recorded without a second copy of what did not change: "before" is then an array
-- of one object, which has only the columns that changed. Of a short row both are whole, as to compare them
-- takes longer than to write them.
DO $do$
DECLARE
    "definition" record;
BEGIN
    FOR "definition" IN
        SELECT current_schema() AS "schema", * FROM (VALUES
            ('categories', 'Category', 'id'),
            ('pets', 'Pet', 'id'),
            ('inventory_items', 'InventoryItem', 'pet_id'),
            ('orders', 'Order', 'id')
        ) AS "tables" ("name", "type", "id")
    LOOP
        EXECUTE format($create$
            CREATE OR REPLACE FUNCTION %4$I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $function$
            DECLARE
                "old_row" pg_catalog.json;
                "new_row" pg_catalog.json;
            BEGIN
                IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
                    IF OLD OPERATOR(pg_catalog.*<>) NEW THEN
                        "old_row" := pg_catalog.row_to_json(OLD);
                        "new_row" := pg_catalog.row_to_json(NEW);
                        -- In bytes.
                        IF pg_catalog.pg_column_size("old_row") OPERATOR(pg_catalog.>) 1000 THEN
                            SELECT pg_catalog.json_build_array(
                                COALESCE(pg_catalog.json_object_agg("was"."key", "was"."value"), '{}')
                            ) INTO "old_row"
                            FROM pg_catalog.json_each("old_row") AS "was"
                            JOIN pg_catalog.json_each("new_row") AS "is" ON "was"."key" OPERATOR(pg_catalog.=) "is"."key"
                            WHERE "was"."value"::pg_catalog.text OPERATOR(pg_catalog.<>) "is"."value"::pg_catalog.text;
                        END IF;
                        INSERT INTO %1$I."changes" ("type", "row_id", "kind", "before", "after")
                        VALUES (%2$L, NEW.%3$I, 'updated', "old_row", "new_row");
                    END IF;
                ELSIF TG_OP OPERATOR(pg_catalog.=) 'INSERT' THEN
                    INSERT INTO %1$I."changes" ("type", "row_id", "kind", "after")
                    VALUES (%2$L, NEW.%3$I, 'created', pg_catalog.row_to_json(NEW));
                ELSIF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
                    INSERT INTO %1$I."changes" ("type", "row_id", "kind", "before")
                    VALUES (%2$L, OLD.%3$I, 'deleted', pg_catalog.row_to_json(OLD));
                ELSE
                    INSERT INTO %1$I."changes" ("type", "row_id", "kind", "before")
                    SELECT %2$L, "row".%3$I, 'deleted', pg_catalog.row_to_json("row")
                    FROM %1$I.%5$I AS "row" ORDER BY "row".%3$I;
                END IF;
                RETURN NULL;
            END
            $function$;
        $create$, "definition"."schema", "definition"."type", "definition"."id",
            'record_' || "definition"."name", "definition"."name");
    END LOOP;
END
$do$;

-- Gateways of every release read "before" here, and see whole rows.
CREATE OR REPLACE VIEW "settled_changes" AS
SELECT
    "transaction", "id", "type", "row_id", "kind", "changed_at",
    CASE json_typeof("before")
        WHEN 'array' THEN ("after"::jsonb || ("before"::jsonb -> 0))::json
        ELSE "before"
    END AS "before",
    "after"
FROM "changes" WHERE "transaction" < pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
