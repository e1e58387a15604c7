-- The tables. Tables that elizaOS has carry its names; inbox, outbox and cursors are the durable queues.
-- Conventions: ids are 16-byte BLOBs, times are Unix milliseconds, JSON is TEXT, `seq` is the order of commit. A list of three or more
-- values in a condition makes SQLite build a temporary table each time, so CHECKs are comparisons.
-- A released file is never edited: a change is a new number, the same number in every dialect.

PRAGMA application_id = 1195461697; -- 'GALA'

-- Agents, and where they are.

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

-- People.

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

-- Entities that are one person for an agent: the person said so on both sides. Each pair stands here in both directions, so that one read by the
-- primary key answers who else a person is.
CREATE TABLE identity_links (
    agent_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    linked_id BLOB NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, entity_id, linked_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_links_back ON identity_links (agent_id, linked_id);

-- People, Rooms and Worlds that are never answered, by their platform's ids.
CREATE TABLE blocks (
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    remote TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, source, kind, remote)
) STRICT, WITHOUT ROWID;

-- Who may use which tool where, and whether it asks first. The nil id stands for all Worlds, Rooms or people.
CREATE TABLE grants (
    agent_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    tools TEXT NOT NULL,
    world_id BLOB NOT NULL,
    room_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    least TEXT NOT NULL,
    ask TEXT NOT NULL,
    pin TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, kind, tools, world_id, room_id, entity_id)
) STRICT, WITHOUT ROWID;

