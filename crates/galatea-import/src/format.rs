//! Recognises what a file that is imported is.

use galatea_core::{Archive, Error, Result, Source};
use serde_json::{Map, Value};
use std::{
    io::{BufReader, Read},
    path::Path,
};

use crate::{
    Input,
    lines::{Line, MARK, lines_in},
    read,
};

/// Largest export of a platform, which is read whole: 300 bytes a message are 900,000 messages. Reading
/// it takes some 16 times as much memory.
const WHOLE: u64 = 256 << 20;
/// Lines in which the first readable one is looked for.
const TRIED: usize = 100;
/// Bytes in which the beginning of a dump stands.
const HEAD: usize = 4096;

/// Formats of files.
#[derive(Debug)]
pub enum Format {
    /// An export of `galatea memory export`: JSON lines.
    Galatea,
    /// A chat log: JSON lines with time, speaker and text.
    Log,
    /// A dump of elizaOS's database, made by `pg_dump`.
    ElizaOs,
    /// An export of a platform, which is one JSON value.
    Platform {
        /// Where the messages were sent.
        source: Source,
        /// The messages, and what of them cannot be read.
        archive: Archive,
    },
}

impl Format {
    /// The name of the format, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Galatea => "galatea",
            Self::Log => "log",
            Self::ElizaOs => "elizaos",
            Self::Platform { .. } => "platform",
        }
    }
}

/// Reads the exports of one platform.
#[derive(Debug, Clone)]
pub struct PlatformReader {
    /// The platform.
    pub source: Source,
    /// The messages of an export; `None` for any other JSON.
    pub read: fn(&Value) -> Option<Archive>,
}

/// Finds the format of a file. An export of a platform is read whole, by the first of `platforms` that
/// can.
///
/// # Errors
/// `Invalid` (`GAL-MEMORY-IMPORT`) with the place and the reason, for a file of no known format.
pub fn recognise(input: &Input, platforms: &[PlatformReader]) -> Result<Format> {
    recognise_in(|| input.reader(), input.as_ref(), platforms)
}

/// The same for anything that can be opened several times; `path` names it in errors.
pub(crate) fn recognise_in<R: Read>(
    open: impl Fn() -> R,
    path: &Path,
    platforms: &[PlatformReader],
) -> Result<Format> {
    let failed = |e: std::io::Error| unreadable(path, &e.to_string());
    let lines = || lines_in(BufReader::new(open()));
    let Some(first) = lines().next() else {
        let cause = match open().read(&mut [0]).map_err(failed)? {
            0 => "it is empty",
            _ => "it has no text, only blank lines",
        };
        return Err(unreadable(path, cause));
    };
    if let Some(format) = of_line(&first) {
        return Ok(format);
    }
    let mut start = Vec::new();
    open().take(HEAD as u64).read_to_end(&mut start).map_err(failed)?;
    if let Some((cause, fix)) = packed(&start) {
        return Err(unreadable(path, cause).with_fix(fix));
    }
    let start = String::from_utf8_lossy(&start);
    if read::elizaos::is_dump(&start) {
        return Ok(Format::ElizaOs);
    }
    // An export of a platform has no line that is a whole entry of a log.
    if let Some(format) = lines().take(TRIED).find_map(|line| of_line(&line)) {
        return Ok(format);
    }
    // The export of a platform may stand in one line, which is longer than a line of a log may be.
    if !start.trim_start_matches(MARK).trim_start().starts_with(['{', '[']) {
        let (number, line) = &first;
        let unknown = format!("its format is unknown; line {number} is not a JSON object");
        let cause = line.as_ref().err().map_or(unknown, |cause| format!("line {number}: {cause}"));
        return Err(unreadable(path, &cause));
    }
    platform(open(), path, &first, platforms)
}

/// The format to which a line belongs.
fn of_line((_, text): &Line) -> Option<Format> {
    let line: Map<String, Value> = serde_json::from_str(text.as_ref().ok()?.trim()).ok()?;
    let is_text = |key: &str| line.get(key).is_some_and(Value::is_string);
    if is_text("record") {
        return Some(Format::Galatea);
    }
    (is_text("text") && line.contains_key("speaker") && line.contains_key("time"))
        .then_some(Format::Log)
}

