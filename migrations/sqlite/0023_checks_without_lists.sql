-- For each list of three or more values in a condition SQLite builds a temporary table when it evaluates the condition, a dozen for an answer. The same conditions as comparisons need none. SQLite has no statement that changes a CHECK. For a change that no stored row violates, its documentation describes this way (https://www.sqlite.org/lang_altertable.html#otheralter). The index made below raises the schema's version, so that every connection reads it again.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''new'', ''done'', ''skipped'', ''expired'', ''dead''))',
    'CHECK (state = ''new'' OR state = ''done'' OR state = ''skipped'' OR state = ''expired'' OR state = ''dead'')')
WHERE type = 'table' AND name = 'inbox';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''pending'', ''sending'', ''sent'', ''ambiguous'', ''expired'', ''dead''))',
    'CHECK (state = ''pending'' OR state = ''sending'' OR state = ''sent'' OR state = ''ambiguous'' OR state = ''expired'' OR state = ''dead'')')
WHERE type = 'table' AND name = 'outbox';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (scope IN (''private'', ''room'', ''world'', ''agent''))',
    'CHECK (scope = ''room'' OR scope = ''private'' OR scope = ''world'' OR scope = ''agent'')')
WHERE type = 'table' AND name = 'memories';
PRAGMA writable_schema = RESET;
DROP INDEX outbox_troubled;
CREATE INDEX outbox_troubled ON outbox (state) WHERE state = 'ambiguous' OR state = 'expired' OR state = 'dead';
