//! `memory import`: stores what a file contains, with a progress bar on terminals, and names what it
//! leaves out.

use clap::Args;
use galatea_core::{
    AgentIdentity, Archive, Clock, Incoming, IncomingEvent, RemoteId, Source, Store, SystemClock,
    Timestamp,
};
use galatea_runtime::history::{History, STEP};
use serde_json::json;
use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use super::{
    format::{Format, recognise},
    input::Input,
    lines::{last, lines},
    past::{
        self,
        log::{Log, SOURCE},
    },
    seen::{Found, Seen},
    select,
    skipped::Skipped,
};
use crate::{cli::flags::Json, connectors::Past, context::Context, failure::Result};

/// What to read.
#[derive(Debug, Clone, Args)]
pub(crate) struct Import {
    /// The file; `-` is standard input
    file: PathBuf,
    /// The agent; needed if several have run here
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Name of the room of a chat log; its file's name when unset
    #[arg(long, value_name = "NAME")]
    room: Option<String>,
    /// What the agent itself is called in the file, or its platform id there; repeatable
    #[arg(long = "own", value_name = "NAME", allow_hyphen_values = true)]
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

/// How many could be read, how many of them were new, and what was left out.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) read: usize,
    pub(super) new: usize,
    /// The same of links of accounts.
    pub(super) links: usize,
    pub(super) new_links: usize,
    pub(super) skipped: Skipped,
    /// What a platform's connector does not store either, such as service messages.
    left_out: BTreeMap<&'static str, usize>,
}

impl Count {
    /// Takes back a row that counts as read, since the store refused it: refused is not what was there
    /// already.
    pub(super) fn refuse(&mut self, line: usize, cause: &str) {
        self.read = self.read.saturating_sub(1);
        self.skipped.line(line, cause);
    }

    /// How much was left out by what it is, for the summary.
    fn left_out(&self) -> String {
        let parts: Vec<String> =
            self.left_out.iter().map(|(what, count)| format!("{what} ({count})")).collect();
        if parts.is_empty() { String::new() } else { format!("; left out: {}", parts.join(", ")) }
    }
}

impl Import {
    pub(super) async fn run(&self, store: &dyn Store, context: &Context) -> Result<ExitCode> {
        let (agent, name) = select::agent(store, self.agent.as_deref()).await?;
        // An id is its own text.
        let identity = AgentIdentity::new(Some(&agent.to_string()), "");
        let bar = Bar::new(context, self.json.json);
        let now = SystemClock.now();
        let file = Input::open(&self.file)?;
        let (format, count) = match recognise(&file)? {
            Format::Galatea => {
                ("galatea", past::galatea::import(store, agent, &file, self, &bar).await?)
            }
            Format::ElizaOs => {
                ("elizaos", past::elizaos::import(store, agent, &file, self.dry_run, &bar).await?)
            }
            Format::Log => {
                let own: Vec<String> = self.own.iter().cloned().chain([name.clone()]).collect();
                let room = self.room_name(&file);
                let total = last(lines(&file));
                let mut log = Log::of(lines(&file), room, own, now);
                let new = self.store(store, identity, SOURCE, &mut log, total, &bar).await?;
                ("log", Count { new, ..log.count })
            }
            Format::Platform(history) => {
                let Past { source, archive } = history;
                let (messages, count) = unique(archive, now);
                let total = messages.len();
                let messages = messages.into_iter();
                let new = self.store(store, identity, source, messages, total, &bar).await?;
                ("platform", Count { new, ..count })
            }
        };
        bar.end();
        if self.json.json {
            context.output.json(
                "galatea.memory.import/1",
                json!({
                    "agent": name, "format": format, "read": count.read, "new": count.new,
                    "links": { "read": count.links, "new": count.new_links }, "stored": !self.dry_run,
                    "skipped": count.skipped.json(), "leftOut": count.left_out,
                }),
            );
        } else if self.dry_run {
            let left_out = count.left_out();
            context
                .output
                .say(format!("{} messages or memories can be read{left_out}", count.read));
        } else {
            let known = count.read - count.new.min(count.read);
            let links = match count.links {
                0 => String::new(),
                all if self.links => {
                    format!("; {} of {all} links of accounts are new", count.new_links)
                }
                all => format!("; {all} links of accounts left out: --links restores them"),
            };
            context.output.say(format!(
                "{} imported, {known} were there already{links}{}",
                count.new,
                count.left_out()
            ));
        }
        count.skipped.failure(&self.file).map_or(Ok(ExitCode::SUCCESS), Err)
    }

    fn room_name(&self, file: &Input) -> String {
        self.room.clone().or_else(|| file.stem()).unwrap_or_else(|| "import".to_owned())
    }

