-- What answers cost, per day (UTC, counted from 1970), Room, person and model; a row with an empty model counts answers, refusals and notices.
-- Turns add to it in their own commit. A Room is worked on by one process at a time, so no two processes meet in a row.
CREATE TABLE usage (
    agent_id uuid NOT NULL,
    day bigint NOT NULL,
    room_id uuid NOT NULL,
    entity_id uuid NOT NULL,
    model text NOT NULL,
    source text NOT NULL,
    world_id uuid NOT NULL,
    answers bigint NOT NULL,
    refused bigint NOT NULL,
    notices bigint NOT NULL,
    calls bigint NOT NULL,
    input bigint NOT NULL,
    cached bigint NOT NULL,
    output bigint NOT NULL,
    unpriced bigint NOT NULL,
    micros bigint NOT NULL,
    PRIMARY KEY (agent_id, day, room_id, entity_id, model)
);
CREATE INDEX usage_of_entity ON usage (agent_id, entity_id, day);

-- Who and what is never answered: people, Rooms and Worlds by their platform's ids.
CREATE TABLE blocks (
    agent_id uuid NOT NULL,
    source text NOT NULL,
    kind text NOT NULL,
    remote text NOT NULL,
    reason text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (agent_id, source, kind, remote)
);
