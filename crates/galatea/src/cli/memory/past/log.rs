//! A chat log: one JSON object with time, speaker and text a line.

use galatea_core::{
    ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent, IncomingMessage,
    RemoteId, RoomRef, Source, Timestamp, WorldRef,
};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::HashMap, path::Path};

use super::super::import::{lines, misread, unreadable};
use crate::{connectors::Past, failure::Result};

/// Source of what was said elsewhere than on a platform.
const SOURCE: Source = Source::new("import");

#[derive(Debug, Deserialize)]
struct Line {
    /// RFC 3339, or Unix milliseconds.
    time: Value,
    speaker: String,
    text: String,
    /// Identifies the line; without one, its time, speaker and text do.
    #[serde(default)]
    id: Option<Value>,
}

/// Reads a whole log. `own` are names of the agent itself.
pub(in super::super) fn read(path: &Path, room: &str, own: &[String]) -> Result<Past> {
    read_lines(lines(path)?, path, room, own)
}

/// The same for lines with their numbers; `path` names their file in errors.
pub(in super::super) fn read_lines(
    lines: impl Iterator<Item = Result<(usize, String)>>,
    path: &Path,
    room: &str,
    own: &[String],
) -> Result<Past> {
    let mut messages = Vec::new();
    let mut repeats: HashMap<String, usize> = HashMap::new();
    for line in lines {
        let (number, line) = line?;
        let parsed: Line = serde_json::from_str(&line).map_err(|e| misread(path, number, &e))?;
        let at = time(&parsed.time).ok_or_else(|| {
            unreadable(
                path,
                &format!("line {number}: `time` is neither RFC 3339 nor Unix milliseconds"),
            )
        })?;
        messages.push(message(parsed, at, room, own, &mut repeats));
    }
    Ok(Past { source: SOURCE, messages })
}

fn time(value: &Value) -> Option<Timestamp> {
    if let Some(millis) = value.as_i64() {
        return Some(Timestamp(millis));
    }
    let format = &time::format_description::well_known::Rfc3339;
    let at = time::OffsetDateTime::parse(value.as_str()?.trim(), format).ok()?;
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok().map(Timestamp)
}

fn message(
    line: Line,
    at: Timestamp,
    room: &str,
    own: &[String],
    repeats: &mut HashMap<String, usize>,
) -> Incoming {
    let from_self = own.iter().any(|name| name.eq_ignore_ascii_case(line.speaker.trim()));
    let key = match &line.id {
        Some(Value::String(id)) => id.clone(),
        Some(id) => id.to_string(),
        None => {
            let key = format!("{}/{}/{}", at.0, line.speaker, line.text);
            let nth = repeats.entry(key.clone()).or_insert(0);
            *nth += 1;
            // Equal lines are different messages; their order identifies them.
            if *nth == 1 { key } else { format!("{key}/{nth}") }
        }
    };
    let place = RemoteId::new(format!("import/{room}"));
    let name = Some(room.to_owned());
    Incoming {
        connection: Connection {
            world: WorldRef::new(place.clone(), name.clone()),
            room: RoomRef::new(place, name, ChannelType::Group),
            entity: (!from_self).then(|| {
                let person = RemoteId::new(format!("import/{room}/{}", line.speaker));
                EntityRef::new(person, Some(line.speaker.clone()), None)
            }),
        },
        event: IncomingEvent::Message(IncomingMessage {
            id: RemoteId::new(format!("import/{room}/{key}")),
            legacy_id: None,
            content: Content::text(line.text),
            addressed: galatea_core::Addressed::default(),
            reply_to: None,
            command: None,
            from_self,
        }),
        at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_text(text: &str) -> Result<Past> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("talk.jsonl");
        std::fs::write(&path, text).unwrap();
        read(&path, "talk", &["Eliza".to_owned()])
    }

    fn ids(past: &Past) -> Vec<RemoteId> {
        let id = |incoming: &Incoming| match &incoming.event {
            IncomingEvent::Message(message) => message.id.clone(),
            other => panic!("{other:?}"),
        };
        past.messages.iter().map(id).collect()
    }

    #[test]
    fn times_have_two_forms() {
        assert_eq!(time(&json!(1_500)), Some(Timestamp(1_500)));
        assert_eq!(time(&json!("1970-01-01T01:00:01.5+01:00")), Some(Timestamp(1_500)));
        assert_eq!(time(&json!("yesterday")), None);
    }

    #[test]
    fn equal_lines_are_different_messages_and_a_second_reading_finds_the_same() {
        let line = r#"{"time":1,"speaker":"Ann","text":"ha"}"#;
        let text =
            format!("{line}\n\n{line}\n{}\n", r#"{"time":2,"speaker":"eliza","text":"so","id":7}"#);
        let past = read_text(&text).unwrap();
        let found = ids(&past);
        assert_eq!(found.len(), 3);
        assert!(found[0] != found[1] && found[2].as_str() == "import/talk/7");
        assert_eq!(ids(&read_text(&text).unwrap()), found);
        assert!(past.messages[0].connection.entity.is_some());
        assert!(past.messages[2].connection.entity.is_none(), "the agent's own");
    }

    #[test]
    fn a_faulty_line_is_named() {
        for (line, reason) in [
            (r#"{"time":1,"speaker":"Ann"}"#, "line 2"),
            (r#"{"time":"noon","speaker":"Ann","text":"x"}"#, "RFC 3339"),
            ("nonsense", "line 2"),
        ] {
            let good = r#"{"time":1,"speaker":"Ann","text":"ha"}"#;
            let failure = read_text(&format!("{good}\n{line}\n")).unwrap_err();
            assert!(format!("{failure:?}").contains(reason), "{failure:?}");
        }
    }
}