    /// Reads messages, of which there are about `total`, and stores them; how many were new.
    async fn store(
        &self,
        store: &dyn Store,
        identity: AgentIdentity,
        source: Source,
        mut messages: impl Iterator<Item = Incoming>,
        total: usize,
        bar: &Bar,
    ) -> Result<usize> {
        if self.dry_run {
            messages.for_each(drop);
            return Ok(0);
        }
        let own: Vec<RemoteId> = self.own.iter().map(RemoteId::new).collect();
        let history = History::of(store, identity, source, &own, &SystemClock).await?;
        let (mut new, mut done) = (0, 0);
        loop {
            let some: Vec<Incoming> = messages.by_ref().take(STEP).collect();
            if some.is_empty() {
                return Ok(new);
            }
            new += history.store(&some).await?;
            done += some.len();
            bar.show(done, total);
        }
    }
}

/// The messages with different ids and possible times. A message that comes again as it is counts as
/// read; another one with the id of an earlier one is left out.
fn unique(archive: Archive, now: Timestamp) -> (Vec<Incoming>, Count) {
    let Archive { mut messages, skipped, left_out } = archive;
    let mut count = Count { left_out, ..Count::default() };
    skipped.iter().for_each(|what| count.skipped.add(what));
    let mut seen = Seen::new();
    messages.retain(|incoming| {
        let IncomingEvent::Message(message) = &incoming.event else { return true };
        if let Err(cause) = past::moment::check(incoming.at, now) {
            count.skipped.add(&format!("message {}: {cause}", message.id));
            return false;
        }
        let room = &incoming.connection.room.remote;
        let author = incoming.connection.entity.as_ref().map(|entity| entity.remote.clone());
        let files: Vec<_> = message.content.attachments.iter().map(|file| &file.title).collect();
        let content = (&message.content.text, files, incoming.at, author);
        match seen.add((room.clone(), message.id.clone()), (), content) {
            Found::New => count.read += 1,
            Found::Same => {
                count.read += 1;
                return false;
            }
            Found::Taken(()) => {
                let what = format!("message {}: another message has this id", message.id);
                count.skipped.add(&what);
                return false;
            }
        }
        true
    });
    (messages, count)
}

/// A bar on a terminal; nothing elsewhere.
#[derive(Default)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    /// Messages of Telegram's export: ids, times and texts.
    fn telegram(messages: &[(i64, i64, &str)]) -> Archive {
        let messages: Vec<Value> = messages
            .iter()
            .map(|(id, at, text)| json!({ "id": id, "type": "message", "date_unixtime": at.to_string(), "from_id": "user7", "text": text }))
            .collect();
        let export = json!({ "type": "personal_chat", "id": 7, "messages": messages });
        galatea_telegram::read_export(&export).unwrap()
    }

    #[test]
    fn a_message_that_comes_twice_is_counted_and_another_of_its_id_named() {
        let (a, b, c) = (1_700_000_005, 1_700_000_006, 1_700_000_007);
        let export = telegram(&[(1, a, "ha"), (1, a, "ha"), (1, b, "ho"), (2, c, "hi")]);
        let (messages, count) = unique(export, NOW);
        assert_eq!((messages.len(), count.read, count.skipped.count()), (2, 3, 1));
        let named = count.skipped.json()["first"][0].to_string();
        assert!(named.contains("export:7:1"), "{named}");
    }

    #[test]
    fn a_message_with_an_impossible_time_is_named() {
        let times = [1_700_000_000, 99_999_999_999_999, 1_700_000_000_000, 5, i64::MAX];
        let messages: Vec<_> = (1..).zip(times).map(|(id, at)| (id, at, "ha")).collect();
        let (messages, count) = unique(telegram(&messages), NOW);
        assert_eq!((messages.len(), count.read, count.skipped.count()), (1, 1, 4));
        let named = count.skipped.json().to_string();
        for cause in ["export:7:2: its time is", "in the future", "another one", "before 1990"] {
            assert!(named.contains(cause), "{cause}: {named}");
        }
    }

    #[test]
    fn what_is_left_out_is_counted_by_what_it_is() {
        let messages = [
            json!({ "id": 1, "type": "service" }),
            json!({ "id": 2, "type": "service" }),
            json!({ "id": 3, "type": "message", "text": "" }),
        ];
        let export = json!({ "type": "personal_chat", "id": 7, "messages": messages });
        let (_, count) = unique(galatea_telegram::read_export(&export).unwrap(), NOW);
        assert_eq!(
            count.left_out(),
            "; left out: messages without content (1), service messages (2)"
        );
        assert_eq!(Count::default().left_out(), "");
    }
}
