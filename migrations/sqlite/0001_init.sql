-- The first schema. Tables that elizaOS has carry its names; inbox, outbox and cursors are the durable queues.
-- Conventions: ids are 16-byte BLOBs, times are Unix milliseconds, JSON is TEXT, `seq` is the order of commit.
-- An applied file is never edited: a change is a new number, the same number in every dialect.

PRAGMA application_id = 1195461697; -- 'GALA'

CREATE TABLE agents (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    character TEXT NOT NULL -- without secrets
) STRICT, WITHOUT ROWID;

CREATE TABLE worlds (
    id BLOB NOT NULL PRIMARY KEY,
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    remote TEXT NOT NULL,
    name TEXT NOT NULL,
    metadata TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX worlds_of_agent ON worlds (agent_id, name);

CREATE TABLE rooms (
    id BLOB NOT NULL PRIMARY KEY,
    agent_id BLOB NOT NULL,
    world_id BLOB NOT NULL,
    parent_id BLOB,
    source TEXT NOT NULL,
    account TEXT NOT NULL,
    remote TEXT NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    metadata TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX rooms_of_world ON rooms (world_id, name);
CREATE INDEX rooms_of_parent ON rooms (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE entities (
    id BLOB NOT NULL PRIMARY KEY,
    agent_id BLOB NOT NULL,
    names TEXT NOT NULL,
    metadata TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE participants (
    room_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    state TEXT CHECK (state IN ('FOLLOWED', 'MUTED')),
    PRIMARY KEY (room_id, entity_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE components (
    id BLOB NOT NULL PRIMARY KEY,
    entity_id BLOB NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    agent_id BLOB NOT NULL,
    room_id BLOB,
    world_id BLOB,
    source_entity_id BLOB,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX components_of_entity ON components (entity_id, type);

CREATE TABLE memories (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    type TEXT NOT NULL,
    agent_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    room_id BLOB NOT NULL,
    world_id BLOB,
    created_at INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE INDEX memories_of_room ON memories (room_id, type, created_at);
CREATE INDEX memories_of_agent ON memories (agent_id, type, created_at);
CREATE INDEX memories_of_entity ON memories (entity_id, type, created_at);

-- Full text is indexed when somebody searches, not while a message is stored: search_progress says how far.
CREATE VIEW memory_text (seq, text) AS SELECT seq, coalesce(content ->> '$.text', '') FROM memories;
CREATE VIRTUAL TABLE memories_fts USING fts5 (text, content = 'memory_text', content_rowid = 'seq', tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO memories_fts (memories_fts, rank) VALUES ('secure-delete', 1);
CREATE TABLE search_progress (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL) STRICT;
INSERT INTO search_progress (one, seq) VALUES (1, 0);

CREATE TABLE relationships (
    id BLOB NOT NULL PRIMARY KEY,
    agent_id BLOB NOT NULL,
    source_entity_id BLOB NOT NULL,
    target_entity_id BLOB NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (agent_id, source_entity_id, target_entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX relationships_of_target ON relationships (agent_id, target_entity_id);

CREATE TABLE tasks (
    id BLOB NOT NULL PRIMARY KEY,
    agent_id BLOB NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    room_id BLOB,
    world_id BLOB,
    entity_id BLOB,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    due INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_due ON tasks (agent_id, due);

CREATE TABLE cache (
    agent_id BLOB NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (agent_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX cache_expiry ON cache (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE cursors (
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    account TEXT NOT NULL,
    stream TEXT NOT NULL,
    position TEXT NOT NULL,
    PRIMARY KEY (agent_id, source, account, stream)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE, -- the memory's
    agent_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    room_id BLOB NOT NULL,
    source TEXT NOT NULL,
    account TEXT NOT NULL,
    room_remote TEXT NOT NULL,
    remote TEXT NOT NULL,
    legacy_id BLOB,
    envelope TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'done', 'skipped', 'expired', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    turn_id BLOB,
    verdict TEXT,
    received_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;
CREATE INDEX inbox_new ON inbox (agent_id, source, account) WHERE state = 'new';
CREATE INDEX inbox_new_in_room ON inbox (room_id) WHERE state = 'new';
CREATE INDEX inbox_remote ON inbox (source, remote, room_remote);

CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    turn_id BLOB NOT NULL,
    part INTEGER NOT NULL,
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    account TEXT NOT NULL,
    room_id BLOB NOT NULL,
    room_remote TEXT NOT NULL,
    key TEXT NOT NULL,
    memory_id BLOB,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'ambiguous', 'expired', 'dead')),
    attempt INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    remote TEXT,
    error TEXT,
    body TEXT NOT NULL,
    UNIQUE (turn_id, part)
) STRICT;
CREATE INDEX outbox_unsettled ON outbox (agent_id, source, account) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_of_memory ON outbox (memory_id) WHERE memory_id IS NOT NULL;
