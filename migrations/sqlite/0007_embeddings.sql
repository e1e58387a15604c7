-- What a memory means, as a vector of the model that was used last: little-endian 32-bit floats of length 1. It goes with its memory.
CREATE TABLE embeddings (
    seq INTEGER PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE, -- the memory's
    model TEXT NOT NULL,
    width INTEGER NOT NULL, -- how many numbers
    vector BLOB NOT NULL
) STRICT;
