-- Each plugin keeps its small values under a prefix of its own.
UPDATE cache SET key = 'plugin:bootstrap:' || key
WHERE key = 'relationships' OR key LIKE 'reflection:%' OR key LIKE 'fact-uses:%';
UPDATE cache SET key = 'plugin:knowledge:sources' WHERE key = 'knowledge:sources';
