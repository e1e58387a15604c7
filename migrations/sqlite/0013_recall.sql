-- Recall. Derived memories (facts, summaries, profiles, fragments) have a scope, a time at which they ceased to be true, and sources.
ALTER TABLE memories ADD COLUMN scope TEXT NOT NULL DEFAULT 'room' CHECK (scope IN ('private', 'room', 'world', 'agent'));
ALTER TABLE memories ADD COLUMN valid_until INTEGER; -- NULL: still true
ALTER TABLE memories ADD COLUMN superseded_by BLOB; -- the id of the memory that replaced it
-- What may be seen outside of its room: few rows, since messages have the scope of their room.
CREATE INDEX memories_wider ON memories (agent_id, scope, type, created_at) WHERE scope <> 'room';
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

-- What a derived memory was made from.
CREATE TABLE memory_sources (
    memory_id BLOB NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    source_id BLOB NOT NULL,
    PRIMARY KEY (memory_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_sources_of_source ON memory_sources (source_id, memory_id);

-- Words as the program analyses them (galatea_terms: folded, stemmed, Chinese and Japanese in pairs), and one word that says which sort of memory
-- it is and where it may be seen. Indexed after a message was stored, in steps: terms_progress says how far.
CREATE VIEW memory_terms (seq, place, terms) AS
SELECT seq,
    CASE WHEN valid_until IS NULL THEN '' ELSE 'x' END || replace(type, '_', '') || CASE scope
        WHEN 'room' THEN 'r' || lower(hex(room_id)) WHEN 'world' THEN 'w' || lower(hex(world_id))
        WHEN 'agent' THEN 'a' || lower(hex(agent_id)) ELSE 'p' || lower(hex(entity_id)) END,
    galatea_terms(coalesce(content ->> '$.text', ''))
FROM memories;
CREATE VIRTUAL TABLE recall_terms USING fts5 (place, terms, content = 'memory_terms', content_rowid = 'seq',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co'");
-- A deleted word does not stay in the index (https://www.sqlite.org/fts5.html#the_secure_delete_configuration_option).
INSERT INTO recall_terms (recall_terms, rank) VALUES ('secure-delete', 1);
-- The place is a condition and counts for nothing.
INSERT INTO recall_terms (recall_terms, rank) VALUES ('rank', 'bm25(0.0, 1.0)');
CREATE TABLE terms_progress (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL) STRICT;
INSERT INTO terms_progress (one, seq) VALUES (1, 0);

-- What waits for an embedding. Rows up to the mark of a model have been looked at; those without an embedding are in the queue.
CREATE TABLE embedding_marks (
    agent_id BLOB NOT NULL,
    model TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (agent_id, model)
) STRICT, WITHOUT ROWID;
CREATE TABLE embedding_due (
    seq INTEGER PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE, -- the memory's
    agent_id BLOB NOT NULL,
    type TEXT NOT NULL,
    claimed_until INTEGER NOT NULL -- 9223372036854775807: the model refuses it
) STRICT;
CREATE INDEX embedding_due_next ON embedding_due (agent_id, type, seq) WHERE claimed_until < 9223372036854775807;

-- Memories that a change removes with what was made from them: filled and emptied within that change.
CREATE TABLE doomed (id BLOB NOT NULL) STRICT;

-- Search by meaning looks at one bit of each number first (its sign), all of a place beside one another in an index, and compares whole vectors of
-- the nearest only. owner: the Room, World, agent or person that the scope of the memory names.
ALTER TABLE embeddings ADD COLUMN owner BLOB;
ALTER TABLE embeddings ADD COLUMN type TEXT;
ALTER TABLE embeddings ADD COLUMN bits BLOB;
UPDATE embeddings SET owner = (SELECT m.room_id FROM memories m WHERE m.seq = embeddings.seq),
    type = (SELECT m.type FROM memories m WHERE m.seq = embeddings.seq), bits = galatea_bits(vector);
CREATE INDEX embeddings_near ON embeddings (owner, type, bits);