/// An export of a platform, which is one JSON value.
fn platform(
    file: impl Read,
    path: &Path,
    first: &Line,
    platforms: &[PlatformReader],
) -> Result<Format> {
    let mut text = Vec::new();
    let bytes = file.take(WHOLE + 1).read_to_end(&mut text);
    let size = bytes.map_err(|e| unreadable(path, &e.to_string()))?;
    if size as u64 > WHOLE {
        let fix = "export fewer chats at once, or a shorter time, and import each file";
        return Err(unreadable(path, "it is larger than 256 MiB").with_fix(fix));
    }
    let parsed = serde_json::from_slice(text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text));
    drop(text);
    let value: Value = match parsed {
        Ok(value) => value,
        Err(error) => {
            let cause = missing(first).unwrap_or_else(|| {
                let (line, column) = (error.line(), error.column());
                let cause = if error.is_eof() {
                    "it ends there, in the middle of a value: it was cut off"
                } else {
                    "it is not valid JSON"
                };
                format!("line {line}, column {column}: {cause}")
            });
            return Err(unreadable(path, &cause));
        }
    };
    for PlatformReader { source, read } in platforms {
        if let Some(archive) = read(&value) {
            return Ok(Format::Platform { source: source.clone(), archive });
        }
    }
    let cause = missing(first).unwrap_or_else(|| "its format is unknown".to_owned());
    Err(unreadable(path, &cause))
}

/// What the first line lacks, if it is a whole JSON object.
fn missing((number, text): &Line) -> Option<String> {
    let line: Map<String, Value> = serde_json::from_str(text.as_ref().ok()?.trim()).ok()?;
    let keys = ["time", "speaker", "text"];
    let lacks: Vec<&str> = keys.into_iter().filter(|key| !line.contains_key(*key)).collect();
    Some(if lacks.is_empty() || lacks.len() == keys.len() {
        format!(
            "its format is unknown; line {number} is a JSON object of neither an export nor a chat log"
        )
    } else {
        format!("line {number} lacks `{}`, and no other line is readable", lacks.join("` and `"))
    })
}

/// Why a file that begins like this has no text, and what to do about it.
fn packed(start: &[u8]) -> Option<(&'static str, &'static str)> {
    const UNPACK: &str = "unpack it, and import the file in it";
    const GUNZIP: &str =
        "unpack it with `gunzip`, or pass it on: `gunzip -c FILE | galatea memory import -`";
    const ENCODE: &str = "save it as UTF-8, such as with `iconv -f UTF-16 -t UTF-8`";
    const RESTORE: &str = "make it plain text with `pg_restore -f eliza.sql FILE`, and import that; \
                           or dump the database again without `-F`";
    const EXPORT: &str = "export it with the program to which it belongs; for Galatea's own with \
                          `galatea memory export`";
    let known: [(&[u8], &str, &str); 10] = [
        (b"\xff\xfe", "it is text in UTF-16", ENCODE),
        (b"\xfe\xff", "it is text in UTF-16", ENCODE),
        (b"\x1f\x8b", "it is compressed with gzip", GUNZIP),
        (b"PGDMP", "it is a dump of `pg_dump` in its own format (`-Fc`)", RESTORE),
        (b"toc.dat\0", "it is a dump of `pg_dump` in the format tar (`-Ft`)", RESTORE),
        (b"PK\x03\x04", "it is a ZIP archive", UNPACK),
        (b"\x28\xb5\x2f\xfd", "it is compressed with Zstandard", UNPACK),
        (b"\xfd7zXZ", "it is compressed with xz", UNPACK),
        (b"BZh", "it is compressed with bzip2", UNPACK),
        (b"SQLite format 3\0", "it is a database of SQLite", EXPORT),
    ];
    let (_, cause, fix) = known.into_iter().find(|(magic, ..)| start.starts_with(magic))?;
    Some((cause, fix))
}

