-- The part of an inbox row's Room (galatea_core::store::room_part): the last byte of its id, modulo 64. Workers that share a store take
-- over by part; a SQLite file has one process, which holds them all, so there is no table of leases here.

ALTER TABLE inbox ADD COLUMN part INTEGER NOT NULL GENERATED ALWAYS AS (
    (instr('0123456789ABCDEF', substr(hex(room_id), 31, 1)) - 1) % 4 * 16 + instr('0123456789ABCDEF', substr(hex(room_id), 32, 1)) - 1
) VIRTUAL;
CREATE INDEX inbox_new_in_part ON inbox (part) WHERE state = 'new';
