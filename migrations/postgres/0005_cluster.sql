-- As what a process shares the work, and with whom; and what happens in one process, told to the others. Events are hints: they need not
-- survive a crash of the server. tx says in which transaction an event came: those older than every running one are complete.
ALTER TABLE members ADD COLUMN role text NOT NULL DEFAULT 'all';
ALTER TABLE members ADD COLUMN groups text[] NOT NULL DEFAULT '{}';
DROP INDEX inbox_new_in_part;
CREATE INDEX inbox_new_in_part ON inbox (agent_id, part, seq) WHERE state = 'new';

CREATE UNLOGGED TABLE events (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    member_id uuid NOT NULL,
    event json NOT NULL,
    PRIMARY KEY (tx, seq)
);
CREATE INDEX events_age ON events (at);