-- Memories: messages, and what was derived from them (facts, summaries, profiles, fragments). A derived memory has a scope, a time at which it
-- ceased to be true, and sources.

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
    content TEXT NOT NULL,
    scope TEXT NOT NULL DEFAULT 'room' CHECK (scope = 'room' OR scope = 'private' OR scope = 'world' OR scope = 'agent'),
    valid_until INTEGER, -- NULL: still true
    superseded_by BLOB -- the id of the memory that replaced it
) STRICT;
CREATE INDEX memories_of_room ON memories (room_id, type, created_at);
CREATE INDEX memories_of_agent ON memories (agent_id, type, created_at);
CREATE INDEX memories_of_entity ON memories (entity_id, type, created_at);
-- Memories that are seen outside of their Room: few rows, since messages have the scope of their Room.
CREATE INDEX memories_wider ON memories (agent_id, scope, type, created_at) WHERE scope <> 'room';
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE memory_sources (
    memory_id BLOB NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    source_id BLOB NOT NULL,
    PRIMARY KEY (memory_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_sources_of_source ON memory_sources (source_id, memory_id);

-- Memories that a change removes with what was made from them: filled and emptied within that change.
CREATE TABLE doomed (id BLOB NOT NULL) STRICT;

-- Ids of memories that a person or the operator deleted, with what was made from them: an import of what was exported before must not bring them
-- back. Nothing else of them is kept.
CREATE TABLE deleted (id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Search by words. The program analyses texts (galatea_terms: folded, stemmed, Chinese and Japanese in pairs). A term is a word together with the
-- place of its memory (its sort, scope and owner, in eight characters): a search in one Room reads what that Room has of a word; a search by an
-- operator asks for all terms that begin with the word. The program ranks, so the index keeps neither positions nor lengths. Rows are indexed after
-- they were stored, in steps: terms_progress says how far.

CREATE VIEW memory_terms (seq, terms) AS
SELECT seq, galatea_terms(
    CASE WHEN valid_until IS NULL THEN '' ELSE 'x' END || replace(type, '_', '') || CASE scope
        WHEN 'room' THEN 'r' || lower(hex(room_id)) WHEN 'world' THEN 'w' || lower(hex(world_id))
        WHEN 'agent' THEN 'a' || lower(hex(agent_id)) ELSE 'p' || lower(hex(entity_id)) END,
    coalesce(content ->> '$.text', ''))
FROM memories;
CREATE VIRTUAL TABLE recall_terms USING fts5 (terms, content = 'memory_terms', content_rowid = 'seq', detail = none, columnsize = 0,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co'");
-- A deleted word does not stay in the index (https://www.sqlite.org/fts5.html#the_secure_delete_configuration_option).
INSERT INTO recall_terms (recall_terms, rank) VALUES ('secure-delete', 1);
-- A search reads a page of each part of the index for each word. With 1,000 bytes, of which two fit a page of the file, a word costs 30 % less
-- processor time than with the preset of 4,050, and the index is a tenth smaller (100,000 messages).
INSERT INTO recall_terms (recall_terms, rank) VALUES ('pgsz', 1000);
CREATE TABLE terms_progress (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL) STRICT;
INSERT INTO terms_progress (one, seq) VALUES (1, 0);

-- Search by meaning. It looks at one bit of each number first (its sign), all of a place beside one another in an index, and compares whole vectors
-- of the nearest only.

-- The vector of a memory by the model that was used last: little-endian 32-bit floats of length 1. It goes with its memory.
CREATE TABLE embeddings (
    seq INTEGER PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE, -- the memory's
    model TEXT NOT NULL,
    width INTEGER NOT NULL, -- how many numbers
    vector BLOB NOT NULL,
    owner BLOB, -- the Room, World, agent or person that the scope of the memory names
    type TEXT,
    bits BLOB, -- the signs
    before_seq INTEGER -- the message before it, whose words are in the vector: when that goes or changes, the vector is made again
) STRICT;
CREATE INDEX embeddings_near ON embeddings (owner, type, bits);
CREATE INDEX embeddings_before ON embeddings (before_seq) WHERE before_seq IS NOT NULL;

-- The queue of what waits for an embedding. Rows up to the mark of a model have been looked at; those without an embedding are in the queue.
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

-- The inbox. A SQLite file has one process, which holds all partitions. There is no index on whose a message is or in which Room: forgetting a
-- person and moving a Room read the queues whole. Both are rare, no limit of time ends them as it does at a server, and each index would cost the
-- commit of every message a further page.

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
    state TEXT NOT NULL DEFAULT 'new' CHECK (state = 'new' OR state = 'done' OR state = 'skipped' OR state = 'expired' OR state = 'dead'),
    attempts INTEGER NOT NULL DEFAULT 0,
    turn_id BLOB,
    verdict TEXT,
    received_at INTEGER NOT NULL,
    finished_at INTEGER,
    -- The partition of its Room (galatea_core::store::room_part): the last byte of the Room's id, modulo 64.
    part INTEGER NOT NULL GENERATED ALWAYS AS (
        (instr('0123456789ABCDEF', substr(hex(room_id), 31, 1)) - 1) % 4 * 16 + instr('0123456789ABCDEF', substr(hex(room_id), 32, 1)) - 1
    ) VIRTUAL
) STRICT;
-- What waits in a Room is found by the Room; the other columns are looked at in the index, so that a poll for one account reads no row of another.
CREATE INDEX inbox_new_in_room ON inbox (room_id, agent_id, source, account) WHERE state = 'new';
CREATE INDEX inbox_remote ON inbox (source, remote, room_remote);
-- For the audit: the rare ends of a message.
CREATE INDEX inbox_troubled ON inbox (state) WHERE state IN ('expired', 'dead');

-- Actions with an effect of their own that a turn has done which is not committed yet: a turn that is run again does not do them twice. The turn is
-- known by the first message it answers; its rows go when that message is finished.
CREATE TABLE step (
    message_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    action TEXT NOT NULL,
    input TEXT NOT NULL,
    output TEXT,
    begun_at INTEGER NOT NULL,
    PRIMARY KEY (message_id, n)
) STRICT, WITHOUT ROWID;

-- The outbox.

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
    state TEXT NOT NULL CHECK (state = 'pending' OR state = 'sending' OR state = 'sent' OR state = 'ambiguous' OR state = 'expired' OR state = 'dead'),
    attempt INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    remote TEXT,
    error TEXT,
    body TEXT NOT NULL,
    outcome_unknown INTEGER NOT NULL DEFAULT 0, -- an earlier attempt may have arrived, whatever becomes of the later ones
    UNIQUE (turn_id, part)
) STRICT;
CREATE INDEX outbox_unsettled_in_room ON outbox (room_id, agent_id, source, account) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_of_memory ON outbox (memory_id) WHERE memory_id IS NOT NULL;
-- For the audit: the rare ends of a part.
CREATE INDEX outbox_troubled ON outbox (state) WHERE state = 'ambiguous' OR state = 'expired' OR state = 'dead';

-- Connectors: how far each stream was read, and what else is kept of an account.

CREATE TABLE cursors (
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    account TEXT NOT NULL,
    stream TEXT NOT NULL,
    position TEXT NOT NULL,
    PRIMARY KEY (agent_id, source, account, stream)
) STRICT, WITHOUT ROWID;

CREATE TABLE connector_state (
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL, -- JSON
    PRIMARY KEY (agent_id, source, account, key)
) STRICT, WITHOUT ROWID;

-- Tasks, and small values of plugins.

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
    due INTEGER NOT NULL,
    run TEXT, -- JSON; none for a row that waits for a person
    state TEXT, -- of a task that runs by itself: waiting, paused
    claim BLOB, -- of the process that runs it
    leased_until INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_due ON tasks (agent_id, due);
CREATE INDEX tasks_next ON tasks (due) WHERE state = 'waiting';
CREATE INDEX tasks_of_person ON tasks (agent_id, entity_id) WHERE state IS NOT NULL;
CREATE INDEX tasks_of_room ON tasks (agent_id, room_id) WHERE state IS NOT NULL;

CREATE TABLE cache (
    agent_id BLOB NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (agent_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX cache_expiry ON cache (expires_at) WHERE expires_at IS NOT NULL;

-- The ledger: what answers cost, per day (UTC, counted from 1970), Room, person and model; a row with an empty model counts answers, refusals and
-- notices. Turns add to it in their own commit. A Room is worked on by one process at a time, so no two processes meet in a row.
CREATE TABLE usage (
    agent_id BLOB NOT NULL,
    day INTEGER NOT NULL,
    room_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    model TEXT NOT NULL,
    source TEXT NOT NULL,
    world_id BLOB NOT NULL,
    answers INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    notices INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    input INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    output INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    PRIMARY KEY (agent_id, day, room_id, entity_id, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_of_entity ON usage (agent_id, entity_id, day);

-- The control plane: who operates the program, and what they did.

CREATE TABLE users (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    password TEXT, -- argon2id
    created_at INTEGER NOT NULL,
    disabled INTEGER NOT NULL,
    agents TEXT NOT NULL -- with which it may do more, and what
) STRICT, WITHOUT ROWID;

-- Sessions, tokens and links. `digest` is the SHA-256 of what was handed out.
CREATE TABLE credentials (
    digest TEXT NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    user_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX credentials_of_user ON credentials (user_id);
CREATE INDEX credentials_of_kind ON credentials (kind, created_at);
CREATE INDEX credentials_of_family ON credentials (name) WHERE kind = 'refresh';
CREATE INDEX credentials_expiry ON credentials (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE recorded_changes (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    operation TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT,
    after TEXT,
    origin TEXT NOT NULL
) STRICT;

-- Settings that operators set, of one agent or (the nil id) of all. The value of a secret is sealed.
CREATE TABLE stored_settings (
    agent_id BLOB NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    sealed INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (agent_id, name)
) STRICT, WITHOUT ROWID;

-- Every version of a character, without secrets. `file` is the digest of its file when the version was stored.
CREATE TABLE character_versions (
    agent_id BLOB NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    from_file INTEGER NOT NULL,
    file TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (agent_id, version)
) STRICT, WITHOUT ROWID;

-- Agents that operators created: they have no file.
CREATE TABLE created_agents (agent_id BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Addresses to which events are sent. `secret` is sealed.
CREATE TABLE webhooks (
    id BLOB NOT NULL PRIMARY KEY,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    kinds TEXT NOT NULL,
    agent_id BLOB,
    seq INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    actor TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Answers to requests that may come twice, by the digest of user and key.
CREATE TABLE kept_answers (
    key TEXT NOT NULL PRIMARY KEY,
    request TEXT NOT NULL,
    status INTEGER,
    body TEXT,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_answers_end ON kept_answers (until);

-- The newest events, for dashboards that were away.
CREATE TABLE live_events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    agent_id BLOB,
    kind TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;

-- Channels of elizaOS's API, what people and foreign programs wrote there, sessions and jobs. What agents answer is in memories.

CREATE TABLE channel_servers (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    source_type TEXT NOT NULL,
    source_id TEXT,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_server_agents (
    server_id BLOB NOT NULL,
    agent_id BLOB NOT NULL,
    PRIMARY KEY (server_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_servers_of_agent ON channel_server_agents (agent_id);

CREATE TABLE channels (
    id BLOB NOT NULL PRIMARY KEY,
    server_id BLOB NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    source_type TEXT,
    source_id TEXT,
    topic TEXT,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX channels_of_server ON channels (server_id, created_at);

-- People and agents in a channel, in the order in which they came.
CREATE TABLE channel_people (
    channel_id BLOB NOT NULL,
    person BLOB NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (channel_id, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_messages (
    id BLOB NOT NULL PRIMARY KEY,
    channel_id BLOB NOT NULL,
    author BLOB NOT NULL,
    text TEXT NOT NULL,
    raw TEXT NOT NULL,
    source_type TEXT,
    source_id TEXT,
    metadata TEXT NOT NULL,
    reply_to BLOB,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_messages_in_order ON channel_messages (channel_id, created_at);
CREATE INDEX channel_messages_of_author ON channel_messages (author);

CREATE TABLE chat_sessions (
    id BLOB NOT NULL PRIMARY KEY,
    agent_id BLOB NOT NULL,
    channel_id BLOB NOT NULL,
    person BLOB NOT NULL,
    metadata TEXT NOT NULL,
    timeout TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_activity INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    renewals INTEGER NOT NULL,
    warned INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_sessions_in_order ON chat_sessions (created_at);
CREATE INDEX chat_sessions_expiry ON chat_sessions (expires_at);
CREATE INDEX chat_sessions_of_channel ON chat_sessions (channel_id);
CREATE INDEX chat_sessions_of_person ON chat_sessions (person);

CREATE TABLE jobs (
    id BLOB NOT NULL PRIMARY KEY,
    agent_id BLOB NOT NULL,
    person BLOB NOT NULL,
    channel_id BLOB NOT NULL,
    message_id BLOB NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER,
    answer_id BLOB,
    error TEXT,
    metadata TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_in_order ON jobs (created_at);
CREATE INDEX jobs_in_state ON jobs (state, created_at);
CREATE INDEX jobs_expiry ON jobs (expires_at);
CREATE INDEX jobs_of_channel ON jobs (channel_id);
CREATE INDEX jobs_of_person ON jobs (person);
-- What turns did, step by step. Steps hold no words of people, texts may: those go when somebody is forgotten, when a message of the Room is
-- deleted, and with the days.
CREATE TABLE traces (
    seq INTEGER PRIMARY KEY,
    turn_id BLOB NOT NULL,
    agent_id BLOB NOT NULL,
    room_id BLOB NOT NULL,
    entity_id BLOB NOT NULL, -- who was answered
    at INTEGER NOT NULL, -- the beginning of the turn
    since INTEGER NOT NULL, -- the time of the oldest message in the prompt
    late INTEGER NOT NULL, -- these steps came after the commit
    bytes INTEGER NOT NULL, -- of the texts
    steps TEXT NOT NULL,
    texts TEXT
) STRICT;
CREATE INDEX traces_of_turn ON traces (turn_id);
CREATE INDEX traces_of_agent ON traces (agent_id, at);
CREATE INDEX traces_of_person ON traces (entity_id, at);
CREATE INDEX traces_with_texts ON traces (room_id, at) WHERE texts IS NOT NULL;

-- Times before which no texts are kept: a trace is written after its turn, and so perhaps after somebody was forgotten. The nil id stands for all
-- Rooms of the agent.
CREATE TABLE trace_bounds (
    agent_id BLOB NOT NULL,
    room_id BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, room_id)
) STRICT, WITHOUT ROWID;
