-- The part of an inbox row's Room (galatea_core::store::room_part): the last byte of its id, modulo 64. Leases say which process works on
-- which part; times are Unix milliseconds by this server's clock.

ALTER TABLE inbox ADD COLUMN part smallint NOT NULL GENERATED ALWAYS AS (get_byte(uuid_send(room_id), 15) % 64) STORED;
CREATE INDEX inbox_new_in_part ON inbox (part, seq) WHERE state = 'new';

CREATE TABLE leases (
    part text NOT NULL PRIMARY KEY,
    member_id uuid,
    epoch bigint NOT NULL DEFAULT 0,
    expires_at bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX leases_of_member ON leases (member_id) WHERE member_id IS NOT NULL;

CREATE TABLE members (
    id uuid NOT NULL PRIMARY KEY,
    name text NOT NULL,
    joined_at bigint NOT NULL,
    expires_at bigint NOT NULL
) WITH (fillfactor = 50);
