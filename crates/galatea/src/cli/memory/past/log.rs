//! A chat log: one JSON object with time, speaker and text a line.

use galatea_core::{
    ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent, IncomingMessage,
    RemoteId, RoomRef, Source, Timestamp, WorldRef,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::HashMap, path::Path};

use super::super::{
    format::misread,
    import::Count,
    lines::{Line as Numbered, lines},
    seen::{Found, Seen},
};
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

/// How often a line without an id came, by time, speaker and text.
type Repeats = HashMap<(Timestamp, String, String), usize>;

/// Reads a whole log. `own` are names of the agent itself.
///
/// # Errors
/// For a file that cannot be opened.
pub(in super::super) fn read(path: &Path, room: &str, own: &[String]) -> Result<(Past, Count)> {
    Ok(read_lines(lines(path)?, room, own))
}

/// The same for lines with their numbers. What cannot be read is left out and named.
pub(in super::super) fn read_lines(
    lines: impl Iterator<Item = Numbered>,
    room: &str,
    own: &[String],
) -> (Past, Count) {
    let (mut messages, mut count) = (Vec::new(), Count::default());
    let (mut repeats, mut seen) = (Repeats::new(), Seen::new());
    for (number, line) in lines {
        let (line, at) = match line.and_then(|line| parse(&line)) {
            Ok(parsed) => parsed,
            Err(cause) => {
                count.skipped.line(number, &cause);
                continue;
            }
        };
        let (key, older) = keys(&line, at, &mut repeats);
        match seen.add(key.clone(), number, (at, &line.speaker, &line.text)) {
            Found::New => messages.push(message(line, at, room, own, &key, older.as_deref())),
            Found::Same => {}
            Found::Taken(first) => {
                let cause = format!("line {first} has another message of the id {key}");
                count.skipped.line(number, &cause);
                continue;
            }
        }
        count.read += 1;
    }
    (Past { source: SOURCE, messages, skipped: Vec::new() }, count)
}

fn parse(line: &str) -> std::result::Result<(Line, Timestamp), String> {
    let parsed: Line = serde_json::from_str(line).map_err(|e| misread(&e))?;
    let at = time(&parsed.time)
        .ok_or_else(|| "`time` is neither RFC 3339 nor Unix milliseconds".to_owned())?;
    Ok((parsed, at))
}

fn time(value: &Value) -> Option<Timestamp> {
    if let Some(millis) = value.as_i64() {
        return Some(Timestamp(millis));
    }
    let format = &time::format_description::well_known::Rfc3339;
    let at = time::OffsetDateTime::parse(value.as_str()?.trim(), format).ok()?;
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok().map(Timestamp)
}

/// The id of a line, and the one that earlier versions gave it. Those wrote time, speaker, text and
/// number with `/` between them, which two different lines may have in common.
fn keys(line: &Line, at: Timestamp, repeats: &mut Repeats) -> (String, Option<String>) {
    match &line.id {
        Some(Value::String(id)) => (id.clone(), None),
        Some(id) => (id.to_string(), None),
        None => {
            let nth = repeats.entry((at, line.speaker.clone(), line.text.clone())).or_insert(0);
            *nth += 1;
            // Equal lines are different messages; their order identifies them.
            let older = format!("{}/{}/{}", at.0, line.speaker, line.text);
            let older = if *nth == 1 { older } else { format!("{older}/{nth}") };
            (json!([at.0, line.speaker, line.text, *nth]).to_string(), Some(older))
        }
    }
}

fn message(
    line: Line,
    at: Timestamp,
    room: &str,
    own: &[String],
    key: &str,
    older: Option<&str>,
) -> Incoming {
    let from_self = own.iter().any(|name| name.eq_ignore_ascii_case(line.speaker.trim()));
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
            legacy_id: older.map(|key| RemoteId::new(format!("import/{room}/{key}"))),
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
    use super::{super::super::lines::lines_in, *};

    fn read_text(text: &str) -> (Past, Count) {
        read_lines(lines_in(text.as_bytes()), "talk", &["Eliza".to_owned()])
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
        let (past, count) = read_text(&text);
        let found = ids(&past);
        assert_eq!((found.len(), count.read, count.skipped.count()), (3, 3, 0));
        assert!(found[0] != found[1] && found[2].as_str() == "import/talk/7");
        assert_eq!(ids(&read_text(&text).0), found);
        assert!(past.messages[0].connection.entity.is_some());
        assert!(past.messages[2].connection.entity.is_none(), "the agent's own");
    }

    #[test]
    fn different_lines_have_different_ids() {
        let line = |time: i64, speaker: &str, text: &str| {
            json!({ "time": time, "speaker": speaker, "text": text }).to_string()
        };
        let lines = [
            line(1, "A", "ha"),
            line(1, "A", "ha"),
            line(1, "A", "ha/2"),
            line(2, "A/B", "C"),
            line(2, "A", "B/C"),
        ];
        let (past, count) = read_text(&lines.join("\n"));
        let mut found = ids(&past);
        found.sort();
        found.dedup();
        assert_eq!((found.len(), count.skipped.count()), (5, 0), "{found:?}");
        let older = |n: usize| match &past.messages[n].event {
            IncomingEvent::Message(message) => message.legacy_id.clone().unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(older(0).as_str(), "import/talk/1/A/ha", "as earlier versions stored it");
        assert_eq!(older(1).as_str(), "import/talk/1/A/ha/2");
    }

    #[test]
    fn an_id_that_comes_twice_is_counted_or_named() {
        let line = |text: &str| {
            json!({ "time": 1, "speaker": "Ann", "text": text, "id": "x" }).to_string()
        };
        let (past, count) = read_text(&[line("ha"), line("ha"), line("ho")].join("\n"));
        assert_eq!((past.messages.len(), count.read, count.skipped.count()), (1, 2, 1));
        let named = count.skipped.json()["first"][0].to_string();
        assert!(named.contains("line 3: line 1 has another message of the id x"), "{named}");
    }

    #[test]
    fn a_faulty_line_is_named_and_the_others_are_read() {
        let good = |n: i64| json!({ "time": n, "speaker": "Ann", "text": "ha" }).to_string();
        for (line, reason) in [
            (r#"{"time":1,"speaker":"Ann"}"#, "line 2: column 26: missing field"),
            (r#"{"time":"noon","speaker":"Ann","text":"x"}"#, "RFC 3339"),
            ("nonsense", "line 2"),
        ] {
            let text = format!("{}\n{line}\n{}\nbad\n", good(1), good(2));
            let (past, count) = read_text(&text);
            assert_eq!((past.messages.len(), count.skipped.count()), (2, 2));
            let named = count.skipped.json().to_string();
            assert!(named.contains(reason) && named.contains("line 4"), "{named}");
        }
    }
}
