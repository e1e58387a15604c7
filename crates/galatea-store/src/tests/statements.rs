//! Every statement of the store, for what must be true of each.

mod complete;

use galatea_core::{
    ChannelType, Embedding, MemoryKind, Timestamp, Visibility, WorldId,
    store::{MemoryQuery, RecallQuery},
    visibility::View,
};
use galatea_testkit::store_suite::fixtures::Scene;

use crate::{
    agent, audit, backlog, cache, channel, chat, connect, connector_state, console, cursor,
    deleted, derived,
    dialect::{Dialects, Listed},
    doomed, effect, embedding, entity, forget, forgotten, grant, house, inbox, index, link, live,
    memory, neighbour, outbox, postgres, record, relationship, room, rows, search, sqlite, step,
    stored_setting, task, trace, usage, webhook, world,
};

/// Constants of other modules as [`Listed`].
macro_rules! listed {
    ($($($part:ident)::+),* $(,)?) => {
        &[$((concat!("galatea_store", $("::", stringify!($part)),+), $($part)::+)),*]
    };
}

/// Statements of both dialects that their modules do not list themselves.
const NAMED: &[Listed] = listed![
    postgres::CHANGED,
    postgres::THERE,
    agent::AGENTS,
    agent::SAVE,
    agent::WITH_RETENTION,
    audit::AUDIT,
    audit::MISSING,
    backlog::AGAIN,
    backlog::BEHIND,
    backlog::CLAIM,
    backlog::DONE,
    backlog::ENQUEUE,
    backlog::FORGET_MARKS,
    backlog::GIVE_UP,
    backlog::MARK,
    backlog::OLDER,
    backlog::OLDER_PIECES,
    backlog::WAITING,
    cache::CACHED,
    cache::CACHED_OF,
    cache::EXPIRE,
    cache::FIRST,
    cache::FORGET,
    cache::SAVE,
    cache::SWAP,
    channel::SERVERS,
    channel::ADD_SERVER,
    channel::SERVER_AGENTS,
    channel::SERVERS_OF_AGENT,
    channel::ADD_SERVER_AGENT,
    channel::REMOVE_SERVER_AGENT,
    channel::CHANNEL,
    channel::CHANNELS,
    channel::ADD_CHANNEL,
    channel::CHANGE_CHANNEL,
    channel::REMOVE_CHANNEL,
    channel::REMOVE_PEOPLE,
    channel::REMOVE_SESSIONS,
    channel::REMOVE_JOBS,
    channel::PEOPLE,
    channel::ADD_PEOPLE,
    channel::MESSAGES,
    channel::MESSAGE,
    channel::ADD_MESSAGE,
    channel::CHANGE_MESSAGE,
    channel::REMOVE_MESSAGE,
    channel::CLEAR,
    channel::FORGET_MESSAGES,
    channel::FORGET_SESSIONS,
    channel::FORGET_ASKED,
    chat::SESSION,
    chat::SESSIONS,
    chat::EXPIRE_SESSIONS,
    chat::ADD_SESSION,
    chat::CHANGE_SESSION,
    chat::REMOVE_SESSION,
    chat::JOB,
    chat::JOBS,
    chat::JOBS_IN_STATE,
    chat::COUNT_JOBS,
    chat::FORGET_JOBS,
    chat::ADD_JOB,
    chat::END_JOB,
    connector_state::REMOVE,
    connector_state::SAVE,
    connector_state::STATE,
    console::NEWEST_TURN,
    console::TURNS,
    console::TURNS_OF_ROOM,
    console::NEWEST_DELIVERY,
    console::DELIVERIES,
    console::TROUBLED_DELIVERIES,
    console::UNSETTLED_DELIVERIES,
    console::MEMORIES_OF_AGENT,
    console::MEMORIES_OF_ROOM,
    console::MEMORIES_OF_PERSON,
    console::ROOMS,
    console::PEOPLE,
    console::WAITING_MESSAGES,
    console::TROUBLED_MESSAGES,
    console::UNSETTLED_PARTS,
    console::TROUBLED_PARTS,
    console::CHARACTER,
    house::LOCK,
    house::USERS,
    house::ADD_USER,
    house::CHANGE_USER,
    house::REMOVE_USER,
    house::END_OF_REMOVED,
    house::EXPIRE,
    house::ADD,
    house::FIND,
    house::FAMILY,
    house::TAKE_REFRESH,
    house::END_FAMILY,
    house::LIST,
    house::TAKE,
    house::NOTE_USE,
    house::END,
    house::END_SESSIONS,
    record::ADD,
    record::BLANK,
    record::LIST,
    record::EXPIRE,
    record::TAKE,
    record::KEPT,
    record::KEEP,
    record::FREE,
    live::LOCK,
    live::ADD,
    live::PRUNE,
    live::AFTER,
    live::BOUNDS,
    cursor::CURSOR,
    deleted::GONE,
    deleted::NOTE,
    derived::BY_ID,
    derived::BY_SOURCE,
    derived::CONFIRM,
    derived::DOOM_ALONE,
    derived::REINDEX_ONE,
    derived::RESTORE,
    derived::SAVE,
    derived::SAVE_SOURCES,
    derived::SOURCES,
    derived::SUPERSEDE,
    derived::UNINDEX_ONE,
    embedding::SAVE,
    entity::ENTITIES,
    entity::ENTITIES_IN_ROOM,
    entity::ENTITIES_IN_WORLD,
    forget::MEMORIES,
    grant::GRANTS,
    grant::REMOVE,
    grant::SAVE,
    inbox::OF_TURN,
    inbox::TROUBLED,
    inbox::UNEXPLAINED,
    index::KEEP_MARKS,
    index::KEEP_TERMS,
    link::LINKS,
    link::LINKS_OF,
    link::RESTORE,
    memory::BLANK_DELIVERIES,
    memory::DELETE,
    memory::FORGET_EMBEDDING,
    memory::IDS,
    memory::MEMORY,
    memory::SKIP_DELETED,
    memory::UPDATE,
    outbox::DROP,
    outbox::OVERDUE,
    outbox::RETRY,
    outbox::SELECTED,
    outbox::SENT_AS,
    outbox::TROUBLED,
    relationship::LINK,
    relationship::LINKED,
    relationship::LOCK,
    relationship::MAKE_ROOM,
    relationship::RELATIONSHIPS,
    relationship::SAVE,
    relationship::STANDS,
    relationship::UNLINK,
    room::PARTICIPANTS,
    room::PARTICIPANT_STATE,
    room::OF_PERSON,
    room::ROOM,
    room::ROOMS,
    search::BESIDE,
    search::BY_SEQ,
    search::FEW_BY_SEQ,
    search::INDEX_TERMS,
    search::LIST,
    search::MEANINGS,
    search::MENTIONS,
    search::TERMS_BEHIND,
    search::TERMS_PROGRESS,
    step::SAVE,
    step::STEPS,
    stored_setting::ADD_CREATED,
    stored_setting::ADD_VERSION,
    stored_setting::CREATED,
    stored_setting::REMOVE,
    stored_setting::REMOVE_CREATED,
    stored_setting::SAVE,
    stored_setting::SETTINGS,
    stored_setting::VERSIONS,
    task::BY_ID,
    task::CLAIM,
    task::CONTINUE,
    task::DELETE,
    task::END,
    task::NEXT,
    task::OF_PERSON,
    task::OF_ROOM,
    task::RELEASE,
    task::RENEW,
    task::SAVE,
    task::SCHEDULED,
    task::TASKS,
    trace::ADD,
    trace::BLANK_AGENT,
    trace::BLANK_OLD,
    trace::BLANK_REACHING,
    trace::BLANK_ROOM,
    trace::BOUND_AGENT,
    trace::BOUND_ROOM,
    trace::EXPIRE,
    trace::EXPIRE_BOUNDS,
    trace::OF_PERSON,
    trace::OF_TURN,
    trace::OF_TURNS,
    trace::TOO_MUCH,
    usage::BLOCK,
    usage::BLOCKS,
    usage::OF_AGENT,
    usage::OF_ONE,
    usage::OF_PERSON,
    usage::OF_ROOM,
    usage::OF_SOURCE,
    usage::OF_STRANGERS,
    usage::OF_WORLD,
    usage::PRUNE,
    usage::SINCE,
    usage::UNBLOCK,
    webhook::ADD,
    webhook::CLAIM,
    webhook::REMOVE,
    webhook::SETTLE,
    webhook::WEBHOOKS,
    world::WORLD,
    world::WORLDS,
];

