-- Each plugin keeps its small values under a prefix of its own.
UPDATE cache SET key = 'plugin:bootstrap:' || key
WHERE key = 'relationships' OR key LIKE 'reflection:%' OR key LIKE 'fact-uses:%';
-- Copied, not renamed: a process of the version before that finds no sources removes their documents.
INSERT INTO cache (agent_id, key, value, expires_at)
SELECT agent_id, 'plugin:knowledge:sources', value, expires_at FROM cache WHERE key = 'knowledge:sources';
