-- What actions with an effect of their own have done in a turn that is not committed yet: a turn that is run again does not do it twice.
-- The turn is known by the first message it answers; its rows go when that message is finished.
CREATE TABLE step (
    message_id BLOB NOT NULL,
    n INTEGER NOT NULL,
    action TEXT NOT NULL,
    input TEXT NOT NULL,
    output TEXT,
    begun_at INTEGER NOT NULL,
    PRIMARY KEY (message_id, n)
) STRICT, WITHOUT ROWID;
