-- A SQLite file has one process, so members and events between processes have no tables here.
DROP INDEX inbox_new_in_part;
CREATE INDEX inbox_new_in_part ON inbox (agent_id, part) WHERE state = 'new';
