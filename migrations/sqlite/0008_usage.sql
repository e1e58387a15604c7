-- What answers cost, per day (UTC, counted from 1970), Room, person and model; a row with an empty model counts answers, refusals and notices.
-- Turns add to it in their own commit. A Room is worked on by one process at a time, so no two processes meet in a row.
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

-- Who and what is never answered: people, Rooms and Worlds by their platform's ids.
CREATE TABLE blocks (
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    remote TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, source, kind, remote)
) STRICT, WITHOUT ROWID;
