-- A SQLite file has one process, so partitions of the Rooms and accounts are no places of their own: what waits is asked for by Room, and the few rows
-- that wait are read whole for the other questions. Each index that is gone here saves every message an entry, its removal, and a page of the log.
DROP INDEX inbox_new;
DROP INDEX inbox_new_in_part;
DROP INDEX outbox_unsettled;
-- No statement reads components.
DROP INDEX components_of_entity;
-- Nearly all rows have the same source: as the first column it took space, and let the planner read the whole inbox by it.
DROP INDEX inbox_remote;
CREATE INDEX inbox_remote ON inbox (remote, room_remote);
