-- What actions with an effect of their own have done in a turn that is not committed yet: a turn that is run again does not do it twice.
-- The turn is known by the first message it answers; its rows go when that message is finished.
CREATE TABLE step (
    message_id uuid NOT NULL,
    n integer NOT NULL,
    action text NOT NULL,
    input text NOT NULL,
    output json,
    begun_at bigint NOT NULL,
    PRIMARY KEY (message_id, n)
);
