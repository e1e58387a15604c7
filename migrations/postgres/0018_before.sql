-- before_seq: the message before it, whose words are in the vector (`fusion::embedded_text` of the program). When that message goes or changes, the
-- embedding goes with it and is made again. NULL: there was none, or a version before this one wrote the row.
ALTER TABLE embeddings ADD COLUMN before_seq bigint;
CREATE INDEX embeddings_before ON embeddings (before_seq) WHERE before_seq IS NOT NULL;
