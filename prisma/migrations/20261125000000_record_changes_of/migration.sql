-- Records the changes of a table from now on: `SELECT record_changes_of('books', 'Book', 'id')`, in the migration that
-- creates the table. "type" is the type of its rows in GraphQL, "id" the column of their id. The tables before
-- this migration have the same functions and triggers.
--
-- Each table has its own function, which knows its type and id: that takes half the time of a common one.
-- The function runs with the rights of its owner, so that a role that may write rows needs no right to
-- write the change log. It names the schema of all that it uses, also of operators, as a session
-- may have another search path. Of a long row that is updated, "before" has only the columns that changed
-- (20261124200000_changes_without_copies).
CREATE FUNCTION record_changes_of("table" text, "type" text, "id" text) RETURNS void LANGUAGE plpgsql AS $do$
BEGIN
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
        -- Otherwise, any role could write to the change log through a trigger on its own table.
        REVOKE EXECUTE ON FUNCTION %4$I() FROM PUBLIC;
        CREATE OR REPLACE TRIGGER "record_change" AFTER INSERT OR DELETE ON %5$I
        FOR EACH ROW EXECUTE FUNCTION %4$I();
        CREATE OR REPLACE TRIGGER "record_update" AFTER UPDATE ON %5$I
        FOR EACH ROW EXECUTE FUNCTION %4$I();
        CREATE OR REPLACE TRIGGER "record_truncate" BEFORE TRUNCATE ON %5$I
        FOR EACH STATEMENT EXECUTE FUNCTION %4$I();
    $create$, current_schema(), "type", "id", 'record_' || "table", "table");
END
$do$;