/// Where a file cannot be read, and what can be.
pub(crate) fn unreadable(path: impl AsRef<Path>, cause: &str) -> Error {
    Error::invalid("this file cannot be imported")
        .with_code("GAL-MEMORY-IMPORT")
        .with("where", path.as_ref().display().to_string())
        .with("cause", cause)
        .with_fix(
            "give an export of `galatea memory export`, a chat log (one JSON object with time, \
             speaker and text a line), the JSON export of Telegram Desktop or of \
             DiscordChatExporter, or a dump of elizaOS's database made by `pg_dump`",
        )
}

/// Why a line is malformed JSON or lacks a field. Column 0 is none.
pub(crate) fn misread(error: &serde_json::Error) -> String {
    let message = error.to_string();
    // The parser counts from the beginning of the line.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    match error.column() {
        0 => message.to_owned(),
        column => format!("column {column}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::LINE;

    fn of(text: &[u8]) -> Result<Format> {
        let chats = |value: &Value| value.get("messages")?.as_array().map(|_| Archive::default());
        let platforms = [PlatformReader { source: Source::new("telegram"), read: chats }];
        recognise_in(|| text, Path::new("a.jsonl"), &platforms)
    }

    const GOOD: &str = r#"{"time":1,"speaker":"Ann","text":"ha"}"#;

    #[test]
    fn the_first_readable_line_says_what_it_is() {
        for before in ["", "\u{feff}", "\n  \n", "nonsense\n", "{\"time\":1,\n", "{\"time\":1}\n"] {
            let text = format!("{before}{GOOD}\n");
            assert!(matches!(of(text.as_bytes()), Ok(Format::Log)), "{before:?}");
        }
        let export = "\u{feff}{\"record\":\"export\"}\n";
        assert!(matches!(of(export.as_bytes()), Ok(Format::Galatea)));
        let chat = "\u{feff}{\"type\":\"personal_chat\",\n\"id\":7,\"messages\":[]}";
        assert!(matches!(of(chat.as_bytes()), Ok(Format::Platform { .. })));
    }

    #[test]
    fn an_export_may_stand_in_one_long_line() {
        let text = "x".repeat(usize::try_from(LINE).unwrap());
        let chat =
            format!("{{\"type\":\"personal_chat\",\"id\":7,\"x\":\"{text}\",\"messages\":[]}}");
        assert!(matches!(of(chat.as_bytes()), Ok(Format::Platform { .. })));
    }

    #[test]
    fn a_file_of_no_format_is_described() {
        for (text, cause) in [
            (b"".as_slice(), "it is empty"),
            (b" \n\n", "only blank lines"),
            (b"hello\nyou", "line 1 is not a JSON object"),
            (b"{\"time\":1,\"speaker\":\"x\"}\n{\"time\":2}\n", "line 1 lacks `text`"),
            (b"\xff\xfd\n", "line 1: it is not UTF-8 text"),
            (b"{\"id\":7,\n\"messages\":[", "line 2, column 12: it ends there"),
            (b"{\"a\":1}", "line 1 is a JSON object of neither"),
        ] {
            let text = of(text).unwrap_err().report().to_string();
            assert!(text.contains(cause), "{cause}: {text}");
        }
    }

    #[test]
    fn a_packed_file_is_named_with_the_way_to_unpack_it() {
        for (start, fix) in [
            (b"\x1f\x8b\x08\0\0".as_slice(), "gunzip"),
            (b"PGDMP\x01\x0e\0\n{", "pg_restore -f"),
            (b"toc.dat\0\0\0", "pg_restore -f"),
            (b"PK\x03\x04\n", "unpack it"),
            (b"\xff\xfe-\0-\0\n", "iconv"),
        ] {
            let text = of(start).unwrap_err().fix().unwrap().to_owned();
            assert!(text.contains(fix), "{text}");
            assert!(!text.contains("Telegram Desktop"), "one fix: {text}");
        }
    }
}
