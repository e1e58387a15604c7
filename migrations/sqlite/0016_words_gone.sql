-- The first index of words. Nothing searches it: recall_terms (0013, 0014) has taken its place. `secure_delete` overwrites what it held.
DROP TABLE memories_fts;
DROP VIEW memory_text;
DROP TABLE search_progress;
