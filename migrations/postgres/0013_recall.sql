-- Recall. Derived memories (facts, summaries, profiles, fragments) have a scope, a time at which they ceased to be true, and sources.
ALTER TABLE memories ADD COLUMN scope text NOT NULL DEFAULT 'room' CHECK (scope IN ('private', 'room', 'world', 'agent'));
ALTER TABLE memories ADD COLUMN valid_until bigint; -- NULL: still true
ALTER TABLE memories ADD COLUMN superseded_by uuid; -- the id of the memory that replaced it
-- What may be seen outside of its room: few rows, since messages have the scope of their room.
CREATE INDEX memories_wider ON memories (agent_id, scope, type, created_at) WHERE scope <> 'room';
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

-- What a derived memory was made from.
CREATE TABLE memory_sources (
    memory_id uuid NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    source_id uuid NOT NULL,
    PRIMARY KEY (memory_id, source_id)
);
CREATE INDEX memory_sources_of_source ON memory_sources (source_id, memory_id);

-- `words` has since this version also the stems of words, Chinese and Japanese in pairs, a word that says which sort of memory it is and where it may
-- be seen, and `galateaterms1`, the version of the analysis. Rows that an earlier version wrote are analysed again in the background: this index
-- names them, and is empty afterwards.
CREATE INDEX memories_unanalysed ON memories (seq) WHERE NOT words @@ '''galateaterms1'''::tsquery;

-- What waits for an embedding. Rows up to the mark of a model have been looked at; those without an embedding are in the queue.
CREATE TABLE embedding_marks (
    agent_id uuid NOT NULL,
    model text NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (agent_id, model)
);
CREATE TABLE embedding_due (
    seq bigint NOT NULL PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE, -- the memory's
    agent_id uuid NOT NULL,
    type text NOT NULL,
    claimed_until bigint NOT NULL -- 9223372036854775807: the model refuses it
);
CREATE INDEX embedding_due_next ON embedding_due (agent_id, type, seq) WHERE claimed_until < 9223372036854775807;

-- Memories that a change removes with what was made from them: filled and emptied within that change.
CREATE TABLE doomed (id uuid NOT NULL);

-- Search by meaning looks at one bit of each number first (its sign), all of a place beside one another in an index, and compares whole vectors of
-- the nearest only. owner: the Room, World, agent or person that the scope of the memory names. Rows that a process of the version before writes
-- meanwhile have none, and are embedded again.
ALTER TABLE embeddings ADD COLUMN owner uuid;
ALTER TABLE embeddings ADD COLUMN type text;
ALTER TABLE embeddings ADD COLUMN bits bit varying;
UPDATE embeddings e SET owner = m.room_id, type = m.type,
    bits = (SELECT string_agg(CASE WHEN n.number > 0 THEN '1' ELSE '0' END, '' ORDER BY n.place) FROM unnest(e.vector) WITH ORDINALITY n (number, place))::bit varying
FROM memories m WHERE m.seq = e.seq;
CREATE INDEX embeddings_near ON embeddings (owner, type) INCLUDE (seq, bits);
