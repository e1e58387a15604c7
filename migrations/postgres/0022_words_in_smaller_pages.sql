-- Only SQLite's index of words has pages of its own.
SELECT 1;
