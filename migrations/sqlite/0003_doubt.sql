-- A part of which an earlier attempt may have arrived keeps that doubt across a crash, whatever becomes of the later attempts.
ALTER TABLE outbox ADD COLUMN doubt INTEGER NOT NULL DEFAULT 0;
-- What the audit lists: the rare ends of a part and of a message.
CREATE INDEX outbox_troubled ON outbox (state) WHERE state IN ('ambiguous', 'expired', 'dead');
CREATE INDEX inbox_troubled ON inbox (state) WHERE state IN ('expired', 'dead');
