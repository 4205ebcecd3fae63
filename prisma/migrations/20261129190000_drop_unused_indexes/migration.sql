-- Drops the indexes for searches in names. Searches read "categories_folded_name" and "pets_folded_name", which have
-- indexes of their own, so each write of a name only had to keep these up to date.
--
-- Waits until no transaction uses the tables, and new ones wait for it. For a busy store, run concurrently.sql first.
DROP INDEX IF EXISTS
    "categories_name_trgm_idx", "pets_name_trgm_idx", "categories_folded_name_trgm_idx", "pets_folded_name_trgm_idx";
