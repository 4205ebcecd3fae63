-- Drops the same indexes as migration.sql without blocking anyone. For a busy store, run it before the migration.
-- Run it as the owner of the tables: psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f concurrently.sql
DROP INDEX CONCURRENTLY IF EXISTS "categories_name_trgm_idx";
DROP INDEX CONCURRENTLY IF EXISTS "pets_name_trgm_idx";
DROP INDEX CONCURRENTLY IF EXISTS "categories_folded_name_trgm_idx";
DROP INDEX CONCURRENTLY IF EXISTS "pets_folded_name_trgm_idx";
