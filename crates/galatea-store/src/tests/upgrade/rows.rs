//! The rows of an older database, as its version of the program wrote them: one or more in every
//! table.

use uuid::Uuid;

/// The id of number `n`, the same in both databases.
pub(super) const fn id(n: u8) -> Uuid {
    Uuid::from_bytes([n; 16])
}

pub(super) const AGENT: u8 = 1;
pub(super) const WORLD: u8 = 2;
pub(super) const ROOM: u8 = 3;
pub(super) const PERSON: u8 = 4;
/// The turn that answered [`DONE`].
pub(super) const TURN: u8 = 5;
pub(super) const RELATIONSHIP: u8 = 6;
pub(super) const TASK: u8 = 7;
/// A process that died: its membership and its lease have ended.
pub(super) const MEMBER: u8 = 8;
/// A fact with an embedding.
pub(super) const FACT: u8 = 9;
/// The agent's answer to [`DONE`].
pub(super) const ANSWER: u8 = 10;

/// The same person on another platform, in versions that link accounts.
pub(super) const ABROAD: u8 = 12;
/// When they were linked.
pub(super) const LINKED_AT: i64 = 1_777;

/// Messages by the state of their inbox row. A turn has begun for the second one.
pub(super) const NEW: u8 = 20;
pub(super) const BEGUN: u8 = 21;
pub(super) const DONE: u8 = 22;
pub(super) const SKIPPED: u8 = 23;
pub(super) const EXPIRED: u8 = 24;
pub(super) const DEAD: u8 = 25;

/// Deliveries: the first of these numbers, then one for each state of the outbox in this order.
pub(super) const FIRST_PART: u8 = 40;
pub(super) const PARTS: [&str; 6] = ["pending", "sending", "sent", "ambiguous", "expired", "dead"];

