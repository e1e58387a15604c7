-- Whose a message is, and in which Room messages and parts are. The queues keep everything, and forgetting a person or moving a Room is one
-- statement of the writer, for which everybody else waits: it finds its rows without reading a queue whole.
CREATE INDEX inbox_of_entity ON inbox (entity_id);
CREATE INDEX inbox_of_room ON inbox (room_id);
-- With the order of commit, by which what lies around a part is looked for in its Room.
CREATE INDEX outbox_of_room ON outbox (room_id, seq);
