-- Ids of memories that a person or the operator deleted, with what was made from them: an import of what was exported before must not bring them
-- back. Nothing else of them is kept.
CREATE TABLE deleted (id uuid PRIMARY KEY);
