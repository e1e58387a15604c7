-- Only SQLite builds a table for a list in a condition.
SELECT 1;
