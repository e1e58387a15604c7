-- What waits or is under way in one Room: read whenever a Room's deliveries are read back into memory.
CREATE INDEX outbox_unsettled_in_room ON outbox (room_id, seq) WHERE state IN ('pending', 'sending');
