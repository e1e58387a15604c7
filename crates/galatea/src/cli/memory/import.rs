//! `memory import`: recognises the format of a file and stores what it contains, with a progress
//! bar on terminals.

use clap::Args;
use galatea_core::{AgentIdentity, Error, RemoteId, Store, SystemClock};
use galatea_runtime::history::{History, STEP};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek},
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{past, record::Record, select};
use crate::{
    cli::flags::Json,
    connectors::{PLATFORMS, Past},
    context::Context,
    failure::Result,
};

/// Largest export of a platform, which is read whole: 200 bytes a message are 5 million messages.
const WHOLE: u64 = 1 << 30;
/// Longest line of a chat log or of an export.
const LINE: u64 = 16 << 20;

/// What to read.
#[derive(Debug, Clone, Args)]
pub(crate) struct Import {
    /// The file
    file: PathBuf,
    /// The agent; needed if several have run here
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Name of the room of a chat log; its file's name when unset
    #[arg(long, value_name = "NAME")]
    room: Option<String>,
    /// What the agent itself is called in the file, or its platform id there; repeatable
    #[arg(long = "own", value_name = "NAME")]
    own: Vec<String>,
    /// Restore links of accounts too, also those that people ended after the export
    #[arg(long)]
    pub(super) links: bool,
    /// Read and count, and store nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    json: Json,
}

/// How many there were, and how many of them were new.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) read: usize,
    pub(super) new: usize,
    /// The same of links of accounts.
    pub(super) links: usize,
    pub(super) new_links: usize,
}

