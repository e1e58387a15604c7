-- What a connector keeps of an account, by key. Rows of cursors that never were positions move here.
CREATE TABLE connector_state (
    agent_id BLOB NOT NULL,
    source TEXT NOT NULL,
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL, -- JSON
    PRIMARY KEY (agent_id, source, account, key)
) STRICT, WITHOUT ROWID;

INSERT INTO connector_state (agent_id, source, account, key, value)
SELECT agent_id, source, account, stream, position FROM cursors
WHERE json_valid(position) AND (stream = 'gaps' OR (source, stream) IN
    (VALUES ('telegram', 'polled'), ('discord', 'identify'), ('discord', 'refused'), ('x', 'spent')));

DELETE FROM cursors WHERE stream = 'gaps' OR (source, stream) IN
    (VALUES ('telegram', 'polled'), ('discord', 'identify'), ('discord', 'refused'), ('x', 'spent'));
