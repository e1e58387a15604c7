//! A chat log: one JSON object with time, speaker and text a line.

use galatea_core::{
    ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent, IncomingMessage,
    RemoteId, RoomRef, Source, Timestamp, WorldRef,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

use crate::{
    Count,
    format::misread,
    lines::Line as Numbered,
    moment::check,
    seen::{Found, Seen, hash},
};

/// Source of what was said elsewhere than on a platform.
pub(crate) const SOURCE: Source = Source::new("import");

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

/// How often a line without an id came, by a hash of its time, speaker and text.
type Repeats = HashMap<u64, usize>;

/// The messages of a chat log, which is read line by line. What cannot be read is left out and named.
pub(crate) struct Log<I> {
    lines: I,
    room: String,
    /// The speakers who are the agent itself.
    own: BTreeSet<String>,
    now: Timestamp,
    repeats: Repeats,
    /// Ids are kept as hashes: a log may have millions.
    seen: Seen<u64, usize>,
    /// What was read so far.
    pub(crate) count: Count,
}

impl<I: Iterator<Item = Numbered>> Log<I> {
    /// The messages in these lines, of a room with this name. `own` are the speakers who are the agent
    /// itself.
    pub(crate) fn of(lines: I, room: String, own: BTreeSet<String>, now: Timestamp) -> Self {
        let (repeats, seen) = (Repeats::new(), Seen::new());
        Self { lines, room, own, now, repeats, seen, count: Count::default() }
    }

    /// A message; `None` for a line that comes again.
    ///
    /// # Errors
    /// Why the line is left out.
    fn message(
        &mut self,
        number: usize,
        line: Result<String, String>,
    ) -> Result<Option<Incoming>, String> {
        let (line, at) = parse(&line?)?;
        check(at, self.now)?;
        let key = key(&line, at, &mut self.repeats);
        match self.seen.add(hash(&key), number, (at, &line.speaker, &line.text)) {
            Found::New => Ok(Some(message(line, at, &self.room, &self.own, &key))),
            Found::Same => Ok(None),
            Found::Taken(first) => Err(format!("line {first} has another message of the id {key}")),
        }
    }
}

impl<I: Iterator<Item = Numbered>> Iterator for Log<I> {
    type Item = Incoming;

    fn next(&mut self) -> Option<Incoming> {
        loop {
            let (number, line) = self.lines.next()?;
            match self.message(number, line) {
                Ok(message) => {
                    self.count.read += 1;
                    if message.is_some() {
                        return message;
                    }
                }
                Err(cause) => self.count.skipped.line(number, &cause),
            }
        }
    }
}

/// Everyone who speaks in these lines.
pub(crate) fn speakers(lines: impl Iterator<Item = Numbered>) -> BTreeSet<String> {
    lines.filter_map(|(_, line)| Some(parse(&line.ok()?).ok()?.0.speaker)).collect()
}

fn parse(line: &str) -> Result<(Line, Timestamp), String> {
    let parsed: Line = serde_json::from_str(line).map_err(|e| misread(&e))?;
    for (name, value) in [("speaker", &parsed.speaker), ("text", &parsed.text)] {
        if value.trim().is_empty() {
            return Err(format!("`{name}` is empty"));
        }
    }
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

/// The id of a line.
fn key(line: &Line, at: Timestamp, repeats: &mut Repeats) -> String {
    match &line.id {
        Some(Value::String(id)) => id.clone(),
        Some(id) => id.to_string(),
        None => {
            let nth = repeats.entry(hash((at, &line.speaker, &line.text))).or_insert(0);
            *nth += 1;
            // Equal lines are different messages; their order identifies them.
            json!([at.0, line.speaker, line.text, *nth]).to_string()
        }
    }
}

fn message(line: Line, at: Timestamp, room: &str, own: &BTreeSet<String>, key: &str) -> Incoming {
    let from_self = own.contains(&line.speaker);
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
    use crate::lines::lines_in;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    /// The time of the first message.
    const AT: i64 = 1_700_000_000_000;

    fn read_text(text: &str) -> (Vec<Incoming>, Count) {
        let own = BTreeSet::from(["eliza".to_owned()]);
        let mut log = Log::of(lines_in(text.as_bytes()), "talk".to_owned(), own, NOW);
        (log.by_ref().collect(), log.count)
    }

    fn ids(messages: &[Incoming]) -> Vec<RemoteId> {
        let id = |incoming: &Incoming| match &incoming.event {
            IncomingEvent::Message(message) => message.id.clone(),
            other => panic!("{other:?}"),
        };
        messages.iter().map(id).collect()
    }

    #[test]
    fn times_have_two_forms() {
        assert_eq!(time(&json!(1_500)), Some(Timestamp(1_500)));
        assert_eq!(time(&json!("1970-01-01T01:00:01.5+01:00")), Some(Timestamp(1_500)));
        assert_eq!(time(&json!("yesterday")), None);
    }

    #[test]
    fn equal_lines_are_different_messages_and_a_second_reading_finds_the_same() {
        let line = json!({ "time": AT, "speaker": "Ann", "text": "ha" }).to_string();
        let text = format!(
            "{line}\n\n{line}\n{}\n",
            json!({ "time": AT, "speaker": "eliza", "text": "so", "id": 7 })
        );
        let (messages, count) = read_text(&text);
        let found = ids(&messages);
        assert_eq!((found.len(), count.read, count.skipped.count()), (3, 3, 0));
        assert!(found[0] != found[1] && found[2].as_str() == "import/talk/7");
        assert_eq!(ids(&read_text(&text).0), found);
        assert!(messages[0].connection.entity.is_some());
        assert!(messages[2].connection.entity.is_none(), "the agent's own");
    }

    #[test]
    fn different_lines_have_different_ids() {
        let line = |time: i64, speaker: &str, text: &str| {
            json!({ "time": AT + time, "speaker": speaker, "text": text }).to_string()
        };
        let lines = [
            line(1, "A", "ha"),
            line(1, "A", "ha"),
            line(1, "A", "ha/2"),
            line(2, "A/B", "C"),
            line(2, "A", "B/C"),
        ];
        let (messages, count) = read_text(&lines.join("\n"));
        let mut found = ids(&messages);
        found.sort();
        found.dedup();
        assert_eq!((found.len(), count.skipped.count()), (5, 0), "{found:?}");
    }

    #[test]
    fn an_id_that_comes_twice_is_counted_or_named() {
        let line = |text: &str| {
            json!({ "time": AT, "speaker": "Ann", "text": text, "id": "x" }).to_string()
        };
        let (messages, count) = read_text(&[line("ha"), line("ha"), line("ho")].join("\n"));
        assert_eq!((messages.len(), count.read, count.skipped.count()), (1, 2, 1));
        let named = &count.skipped.first()[0];
        assert!(named.contains("line 3: line 1 has another message of the id x"), "{named}");
    }

    #[test]
    fn a_faulty_line_is_named_and_the_others_are_read() {
        let good = |n: i64| json!({ "time": AT + n, "speaker": "Ann", "text": "ha" }).to_string();
        for (line, reason) in [
            (r#"{"time":1,"speaker":"Ann"}"#, "line 2: column 26: missing field"),
            (r#"{"time":"noon","speaker":"Ann","text":"x"}"#, "RFC 3339"),
            ("nonsense", "line 2"),
            (r#"{"time":1700000000000,"speaker":" ","text":"x"}"#, "line 2: `speaker` is empty"),
            (r#"{"time":1700000000000,"speaker":"Ann","text":""}"#, "line 2: `text` is empty"),
            (r#"{"time":1700000000,"speaker":"Ann","text":"x"}"#, "line 2: its time is 1970-01-20"),
            (r#"{"time":"9999-01-01T00:00:00Z","speaker":"Ann","text":"x"}"#, "in the future"),
        ] {
            let text = format!("{}\n{line}\n{}\nbad\n", good(1), good(2));
            let (messages, count) = read_text(&text);
            assert_eq!((messages.len(), count.skipped.count()), (2, 2));
            let named = count.skipped.first().join("\n");
            assert!(named.contains(reason) && named.contains("line 4"), "{named}");
        }
    }
}
