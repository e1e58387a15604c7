-- How the program writes. One call of commit_group carries out a group of changes in one round trip: typed rows in arrays, one statement for all
-- rows of a kind. merged and newest are what rarer statements share.
-- A function or type that has been released is never replaced: processes of the version before may still call it. A changed one gets a new name.

CREATE TYPE fence_row AS (part text, member uuid, epoch bigint);
CREATE TYPE memory_row AS (
    id uuid, kind text, agent uuid, entity uuid, room uuid, world uuid, at bigint, metadata text, content text, words text
);
CREATE TYPE message_row AS (
    memory memory_row, legacy uuid, source text, account text, room_remote text, remote text, received bigint, envelope text
);
CREATE TYPE finish_row AS (id uuid, agent uuid, turn uuid, state text, at bigint, verdict text);
CREATE TYPE delivery_row AS (
    id uuid, turn uuid, part bigint, agent uuid, source text, account text, room uuid, remote text, key text, memory uuid,
    state text, attempt bigint, at bigint, expires bigint, body text
);
CREATE TYPE settle_row AS (
    id uuid, state text, attempt bigint, not_before bigint, remote text, error text, doubt boolean,
    part text, member uuid, epoch bigint -- the lease it depends on, if any
);
CREATE TYPE cursor_row AS (agent uuid, source text, account text, stream text, reached text);
CREATE TYPE usage_row AS (
    agent uuid, day bigint, room uuid, person uuid, model text, source text, world uuid,
    answers bigint, refused bigint, notices bigint, calls bigint, input bigint, cached bigint, output bigint, unpriced bigint, micros bigint
);