/// How a database spells what the two spell differently.
pub(super) struct Spelling {
    /// An id.
    pub(super) id: fn(Uuid) -> String,
    /// No, and yes.
    pub(super) booleans: [&'static str; 2],
    /// The column of the words of a memory, and its value for one text; none where the database
    /// finds them by itself.
    pub(super) words: Option<(&'static str, &'static str)>,
    /// The vector (0.6, 0.8).
    pub(super) vector: &'static str,
    /// Its signs.
    pub(super) signs: &'static str,
    /// Statements for the tables that only this database has.
    pub(super) own: fn() -> Vec<String>,
}

pub(super) const SQLITE: Spelling = Spelling {
    id: |id| format!("x'{}'", id.simple()),
    booleans: ["0", "1"],
    words: None,
    vector: "x'9A99193FCDCC4C3F'",
    signs: "x'03'",
    own: Vec::new,
};

pub(super) const POSTGRES: Spelling = Spelling {
    id: |id| format!("'{id}'::uuid"),
    booleans: ["false", "true"],
    words: Some((", words", ", 'hello'")),
    vector: "'{0.6,0.8}'",
    signs: "'11'",
    own: postgres_only,
};

fn postgres_only() -> Vec<String> {
    let (member, agent) = (id(MEMBER), id(AGENT));
    vec![
        format!(
            "INSERT INTO members (id, name, joined_at, expires_at, role, groups, about) \
             VALUES ('{member}', 'old', 1, 2, 'all', '{{rooms:{agent}}}', '{{}}')"
        ),
        format!(
            "INSERT INTO leases (part, member_id, epoch, expires_at) VALUES ('suite:{agent}:7', '{member}', 3, 2)"
        ),
        format!("INSERT INTO events (member_id, event) VALUES ('{member}', '{{}}')"),
    ]
}

/// Every statement that fills the database. `links`: it has links of accounts, and signs of vectors.
pub(super) fn statements(spelling: &Spelling, links: bool) -> Vec<String> {
    let mut all = people_and_places(spelling);
    all.extend(messages(spelling));
    all.extend(deliveries(spelling));
    all.extend((spelling.own)());
    if links {
        all.extend(linked(spelling));
    }
    all
}

/// What later versions have besides: a link in both directions, and where a vector belongs.
fn linked(spelling: &Spelling) -> Vec<String> {
    let [agent, room, person, abroad] = [AGENT, ROOM, PERSON, ABROAD].map(|n| (spelling.id)(id(n)));
    vec![
        format!(
            "INSERT INTO identity_links (agent_id, entity_id, linked_id, linked_at) \
             VALUES ({agent}, {person}, {abroad}, {LINKED_AT}), ({agent}, {abroad}, {person}, {LINKED_AT})"
        ),
        format!("UPDATE embeddings SET owner = {room}, type = 'facts', bits = {}", spelling.signs),
    ]
}

fn people_and_places(spelling: &Spelling) -> Vec<String> {
    let [agent, world, room, person, relationship, task, component] =
        [AGENT, WORLD, ROOM, PERSON, RELATIONSHIP, TASK, 11].map(|n| (spelling.id)(id(n)));
    let at = "(agent_id, source, account, stream, position)";
    vec![
        format!(
            "INSERT INTO agents (id, name, character) VALUES ({agent}, 'Galatea', '{{\"name\":\"Galatea\"}}')"
        ),
        format!(
            "INSERT INTO worlds (id, agent_id, source, remote, name, metadata) VALUES ({world}, {agent}, 'suite', 'w1', 'World', \
             '{{\"ownership\":{{\"ownerId\":\"{owner}\"}},\"roles\":{{\"{owner}\":\"ADMIN\"}}}}')",
            owner = id(PERSON)
        ),
        format!(
            "INSERT INTO rooms (id, agent_id, world_id, parent_id, source, account, remote, type, name, metadata) \
             VALUES ({room}, {agent}, {world}, NULL, 'suite', '7', 'r1', 'GROUP', 'Room', '{{\"topic\":\"stone\"}}')"
        ),
        format!(
            "INSERT INTO entities (id, agent_id, names, metadata) VALUES ({person}, {agent}, '[\"Pygmalion\"]', '{{\"age\":3}}')"
        ),
        format!(
            "INSERT INTO participants (room_id, entity_id, state) VALUES ({room}, {person}, 'FOLLOWED'), ({room}, {agent}, 'MUTED')"
        ),
        format!(
            "INSERT INTO components (id, entity_id, agent_id, room_id, world_id, source_entity_id, type, data, created_at) \
             VALUES ({component}, {person}, {agent}, {room}, {world}, {agent}, 'profile', '{{}}', 5)"
        ),
        format!(
            "INSERT INTO relationships (id, agent_id, source_entity_id, target_entity_id, tags, metadata) \
             VALUES ({relationship}, {agent}, {person}, {agent}, '[\"maker\"]', '{{\"strength\":1}}')"
        ),
        format!(
            "INSERT INTO tasks (id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due) \
             VALUES ({task}, {agent}, 'REMIND', 'of the feast', {room}, NULL, NULL, '[\"queue\"]', '{{\"n\":1}}', 70)"
        ),
        format!(
            "INSERT INTO cache (agent_id, key, value, expires_at) VALUES ({agent}, 'plugin:k', '{{\"v\":[1]}}', NULL), \
             ({agent}, 'relationships', 'true', NULL), ({agent}, 'reflection:r', '1', NULL), ({agent}, 'fact-uses:r', '2', NULL), \
             ({agent}, 'knowledge:sources', '[3]', NULL), ({agent}, 'pairing:approved:p', '4', NULL)"
        ),
        format!("INSERT INTO cursors {at} VALUES ({agent}, 'suite', '7', 'updates', '41')"),
        format!(
            "INSERT INTO usage (agent_id, day, room_id, entity_id, model, source, world_id, answers, refused, notices, calls, input, cached, \
             output, unpriced, micros) VALUES ({agent}, 20000, {room}, {person}, '', 'suite', {world}, 2, 1, 1, 0, 0, 0, 0, 0, 0), \
             ({agent}, 20001, {room}, {person}, 'large', 'suite', {world}, 0, 0, 0, 3, 300, 30, 40, 5, 6000)"
        ),
        format!(
            "INSERT INTO blocks (agent_id, source, kind, remote, reason, at) VALUES ({agent}, 'suite', 'person', '@mallory', 'spam', 8)"
        ),
    ]
}

/// Memories with their inbox rows, a fact, an answer, an embedding, and the journal of the turn
/// that had begun.
fn messages(spelling: &Spelling) -> Vec<String> {
    let [agent, world, room, person, turn] =
        [AGENT, WORLD, ROOM, PERSON, TURN].map(|n| (spelling.id)(id(n)));
    let (column, words) = spelling.words.unwrap_or_default();
    let memory = |n: u8, kind: &str, entity: &str| {
        let memory = (spelling.id)(id(n));
        format!(
            "INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content{column}) \
             VALUES ({memory}, '{kind}', {agent}, {entity}, {room}, {world}, {n}, '{{\"trust\":\"stranger\"}}', \
             '{{\"text\":\"hello {n}\",\"source\":\"suite\"}}'{words})"
        )
    };
    let verdict = "'{\"decision\":\"answer\",\"steps\":[{\"rule\":\"mention\",\"outcome\":\"answer\",\"reason\":\"it was mentioned\"}]}'";
    let mut all = vec![memory(FACT, "facts", &person), memory(ANSWER, "messages", &agent)];
    for (n, state, attempts, turn, verdict) in [
        (NEW, "new", 0, "NULL", "NULL"),
        (BEGUN, "new", 2, "NULL", "NULL"),
        (DONE, "done", 1, turn.as_str(), verdict),
        (SKIPPED, "skipped", 1, "NULL", verdict),
        (EXPIRED, "expired", 0, turn.as_str(), verdict),
        (DEAD, "dead", 5, turn.as_str(), verdict),
    ] {
        let message = (spelling.id)(id(n));
        let finished = if state == "new" { "NULL" } else { "99" };
        all.push(memory(n, "messages", &person));
        all.push(format!(
            "INSERT INTO inbox (id, agent_id, entity_id, room_id, source, account, room_remote, remote, legacy_id, envelope, state, attempts, \
             turn_id, verdict, received_at, finished_at) VALUES ({message}, {agent}, {person}, {room}, 'suite', '7', 'r1', 'm{n}', NULL, \
             '{{\"addressed\":{{\"mention\":true,\"reply\":false}},\"fromBot\":false,\"fromSelf\":false,\"command\":null,\"entityRemote\":\"p1\",\
             \"userName\":\"pyg\",\"replyTo\":null}}', '{state}', {attempts}, {turn}, {verdict}, {n}, {finished})"
        ));
    }
    let (fact, begun) = ((spelling.id)(id(FACT)), (spelling.id)(id(BEGUN)));
    all.push(format!(
        "INSERT INTO embeddings (seq, model, width, vector) SELECT seq, 'embedder', 2, {} FROM memories WHERE id = {fact}",
        spelling.vector
    ));
    all.push(format!(
        "INSERT INTO step (message_id, n, action, input, output, begun_at) VALUES ({begun}, 0, 'SEND_MESSAGE', 'hash', '{{\"ok\":true}}', 6), \
         ({begun}, 1, 'SEND_MESSAGE', 'other', NULL, 7)"
    ));
    all
}

/// One part for each state; the one that was being sent may have arrived before.
fn deliveries(spelling: &Spelling) -> Vec<String> {
    let [agent, room, turn, answer] = [AGENT, ROOM, TURN, ANSWER].map(|n| (spelling.id)(id(n)));
    let part = |(n, state): (u8, &&str)| {
        let delivery = (spelling.id)(id(FIRST_PART + n));
        let doubt = spelling.booleans[usize::from(*state == "sending")];
        let remote = if *state == "sent" { "'s2'" } else { "NULL" };
        let error = if *state == "dead" { "'given up'" } else { "NULL" };
        format!(
            "INSERT INTO outbox (id, turn_id, part, agent_id, source, account, room_id, room_remote, key, memory_id, state, attempt, not_before, \
             expires_at, created_at, remote, error, body, doubt) VALUES ({delivery}, {turn}, {n}, {agent}, 'suite', '7', {room}, 'r1', 'k{n}', \
             {answer}, '{state}', {n}, 10, 5000, 9, {remote}, {error}, '{{\"text\":\"hello\"}}', {doubt})"
        )
    };
    (0..).zip(&PARTS).map(part).collect()
}
