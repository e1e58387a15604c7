//! Every statement of the store, for what must be true of each.

use galatea_core::{
    ChannelType, Embedding, MemoryKind, Timestamp, Visibility, WorldId,
    store::{MemoryQuery, RecallQuery},
};
use galatea_testkit::store_suite::fixtures::Scene;

use crate::{
    agent, audit, background, backlog, cache, connect, connector_state, cursor, derived,
    dialect::Dialects, doomed, effect, embedding, entity, inbox, index, link, memory, neighbour,
    outbox, postgres, recall, relationship, room, rows, sqlite, step, talk, task, usage, world,
};

/// Reads that go through a table whole: counts, and lists that only an operator asks for.
pub(super) const WHOLE: &[Dialects] = &[
    agent::AGENTS,
    audit::AUDIT,
    audit::MISSING,
    inbox::UNEXPLAINED,
    outbox::SELECTED,
    room::PRIVATE,
    usage::SINCE,
];

/// Reads.
const READS: &[Dialects] = &[
    cache::CACHED,
    connector_state::STATE,
    cursor::CURSOR,
    entity::ENTITIES,
    entity::ENTITIES_IN_ROOM,
    inbox::TROUBLED,
    memory::MEMORY,
    memory::IDS,
    outbox::TROUBLED,
    relationship::RELATIONSHIPS,
    relationship::LINKED,
    link::LINKS,
    link::LINKS_OF,
    room::ROOM,
    room::ROOMS,
    room::PARTICIPANTS,
    room::PARTICIPANT_STATE,
    step::STEPS,
    task::TASKS,
    usage::OF_AGENT,
    usage::OF_SOURCE,
    usage::OF_WORLD,
    usage::OF_ROOM,
    usage::OF_PERSON,
    usage::OF_STRANGERS,
    usage::OF_ONE,
    usage::BLOCKS,
    world::WORLD,
    world::WORLDS,
    sqlite::TERMS_BEHIND,
    background::EARLIER,
    background::UNPACKED,
    backlog::BEHIND,
    backlog::WAITING,
    backlog::OLDER,
    derived::BY_ID,
    derived::BY_SOURCE,
    derived::SOURCES,
    recall::MEANINGS,
    recall::BESIDE,
    recall::BY_SEQ,
    recall::LIST,
    recall::EXTENT,
    recall::AFTER,
    recall::WORDS,
];

/// Writes, but for those of every message.
const WRITES: &[Dialects] = &[
    agent::SAVE,
    cache::EXPIRE,
    cache::SAVE,
    cache::FORGET,
    connector_state::SAVE,
    connector_state::REMOVE,
    embedding::SAVE,
    memory::UPDATE,
    memory::FORGET_EMBEDDING,
    memory::SKIP_DELETED,
    memory::BLANK_DELIVERIES,
    memory::DELETE,
    index::KEEP_TERMS,
    index::KEEP_MARKS,
    background::ANALYSE,
    background::PACK,
    backlog::ENQUEUE,
    backlog::MARK,
    backlog::CLAIM,
    backlog::DONE,
    backlog::FORGET_MARKS,
    backlog::GIVE_UP,
    backlog::AGAIN,
    derived::SAVE,
    derived::SAVE_SOURCES,
    derived::CONFIRM,
    derived::UNINDEX_ONE,
    derived::REINDEX_ONE,
    derived::SUPERSEDE,
    derived::RESTORE,
    derived::DOOM_ALONE,
    outbox::RETRY,
    outbox::DROP,
    relationship::MAKE_ROOM,
    relationship::SAVE,
    relationship::LOCK,
    relationship::LINK,
    relationship::STANDS,
    relationship::UNLINK,
    link::RESTORE,
    step::SAVE,
    task::SAVE,
    task::DELETE,
    usage::BLOCK,
    usage::PRUNE,
    usage::UNBLOCK,
    sqlite::INDEX_TERMS,
    talk::READ,
    talk::ROOMS,
    sqlite::TERMS_PROGRESS,
];

/// Every statement that both dialects name.
fn named() -> impl Iterator<Item = Dialects> {
    let lists = [
        WHOLE,
        READS,
        inbox::READS,
        outbox::READS,
        WRITES,
        connect::WRITES,
        effect::WRITES,
        doomed::WRITES,
        neighbour::WRITES,
    ];
    lists.into_iter().chain(room::WRITES.iter().copied()).flatten().copied()
}

fn queries() -> Vec<MemoryQuery> {
    let scene = Scene::new();
    let base = MemoryQuery::new(scene.agent, 10);
    let full = MemoryQuery {
        world: Some(WorldId::fresh()),
        entity: Some(scene.person),
        since: Some(Timestamp(1)),
        before: Some(Timestamp(2)),
        ..base.clone().room(scene.room).kind(MemoryKind::Facts)
    };
    vec![
        base.clone(),
        base.clone().room(scene.room),
        base.clone().room(scene.room).kind(MemoryKind::Messages).kind(MemoryKind::ActionResult),
        MemoryQuery { entity: Some(scene.person), ..base },
        full,
    ]
}

fn recalls() -> Vec<RecallQuery> {
    let scene = Scene::new();
    let base = |visible| {
        RecallQuery::new(visible, "which 猫 or words", 10, Timestamp(5))
            .meaning("test", Embedding::new(vec![1.0, 0.0]).unwrap())
    };
    let mut out = Vec::new();
    for kind in [ChannelType::Group, ChannelType::Dm] {
        let room = scene.as_room(kind);
        let usual = base(Visibility::in_room(&room, &[scene.person]));
        let narrow = RecallQuery {
            room: Some(scene.room),
            people: vec![scene.person],
            since: Some(Timestamp(1)),
            before: Some(Timestamp(2)),
            superseded: true,
            ..usual.clone()
        };
        out.extend([usual, narrow]);
    }
    out.push(base(Visibility::operator(scene.agent)));
    out
}

pub(super) fn of_sqlite() -> Vec<String> {
    let hot = [
        rows::RECEIVE,
        rows::BEGIN,
        rows::FINISH,
        rows::FORGET_STEPS,
        rows::REMEMBER,
        rows::DELIVER,
        rows::SETTLE,
        rows::MOVE_CURSOR,
        rows::ADD_USAGE,
    ];
    let named = named().map(|both| both.sqlite).chain(hot).map(str::to_owned);
    let built = queries().into_iter().flat_map(|query| sqlite::filter_statements(&query));
    let recalls = recalls();
    let recalled = recalls.iter().flat_map(|q| recall::statements(recall::Dialect::Sqlite, q));
    named.chain(built).chain(recalled).filter(|text| !text.is_empty()).collect()
}

pub(super) fn of_postgres() -> Vec<String> {
    use postgres as p;
    let own = [
        p::COMMIT_GROUP,
        p::NOTIFY,
        p::BEAT,
        p::CLAIM,
        p::CLOCK,
        p::KNOWN,
        p::LEASES,
        p::LEAVE,
        p::MEMBERS,
        p::PULSE,
        p::RELEASE,
        p::RENEW,
        p::PUBLISH,
        p::END,
        p::AFTER,
        p::CHANGED.postgres,
        p::THERE.postgres,
        p::SIZE.postgres,
        p::TAIL.postgres,
    ];
    let named = named().map(|both| both.postgres).chain(own).map(str::to_owned);
    let built = queries().into_iter().flat_map(|query| p::filter_statements(&query));
    let recalls = recalls();
    let recalled = recalls.iter().flat_map(|q| recall::statements(recall::Dialect::Postgres, q));
    named.chain(built).chain(recalled).filter(|text| !text.is_empty()).collect()
}