-- Keys are merged, objects one level deep, null removes.
CREATE FUNCTION merged(old jsonb, patch jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $body$
    SELECT CASE WHEN patch = '{}' THEN old ELSE coalesce((SELECT jsonb_object_agg(all_of.key, all_of.value) FROM (
        SELECT o.key, o.value FROM jsonb_each(old) o WHERE NOT patch ? o.key
        UNION ALL
        SELECT p.key, CASE WHEN jsonb_typeof(p.value) = 'object' THEN coalesce((SELECT jsonb_object_agg(inner_of.key, inner_of.value) FROM (
                SELECT i.key, i.value FROM jsonb_each(CASE WHEN jsonb_typeof(old -> p.key) = 'object' THEN old -> p.key ELSE '{}' END) i
                    WHERE NOT p.value ? i.key
                UNION ALL SELECT i.key, i.value FROM jsonb_each(p.value) i WHERE i.value <> 'null') inner_of), '{}')
            ELSE p.value END
        FROM jsonb_each(patch) p WHERE p.value <> 'null') all_of), '{}') END
$body$;

-- New names come first, known ones follow; 32 are kept, so that somebody who renames himself for ever fills no disk.
CREATE FUNCTION newest(new_ones jsonb, known jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(jsonb_agg(kept.value ORDER BY kept.place), '[]') FROM (
        SELECT named.value, min(named.place) AS place FROM (
            SELECT value, ordinality AS place FROM jsonb_array_elements(new_ones) WITH ORDINALITY
            UNION ALL SELECT value, ordinality + 1000000 FROM jsonb_array_elements(known) WITH ORDINALITY) named
        GROUP BY named.value ORDER BY place LIMIT 32) kept
$body$;

-- Carries out a group of changes. No two rows are about the same message or delivery in the same way.
-- `again`: the group may have been committed before and its answer lost; then it says what it did.
-- Refuses the group with GA001 (committed already) or GA002 (the lease is another's) and the place of the row at fault, as `kind:place`.
-- `fresh`: places of the messages that are new. `taken`: places of the settlements that changed their row.
CREATE FUNCTION commit_group(
    again boolean, fences fence_row[], messages message_row[], begun uuid[], finished finish_row[], remembered memory_row[],
    deliveries delivery_row[], settled settle_row[], cursors cursor_row[], used usage_row[],
    OUT fresh bigint[], OUT taken bigint[]
) LANGUAGE plpgsql AS $body$
DECLARE
    held record;
    missing bigint;
    stood boolean := false;
    lost text[] := '{}';
BEGIN
    -- A row lock that lasts until the commit, so nobody takes the part over in between. The weakest that keeps a claim (FOR UPDATE) out: renewing
    -- changes no key, so the holder's own signs of life neither wait for its commits nor hold them up. An end that has passed does no harm as long
    -- as nobody else came.
    FOR held IN SELECT * FROM unnest(fences) WITH ORDINALITY f (part, member, epoch, place) ORDER BY f.part LOOP
        PERFORM FROM leases l WHERE l.part = held.part AND l.member_id = held.member AND l.epoch = held.epoch FOR KEY SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'fence:%', held.place USING ERRCODE = 'GA002';
        END IF;
    END LOOP;

    -- The inbox row first: it outlives a deleted memory, so a replay of a deleted message is still known. One that this very group stored, whose
    -- answer was lost, is still new to its caller.
    IF cardinality(messages) > 0 THEN
        WITH given AS MATERIALIZED (
            SELECT (m.memory).id, (m.memory).kind, (m.memory).agent, (m.memory).entity, (m.memory).room, (m.memory).world, (m.memory).at,
                (m.memory).metadata, (m.memory).content, (m.memory).words,
                m.legacy, m.source, m.account, m.room_remote, m.remote, m.received, m.envelope, m.place
            FROM unnest(messages) WITH ORDINALITY m (memory, legacy, source, account, room_remote, remote, received, envelope, place)),
        stored AS (
            INSERT INTO inbox (id, agent_id, entity_id, room_id, source, account, room_remote, remote, legacy_id, envelope, received_at)
            SELECT g.id, g.agent, g.entity, g.room, g.source, g.account, g.room_remote, g.remote, g.legacy, g.envelope::jsonb, g.received
            FROM given g
            WHERE (SELECT true FROM memories m WHERE m.id = g.id) IS NULL
                AND (SELECT m.room_id = g.room AND m.agent_id = g.agent FROM memories m WHERE m.id = g.legacy) IS NOT TRUE
            ORDER BY g.place
            ON CONFLICT (id) DO NOTHING RETURNING id),
        said AS (
            INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content, words)
            SELECT g.id, g.kind, g.agent, g.entity, g.room, g.world, g.at, g.metadata::json, g.content::json, to_tsvector('simple', g.words)
            FROM given g WHERE g.id IN (SELECT s.id FROM stored s) ORDER BY g.place
            ON CONFLICT (id) DO NOTHING)
        SELECT array_agg(g.place) INTO fresh FROM given g
        WHERE g.id IN (SELECT s.id FROM stored s)
            OR (again AND (SELECT i.state = 'new' AND i.attempts = 0 AND i.received_at = g.received FROM inbox i WHERE i.id = g.id));
    END IF;

    -- A turn is committed once. Rows are locked in the order of their ids, so that two processes wait for one another and do not deadlock.
    IF cardinality(finished) > 0 THEN
        PERFORM FROM inbox i WHERE i.id = ANY (ARRAY(SELECT f.id FROM unnest(finished) f)) ORDER BY i.id FOR UPDATE;
        IF again THEN
            stood := coalesce((SELECT bool_or((SELECT i.state <> 'new' AND i.turn_id = f.turn FROM inbox i WHERE i.id = f.id)) FROM unnest(finished) f), false);
        END IF;
        SELECT f.place INTO missing FROM unnest(finished) WITH ORDINALITY f (id, agent, turn, state, at, verdict, place)
        WHERE (SELECT i.agent_id = f.agent AND (i.state = 'new' OR (again AND i.turn_id = f.turn)) FROM inbox i WHERE i.id = f.id) IS NOT TRUE
        ORDER BY f.place LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'finish:%', missing USING ERRCODE = 'GA001';
        END IF;
    END IF;

    IF cardinality(begun) > 0 AND NOT stood THEN
        WITH waiting AS MATERIALIZED (
            SELECT i.id, i.state FROM inbox i WHERE i.id = ANY (begun) ORDER BY i.id FOR UPDATE)
        UPDATE inbox i SET attempts = i.attempts + 1 FROM waiting w WHERE i.id = w.id AND w.state = 'new';
    END IF;

    IF cardinality(finished) > 0 THEN
        UPDATE inbox i SET state = f.state, verdict = f.verdict::json, turn_id = f.turn, finished_at = f.at
        FROM unnest(finished) f WHERE i.id = f.id;
        DELETE FROM step s WHERE s.message_id = ANY (ARRAY(SELECT f.id FROM unnest(finished) f));
    END IF;

    IF cardinality(remembered) > 0 THEN
        INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content, words)
        SELECT r.id, r.kind, r.agent, r.entity, r.room, r.world, r.at, r.metadata::json, r.content::json, to_tsvector('simple', r.words)
        FROM unnest(remembered) WITH ORDINALITY r (id, kind, agent, entity, room, world, at, metadata, content, words, place) ORDER BY r.place
        ON CONFLICT (id) DO NOTHING;
    END IF;

    -- A (turn, part) is written once.
    IF cardinality(deliveries) > 0 THEN
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest(deliveries) WITH ORDINALITY
                d (id, turn, part, agent, source, account, room, remote, key, memory, state, attempt, at, expires, body, place)),
        stored AS (
            INSERT INTO outbox (id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before,
                expires_at, created_at, body)
            SELECT g.id, g.turn, g.part, g.agent, g.source, g.account, g.room, g.remote, g.key, g.memory, g.state, g.attempt, g.at, g.expires, g.at,
                g.body::json
            FROM given g ORDER BY g.place
            ON CONFLICT DO NOTHING RETURNING id)
        SELECT g.place INTO missing FROM given g
        WHERE g.id NOT IN (SELECT s.id FROM stored s) AND NOT (again AND (SELECT true FROM outbox o WHERE o.id = g.id) IS TRUE)
        ORDER BY g.place LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'delivery:%', missing USING ERRCODE = 'GA001';
        END IF;
    END IF;

    -- What depends on a lease that is gone changes nothing.
    IF cardinality(settled) > 0 THEN
        FOR held IN SELECT DISTINCT s.part, s.member, s.epoch FROM unnest(settled) s WHERE s.part IS NOT NULL ORDER BY s.part LOOP
            PERFORM FROM leases l WHERE l.part = held.part AND l.member_id = held.member AND l.epoch = held.epoch FOR KEY SHARE;
            IF NOT FOUND THEN
                lost := lost || format('%s %s %s', held.part, held.member, held.epoch);
            END IF;
        END LOOP;
        WITH found AS MATERIALIZED (
            SELECT o.id, o.state FROM outbox o WHERE o.id = ANY (ARRAY(SELECT s.id FROM unnest(settled) s)) ORDER BY o.id FOR UPDATE),
        changed AS (
            UPDATE outbox o SET state = s.state, attempt = s.attempt, not_before = s.not_before, remote = coalesce(s.remote, o.remote),
                error = s.error, doubt = s.doubt
            FROM unnest(settled) WITH ORDINALITY
                s (id, state, attempt, not_before, remote, error, doubt, part, member, epoch, place)
                JOIN found f ON f.id = s.id
            WHERE o.id = s.id AND f.state IN ('pending', 'sending')
                AND (s.part IS NULL OR format('%s %s %s', s.part, s.member, s.epoch) <> ALL (lost))
            RETURNING s.place)
        SELECT array_agg(c.place) INTO taken FROM changed c;
    END IF;

    IF cardinality(cursors) > 0 THEN
        INSERT INTO cursors (agent_id, source, account, stream, position)
        SELECT DISTINCT ON (c.agent, c.source, c.account, c.stream) c.agent, c.source, c.account, c.stream, c.reached
        FROM unnest(cursors) WITH ORDINALITY c (agent, source, account, stream, reached, place)
        ORDER BY c.agent, c.source, c.account, c.stream, c.place DESC
        ON CONFLICT (agent_id, source, account, stream) DO UPDATE SET position = excluded.position;
    END IF;

    IF cardinality(used) > 0 AND NOT stood THEN
        INSERT INTO usage (agent_id, day, room_id, entity_id, model, source, world_id,
            answers, refused, notices, calls, input, cached, output, unpriced, micros)
        SELECT u.agent, u.day, u.room, u.person, u.model, min(u.source), (array_agg(u.world))[1],
            sum(u.answers)::bigint, sum(u.refused)::bigint, sum(u.notices)::bigint, sum(u.calls)::bigint, sum(u.input)::bigint,
            sum(u.cached)::bigint, sum(u.output)::bigint, sum(u.unpriced)::bigint, sum(u.micros)::bigint
        FROM unnest(used) u GROUP BY u.agent, u.day, u.room, u.person, u.model ORDER BY u.agent, u.day, u.room, u.person, u.model
        ON CONFLICT (agent_id, day, room_id, entity_id, model) DO UPDATE SET answers = usage.answers + excluded.answers,
            refused = usage.refused + excluded.refused, notices = usage.notices + excluded.notices, calls = usage.calls + excluded.calls,
            input = usage.input + excluded.input, cached = usage.cached + excluded.cached, output = usage.output + excluded.output,
            unpriced = usage.unpriced + excluded.unpriced, micros = usage.micros + excluded.micros;
    END IF;
END
$body$;