impl Import {
    pub(super) async fn run(&self, store: &dyn Store, context: &Context) -> Result<ExitCode> {
        let (agent, name) = select::agent(store, self.agent.as_deref()).await?;
        // An id is its own text.
        let identity = AgentIdentity::new(Some(&agent.to_string()), "");
        let bar = Bar::new(context, self.json.json);
        let (format, count) = match recognise(&self.file)? {
            Format::Galatea => {
                ("galatea", past::galatea::import(store, agent, &self.file, self, &bar).await?)
            }
            Format::ElizaOs => (
                "elizaos",
                past::elizaos::import(store, agent, &self.file, self.dry_run, &bar).await?,
            ),
            Format::Log => {
                let own: Vec<String> = self.own.iter().cloned().chain([name.clone()]).collect();
                let room = self.room_name();
                let log = past::log::read(&self.file, &room, &own)?;
                ("log", self.store(store, identity, log, &bar).await?)
            }
            Format::Platform(history) => {
                ("platform", self.store(store, identity, history, &bar).await?)
            }
        };
        bar.end();
        if self.json.json {
            context.output.json(
                "galatea.memory.import/1",
                json!({
                    "agent": name, "format": format, "read": count.read, "new": count.new,
                    "links": { "read": count.links, "new": count.new_links }, "stored": !self.dry_run,
                }),
            );
        } else if self.dry_run {
            context.output.say(format!("{} messages or memories can be read", count.read));
        } else {
            let known = count.read - count.new.min(count.read);
            let links = match count.links {
                0 => String::new(),
                all if self.links => {
                    format!("; {} of {all} links of accounts are new", count.new_links)
                }
                all => format!("; {all} links of accounts left out: --links restores them"),
            };
            context
                .output
                .say(format!("{} imported, {known} were there already{links}", count.new));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn room_name(&self) -> String {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        self.room.clone().or(stem).unwrap_or_else(|| "import".to_owned())
    }

    async fn store(
        &self,
        store: &dyn Store,
        identity: AgentIdentity,
        past: Past,
        bar: &Bar,
    ) -> Result<Count> {
        let own: Vec<RemoteId> = self.own.iter().map(RemoteId::new).collect();
        let mut count = Count { read: past.messages.len(), ..Count::default() };
        if self.dry_run {
            return Ok(count);
        }
        let history = History::of(store, identity, past.source, &own, &SystemClock).await?;
        let mut done = 0;
        for some in past.messages.chunks(STEP) {
            count.new += history.store(some).await?;
            done += some.len();
            bar.show(done, count.read);
        }
        Ok(count)
    }
}

/// Formats of files.
pub(super) enum Format {
    Galatea,
    Log,
    ElizaOs,
    Platform(Past),
}

/// Recognises a file by its beginning.
fn recognise(path: &Path) -> Result<Format> {
    recognise_in(&mut File::open(path).map_err(|e| unreadable(path, &e.to_string()))?, path)
}

/// The same for any reader; `path` names it in errors.
pub(super) fn recognise_in(file: &mut (impl Read + Seek), path: &Path) -> Result<Format> {
    let mut head = String::new();
    BufReader::new(file.by_ref().take(LINE)).read_line(&mut head).ok();
    let first: Option<Value> = serde_json::from_str(head.trim()).ok();
    match first.as_ref().map(|line| (line.get("record"), line.get("text"))) {
        Some((Some(_), _)) => return Ok(Format::Galatea),
        Some((None, Some(_))) => return Ok(Format::Log),
        _ => {}
    }
    file.rewind().map_err(|e| unreadable(path, &e.to_string()))?;
    let mut start = vec![0; 4096];
    let read = file.read(&mut start).unwrap_or(0);
    let start = String::from_utf8_lossy(start.get(..read).unwrap_or_default()).into_owned();
    if past::elizaos::is_dump(&start) {
        return Ok(Format::ElizaOs);
    }
    if start.trim_start().starts_with(['{', '[']) {
        file.rewind().map_err(|e| unreadable(path, &e.to_string()))?;
        let mut text = Vec::new();
        let bytes = file.by_ref().take(WHOLE + 1).read_to_end(&mut text);
        let size = bytes.map_err(|e| unreadable(path, &e.to_string()))?;
        if size as u64 > WHOLE {
            return Err(
                unreadable(path, "it is larger than 1 GiB; export fewer chats at once").into()
            );
        }
        let value: Value = serde_json::from_slice(&text).map_err(|e| {
            unreadable(
                path,
                &format!("line {}, column {}: it is not valid JSON", e.line(), e.column()),
            )
        })?;
        for platform in PLATFORMS {
            if let Some(messages) = (platform.read_export)(&value) {
                let source = platform.source.clone();
                return Ok(Format::Platform(Past { source, messages }));
            }
        }
    }
    Err(unreadable(path, "its format is unknown").into())
}

/// Where a file cannot be read, and what can be.
pub(super) fn unreadable(path: &Path, cause: &str) -> Error {
    Error::invalid("this file cannot be imported")
        .with_code("GAL-MEMORY-IMPORT")
        .with("where", path.display().to_string())
        .with("cause", cause)
        .with_fix("give an export of `galatea memory export`, a chat log (one JSON object with time, speaker and text a line), the JSON export of Telegram Desktop or of DiscordChatExporter, or a dump of elizaOS's database made by `pg_dump`")
}

/// The error for a line that is malformed JSON or lacks a field.
pub(super) fn misread(path: &Path, number: usize, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    // The parser counts from the beginning of the line.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    unreadable(path, &format!("line {number}, column {}: {message}", error.column()))
}

/// A bar on a terminal; nothing elsewhere.
pub(super) struct Bar(Option<cliclack::ProgressBar>);

impl Bar {
    fn new(context: &Context, json: bool) -> Self {
        use std::io::IsTerminal as _;
        let shown = !json && std::io::stderr().is_terminal() && context.may_ask();
        Self(shown.then(|| {
            let bar = cliclack::progress_bar(100);
            bar.start("importing");
            bar
        }))
    }

    /// Shows how far it has come.
    pub(super) fn show(&self, done: usize, of: usize) {
        if let Some(bar) = &self.0 {
            bar.set_position((done * 100 / of.max(1)) as u64);
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.stop("read");
        }
    }
}

/// The lines of a file with their numbers, from 1; lines without text are passed over.
///
/// # Errors
/// For a line that is too long or is not UTF-8.
pub(super) fn lines(path: &Path) -> Result<impl Iterator<Item = Result<(usize, String)>> + use<>> {
    let file = File::open(path).map_err(|e| unreadable(path, &e.to_string()))?;
    Ok(lines_in(BufReader::new(file), path))
}

/// The same for any reader; `path` names it in errors.
pub(super) fn lines_in<R: BufRead>(
    mut reader: R,
    path: &Path,
) -> impl Iterator<Item = Result<(usize, String)>> + use<R> {
    let path = path.to_owned();
    let mut number = 0;
    let next = move || {
        number += 1;
        let mut line = Vec::new();
        match (&mut reader).take(LINE).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(read) if read as u64 == LINE => {
                Some(Err(unreadable(&path, &format!("line {number} is longer than 16 MiB")).into()))
            }
            Ok(_) => Some(match String::from_utf8(line) {
                Ok(line) => Ok((number, line)),
                Err(_) => {
                    Err(unreadable(&path, &format!("line {number} is not UTF-8 text")).into())
                }
            }),
            Err(e) => Some(Err(unreadable(&path, &e.to_string()).into())),
        }
    };
    let is_text = |line: &Result<(usize, String)>| {
        line.as_ref().map_or(true, |(_, text)| !text.trim().is_empty())
    };
    std::iter::from_fn(next).filter(is_text)
}

/// The number of the last line with text, to show how far an import has come.
pub(super) fn last(lines: impl Iterator<Item = Result<(usize, String)>>) -> usize {
    lines.flatten().last().map_or(0, |(number, _)| number)
}

/// One line of Galatea's own export.
pub(super) fn record(path: &Path, number: usize, line: &str) -> Result<Record> {
    Ok(serde_json::from_str(line).map_err(|e| misread(path, number, &e))?)
}
