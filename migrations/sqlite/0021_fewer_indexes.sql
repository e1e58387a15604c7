-- A SQLite file has one process, so partitions of the Rooms and accounts are no places of their own. Each index that is gone here saves every message an entry, its removal, and a page of the log.
DROP INDEX inbox_new;
DROP INDEX inbox_new_in_part;
DROP INDEX outbox_unsettled;
-- No statement reads components.
DROP INDEX components_of_entity;
-- What waits in a Room is found by the Room; the other columns are looked at in the index, so that a poll for one account reads no row of another.
DROP INDEX inbox_new_in_room;
CREATE INDEX inbox_new_in_room ON inbox (room_id, agent_id, source, account) WHERE state = 'new';
DROP INDEX outbox_unsettled_in_room;
CREATE INDEX outbox_unsettled_in_room ON outbox (room_id, agent_id, source, account) WHERE state IN ('pending', 'sending');
