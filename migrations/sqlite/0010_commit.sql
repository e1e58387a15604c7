-- SQLite's writer carries out its statements one by one: no functions here.
SELECT 1;
