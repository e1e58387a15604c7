//! Recordings of platform events, kept in `tests/replay/<platform>/<scenario>.json` together with
//! their decoded form.
//!
//! A recording has the fields `about`, `events` as the platform sends them, and `decoded`.
//! `REPLAY_WRITE=1 cargo test replay` rewrites `decoded`; read the change before you commit it.

use std::{fs, path::PathBuf};

use galatea_core::{
    Connection, Content, EntityRef, Incoming, IncomingEvent, Timestamp, message::WorldSync,
};
use serde_json::{Map, Value, json};

/// A recorded scenario of a platform.
#[derive(Debug, Clone)]
pub struct Recording {
    /// File name without its ending.
    pub name: String,
    /// Events in the order in which the platform sent them.
    pub events: Vec<Value>,
    path: PathBuf,
    whole: Value,
}

/// All recordings of a platform, by name.
///
/// # Panics
/// When there are none, or one cannot be read.
pub fn recordings(platform: &str) -> Vec<Recording> {
    let folder =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/replay")).join(platform);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = files.filter_map(|file| {
        Some(file.ok()?.path()).filter(|p| p.extension().is_some_and(|e| e == "json"))
    });
    let mut all: Vec<Recording> = paths.map(read).collect();
    assert!(!all.is_empty(), "no recordings in {}", folder.display());
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn read(path: PathBuf) -> Recording {
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let whole: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Recording { name, events: whole["events"].as_array().cloned().unwrap_or_default(), path, whole }
}

impl Recording {
    /// Time of the recording, for events without a time of their own: `now` of the file, in
    /// milliseconds.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.whole["now"].as_i64().unwrap_or_default())
    }

    /// Compares decoded events with those in the recording.
    ///
    /// # Panics
    /// When they differ; shows the actual events.
    pub fn check(&self, decoded: &[Value]) {
        assert!(
            !self.events.is_empty() && self.whole["about"].is_string(),
            "{} holds no events, or does not say what it is about",
            self.name
        );
        let decoded = json!(decoded);
        if std::env::var_os("REPLAY_WRITE").is_some() {
            let mut whole = self.whole.clone();
            whole["decoded"] = decoded;
            let text = serde_json::to_string_pretty(&whole).unwrap_or_default();
            return fs::write(&self.path, text + "\n")
                .unwrap_or_else(|e| panic!("{}: {e}", self.path.display()));
        }
        let found = serde_json::to_string_pretty(&decoded).unwrap_or_default();
        assert!(
            decoded == self.whole["decoded"],
            "{} is decoded to something else than it holds:\n{found}",
            self.name
        );
    }
}

/// A JSON object without its empty values: null, false, empty lists and texts.
fn brief(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let says = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    Value::Object(
        pairs
            .into_iter()
            .filter(|(_, value)| says(value))
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Map<_, _>>(),
    )
}

fn entity(who: &EntityRef) -> Value {
    brief([
        ("id", json!(who.remote)),
        ("name", json!(who.name)),
        ("userName", json!(who.user_name)),
        ("bot", json!(who.is_bot)),
    ])
}

fn place(connection: &Connection) -> [(&'static str, Value); 3] {
    let Connection { world, room, entity: who } = connection;
    let roles: Vec<Value> = world.roles.iter().map(|(id, role)| json!([id, role])).collect();
    [
        (
            "world",
            brief([
                ("id", json!(world.remote)),
                ("name", json!(world.name)),
                ("owner", json!(world.owner)),
                ("roles", json!(roles)),
            ]),
        ),
        (
            "room",
            brief([
                ("id", json!(room.remote)),
                ("name", json!(room.name)),
                ("kind", json!(room.kind)),
                ("parent", json!(room.parent)),
            ]),
        ),
        ("who", who.as_ref().map_or(Value::Null, entity)),
    ]
}

fn content(content: &Content) -> [(&'static str, Value); 4] {
    let files: Vec<Value> = content
        .attachments
        .iter()
        .map(|m| {
            brief([
                ("url", json!(m.url)),
                ("kind", json!(m.content_type)),
                ("mime", json!(m.mime)),
                ("title", json!(m.title)),
                ("description", json!(m.description)),
            ])
        })
        .collect();
    let quotes: Vec<Value> = content
        .quotes
        .iter()
        .map(|q| {
            let files: Vec<&str> = q.attachments.iter().map(|m| m.url.as_str()).collect();
            brief([
                ("kind", json!(q.kind)),
                ("by", json!(q.by)),
                ("own", json!(q.own)),
                ("text", json!(q.text)),
                ("attachments", json!(files)),
            ])
        })
        .collect();
    [
        ("text", json!(content.text)),
        ("url", json!(content.url)),
        ("attachments", json!(files)),
        ("quotes", json!(quotes)),
    ]
}

/// An event in a readable form.
pub fn show(incoming: &Incoming) -> Value {
    let (what, detail) = match &incoming.event {
        IncomingEvent::Message(m) => {
            let more = [
                ("id", json!(m.id)),
                ("mention", json!(m.addressed.mention)),
                ("reply", json!(m.addressed.reply)),
                ("replyTo", json!(m.reply_to)),
                ("command", json!(m.command)),
                ("fromSelf", json!(m.from_self)),
            ];
            ("message", brief(content(&m.content).into_iter().chain(more)))
        }
        IncomingEvent::Edited { id, content: now, .. } => {
            ("edited", brief(content(now).into_iter().chain([("id", json!(id))])))
        }
        IncomingEvent::Deleted { ids } => ("deleted", json!(ids)),
        IncomingEvent::Reacted { id, added, removed } => (
            "reacted",
            brief([("id", json!(id)), ("added", json!(added)), ("removed", json!(removed))]),
        ),
        IncomingEvent::Joined { entities } => ("joined", entities.iter().map(entity).collect()),
        IncomingEvent::Left { entities } => ("left", entities.iter().map(entity).collect()),
        IncomingEvent::Pressed { id, message, data } => (
            "pressed",
            brief([("id", json!(id)), ("message", json!(message)), ("data", json!(data))]),
        ),
        IncomingEvent::OwnStatus(status) => ("ownStatus", json!(status)),
        IncomingEvent::RoomMoved { to } => ("roomMoved", json!(to)),
    };
    brief(
        place(&incoming.connection)
            .into_iter()
            .chain([("at", json!(incoming.at.0)), (what, detail)]),
    )
}

/// New or changed Worlds, Rooms and people in a readable form.
pub fn show_sync(sync: &WorldSync) -> Value {
    let WorldSync { world, rooms, entities } = sync;
    let rooms: Vec<Value> = rooms
        .iter()
        .map(|r| {
            brief([
                ("id", json!(r.remote)),
                ("name", json!(r.name)),
                ("kind", json!(r.kind)),
                ("parent", json!(r.parent)),
            ])
        })
        .collect();
    let people: Vec<Value> = entities.iter().map(|(who, _)| entity(who)).collect();
    let roles: Vec<Value> = world.roles.iter().map(|(id, role)| json!([id, role])).collect();
    let world = brief([
        ("id", json!(world.remote)),
        ("name", json!(world.name)),
        ("owner", json!(world.owner)),
        ("roles", json!(roles)),
    ]);
    json!({ "places": brief([("world", world), ("rooms", json!(rooms)), ("people", json!(people))]) })
}
