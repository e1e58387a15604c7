-- A process keeps the signs of large places in memory and asks for those that have changed since. changed: the transaction that wrote a row
-- (`pg_current_xact_id`), set by a trigger, so that processes of the version before set it too. A reader that asks from the oldest transaction
-- that was running at its last look misses none. Rows that are there already count as written before all others.
ALTER TABLE embeddings ADD COLUMN changed bigint NOT NULL DEFAULT 0;
-- numbers: those of the vector, four bytes each, the highest first. The server takes longer to send an array of numbers than to find it. Rows that a
-- process of the version before writes have an array; the program packs them in the background, and leaves an empty array.
ALTER TABLE embeddings ADD COLUMN numbers bytea;
ALTER TABLE embeddings ALTER COLUMN numbers SET STORAGE EXTERNAL;
CREATE INDEX embeddings_unpacked ON embeddings (seq) WHERE numbers IS NULL;
CREATE FUNCTION embedding_changed() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF cardinality(NEW.vector) > 0 THEN
        NEW.numbers := NULL;
    END IF;
    NEW.changed := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END
$body$;
CREATE TRIGGER embedding_changed BEFORE INSERT OR UPDATE ON embeddings FOR EACH ROW EXECUTE FUNCTION embedding_changed();
DROP INDEX embeddings_near;
CREATE INDEX embeddings_near ON embeddings (owner, type, changed) INCLUDE (seq, bits);

-- Words of new rows wait in a list that every search reads whole. At its usual 4 MiB that takes longer than the search.
ALTER INDEX memories_words SET (gin_pending_list_limit = 256);
