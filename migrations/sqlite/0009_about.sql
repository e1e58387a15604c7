-- A SQLite file has one process, so what others run has no column here.
SELECT 1;