/// The same for a statement in one dialect.
type Text = (&'static str, &'static str);

/// Those of every message in SQLite; PostgreSQL's are in the function `commit_group`.
const HOT: &[Text] = listed![
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

/// What PostgreSQL alone has.
const SHARED: &[Text] = listed![
    postgres::COMMIT_GROUP,
    postgres::NOTIFY,
    postgres::BEAT,
    postgres::CLAIM,
    postgres::CLOCK,
    postgres::KNOWN,
    postgres::LEASES,
    postgres::LEAVE,
    postgres::MEMBERS,
    postgres::PULSE,
    postgres::RELEASE,
    postgres::RENEW,
    postgres::PUBLISH,
    postgres::END,
    postgres::AFTER,
    postgres::SHARE_LIMITS,
    postgres::PRUNE_LIMITS,
];

/// Every statement that both dialects name.
fn named() -> impl Iterator<Item = Listed> {
    let lists = [
        NAMED,
        inbox::READS,
        outbox::READS,
        connect::WRITES,
        effect::WRITES,
        agent::CLEARS,
        forget::WRITES,
        forgotten::WRITES,
        doomed::WRITES,
        neighbour::WRITES,
        room::WRITES,
    ];
    lists.into_iter().flatten().copied().chain(room::moves())
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

/// A statement with its name; one that is put together has the name of what puts it together.
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) text: String,
}

fn all(
    dialect: search::Dialect,
    text: fn(Dialects) -> &'static str,
    own: &[Text],
    pages: fn(&MemoryQuery) -> [String; 3],
) -> Vec<Named> {
    let make = |(name, text): Text| Named {
        name: name.strip_prefix("galatea_store::").unwrap_or(name),
        text: text.to_owned(),
    };
    let named = named().map(|(name, both)| (name, text(both))).chain(own.iter().copied()).map(make);
    let queries = queries();
    let pages = queries.iter().flat_map(|query| {
        let of_agent = query.room.is_none() && query.entity.is_none();
        let names = if of_agent {
            ["page", "count", "page"]
        } else {
            ["narrow page", "narrow count", "narrow page"]
        };
        names.into_iter().zip(pages(query))
    });
    let pages = pages.map(|(name, text)| Named { name, text });
    let recalls = recalls();
    let recalled = recalls.iter().flat_map(|query| {
        let of_operator = *query.visible.view() == View::Operator;
        let name = if of_operator { "operator's search" } else { "search" };
        search::statements(dialect, query).into_iter().map(move |text| Named { name, text })
    });
    named.chain(pages).chain(recalled).filter(|statement| !statement.text.is_empty()).collect()
}

pub(super) fn of_sqlite() -> Vec<Named> {
    all(search::Dialect::Sqlite, |both| both.sqlite, HOT, sqlite::filter_statements)
}

pub(super) fn of_postgres() -> Vec<Named> {
    all(search::Dialect::Postgres, |both| both.postgres, SHARED, postgres::filter_statements)
}
