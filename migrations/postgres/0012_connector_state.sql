-- What a connector keeps of an account, by key. Rows of cursors that never were positions move here. The value is text, so that a row an older
-- version wrote cannot fail the migration.
CREATE TABLE connector_state (
    agent_id uuid NOT NULL,
    source text NOT NULL,
    account text NOT NULL,
    key text NOT NULL,
    value text NOT NULL, -- JSON
    PRIMARY KEY (agent_id, source, account, key)
);

INSERT INTO connector_state (agent_id, source, account, key, value)
SELECT agent_id, source, account, stream, position FROM cursors
WHERE stream = 'gaps' OR (source, stream) IN
    (VALUES ('telegram', 'polled'), ('discord', 'identify'), ('discord', 'refused'), ('x', 'spent'));

DELETE FROM cursors WHERE stream = 'gaps' OR (source, stream) IN
    (VALUES ('telegram', 'polled'), ('discord', 'identify'), ('discord', 'refused'), ('x', 'spent'));
