-- What each process runs, in digests, so that others notice when they run something else.
ALTER TABLE members ADD COLUMN about json NOT NULL DEFAULT '{}';
