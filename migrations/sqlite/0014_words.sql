-- The index of words, made again by the program. A term is a word together with the place of its memory (its sort, scope and owner, in eight characters),
-- so that a search in one Room reads what that Room has of a word, not what all Rooms have of it; a search by an operator asks for all that begin with the
-- word. The program ranks (crates/galatea-store/src/recall/words.rs), so the index keeps neither positions nor lengths.
DROP TABLE recall_terms;
DROP VIEW memory_terms;
CREATE VIEW memory_terms (seq, terms) AS
SELECT seq, galatea_terms(
    CASE WHEN valid_until IS NULL THEN '' ELSE 'x' END || replace(type, '_', '') || CASE scope
        WHEN 'room' THEN 'r' || lower(hex(room_id)) WHEN 'world' THEN 'w' || lower(hex(world_id))
        WHEN 'agent' THEN 'a' || lower(hex(agent_id)) ELSE 'p' || lower(hex(entity_id)) END,
    coalesce(content ->> '$.text', ''))
FROM memories;
CREATE VIRTUAL TABLE recall_terms USING fts5 (terms, content = 'memory_terms', content_rowid = 'seq', detail = none, columnsize = 0,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co'");
-- A deleted word does not stay in the index (https://www.sqlite.org/fts5.html#the_secure_delete_configuration_option).
INSERT INTO recall_terms (recall_terms, rank) VALUES ('secure-delete', 1);
UPDATE terms_progress SET seq = 0;
