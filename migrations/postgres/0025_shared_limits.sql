-- What all processes together use and reserve of a limit on a day. The usage table has what was
-- used once it is committed; this one has it when it is about to be used. A SQLite file has one
-- process, so it has no such table.
--
-- `holder` is a digest of the agent and of whose limit it is. `until` is the moment, in
-- microseconds, up to which the pace of a limit is used. The last columns are the newest change of
-- a row: ON CONFLICT reads them from the row that was to be inserted.
CREATE TABLE shared_limits (
    holder uuid PRIMARY KEY,
    day bigint NOT NULL,
    answers bigint NOT NULL,
    micros bigint NOT NULL,
    tokens bigint NOT NULL,
    until bigint NOT NULL,
    last_answers bigint NOT NULL,
    last_micros bigint NOT NULL,
    last_tokens bigint NOT NULL,
    last_pace bigint NOT NULL
) WITH (fillfactor = 50);
