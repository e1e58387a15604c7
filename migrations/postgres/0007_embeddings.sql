-- What a memory means, as a vector of the model that was used last, of length 1. It goes with its memory. An array, which every server has;
-- pgvector, where it is installed, is asked to compare them.
CREATE TABLE embeddings (
    seq bigint NOT NULL PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE, -- the memory's
    model text NOT NULL,
    width integer NOT NULL, -- how many numbers
    vector real[] NOT NULL
);
-- Numbers of a vector do not compress; trying costs time.
ALTER TABLE embeddings ALTER COLUMN vector SET STORAGE EXTERNAL;
