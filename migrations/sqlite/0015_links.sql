-- Entities that are one person for an agent: the person said so on both sides. Each pair stands here in both directions, so that one read by the
-- primary key answers who else a person is.
CREATE TABLE identity_links (
    agent_id BLOB NOT NULL,
    entity_id BLOB NOT NULL,
    linked_id BLOB NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, entity_id, linked_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_links_back ON identity_links (agent_id, linked_id);
