-- Discord's direct channels and the commands that wait for an answer never were positions of a stream: they move to the connector's state.
INSERT INTO connector_state (agent_id, source, account, key, value)
SELECT agent_id, source, account, stream, position FROM cursors
WHERE source = 'discord' AND stream IN ('direct', 'asked');

DELETE FROM cursors WHERE source = 'discord' AND stream IN ('direct', 'asked');
