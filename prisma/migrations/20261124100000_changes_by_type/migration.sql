-- Finds a page of the changes of a type, also of a rare one. With "kind" it also counts them without the table.
CREATE INDEX "changes_type_transaction_id_kind_idx" ON "changes" ("type", "transaction", "id", "kind");
