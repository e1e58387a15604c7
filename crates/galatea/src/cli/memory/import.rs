//! `memory import`: stores what a file contains, with a progress bar on terminals, and names what it
//! leaves out.

use clap::Args;
use galatea_core::{
    AgentIdentity, Archive, Clock, Incoming, IncomingEvent, RemoteId, Skew, Source, Store,
    SystemClock, Timestamp, visible::one_line,
};
use galatea_runtime::history::{History, STEP, Stored};
use serde_json::json;
use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use super::{
    bar::Bar,
    format::{Format, recognise},
    input::Input,
    lines::{last, lines},
    own,
    past::{
        self,
        log::{Log, SOURCE, speakers},
    },
    place::Place,
    seen::{Found, Seen},
    select,
    skipped::Skipped,
};
use crate::{
    cli::flags::Json,
    connectors::Past,
    context::Context,
    data_dir::DataDir,
    database::{self, Database},
    failure::{Failure, Result},
    personas::{self, Persona},
};

/// What to read.
#[derive(Debug, Clone, Args)]
pub(crate) struct Import {
    /// The file; `-` is standard input
    file: PathBuf,
    /// The agent; needed if several have run here
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The room of a chat log: the id or name of one that exists, or a name for a new one; its file's
    /// name when unset
    // Telegram's ids of groups begin with a hyphen.
    #[arg(long, value_name = "ROOM", allow_hyphen_values = true)]
    room: Option<String>,
    /// What the agent itself is called in a chat log or an export of a platform, or its platform id
    /// there; repeatable. The accounts that are configured here are known without it
    #[arg(long = "own", value_name = "NAME", allow_hyphen_values = true)]
    own: Vec<String>,
    /// Restore links of accounts too, also those that people ended after the export
    #[arg(long)]
    pub(super) links: bool,
    /// Restore memories too that people or you deleted here after the export
    #[arg(long)]
    pub(super) deleted: bool,
    /// Read and count, and store nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The character file of the agent, if it has not been started here yet
    #[arg(short, long = "character", value_name = "FILE")]
    characters: Vec<PathBuf>,
    #[command(flatten)]
    json: Json,
}

/// How many could be read, how many of them were new, and what was left out.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) read: usize,
    pub(super) new: usize,
    /// How many were stored already, with another text.
    pub(super) differing: usize,
    /// The same of links of accounts.
    pub(super) links: usize,
    pub(super) new_links: usize,
    /// Memories that were deleted here before, and are left out.
    pub(super) deleted: usize,
    /// Documents of a dump, which the agent does not find: their files have to be added.
    pub(super) documents: usize,
    /// Facts about no person, which people can neither see nor delete.
    pub(super) unattributed: usize,
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

    /// The counts with those of the stored messages.
    fn with(self, stored: Stored) -> Self {
        let Stored { new, differing, deleted } = stored;
        Self { new, differing, deleted, ..self }
    }

    /// The summary in one line. `links`: whether links of accounts were imported, too.
    fn summary(&self, links: bool) -> String {
        let known = self.read.saturating_sub(self.new + self.deleted);
        let deleted = match self.deleted {
            0 => String::new(),
            1 => ", 1 was deleted here before: --deleted restores it".to_owned(),
            all => format!(", {all} were deleted here before: --deleted restores them"),
        };
        let differing = match self.differing {
            0 => String::new(),
            1 => "; 1 differs from what is stored and was left as it is".to_owned(),
            some => format!("; {some} differ from what is stored and were left as they are"),
        };
        let links = match self.links {
            0 => String::new(),
            all if links => format!("; {} of {all} links of accounts are new", self.new_links),
            all => format!("; {all} links of accounts left out: --links restores them"),
        };
        let left_out = self.left_out();
        format!(
            "{} imported, {known} were there already{deleted}{differing}{links}{left_out}",
            self.new
        )
    }

    /// How much was left out by what it is, for the summary.
    fn left_out(&self) -> String {
        let parts: Vec<String> =
            self.left_out.iter().map(|(what, count)| format!("{what} ({count})")).collect();
        if parts.is_empty() { String::new() } else { format!("; left out: {}", parts.join(", ")) }
    }
}

impl Import {
    /// Opens the database. Before the first start it is made, with the agents that are configured
    /// here, so that an import may come first. A dry run makes nothing.
    ///
    /// # Errors
    /// Those of [`database::open`], and of characters that cannot be read.
    pub(super) async fn database(&self, context: &Context, data_dir: &DataDir) -> Result<Database> {
        let configuration = context.configuration()?;
        let settings = &configuration.settings;
        // A file that is missing makes no database. A pipe can be read once only, so it is not
        // opened here.
        if self.file.as_os_str() != "-" && self.file.metadata().is_err() {
            Input::open(&self.file)?;
        }
        let database = match database::open_beside(settings, data_dir).await {
            Err(error) if error.code() == Some("GAL-DATA-NONE") && self.dry_run => {
                Database::in_memory().await?
            }
            Err(error) if error.code() == Some("GAL-DATA-NONE") => {
                data_dir.create()?;
                let redactor = &context.output.redactor;
                database::open(settings, data_dir, &Skew::default(), redactor).await?.0
            }
            opened => opened?,
        };
        let store = database.store();
        if !self.characters.is_empty() || store.agents().await?.is_empty() {
            let personas = personas::load(&self.characters, configuration, &context.working_dir)?;
            for Persona { character, .. } in personas {
                store.save_agent(character.identity().id(), &character).await?;
                if !self.dry_run && !self.json.json {
                    let name = one_line(&character.name);
                    context.output.say(format!("{name} has not run here yet and is stored now"));
                }
            }
        }
        Ok(database)
    }

    pub(super) async fn run(&self, store: &dyn Store, context: &Context) -> Result<ExitCode> {
        let (agent, name) = select::agent(store, self.agent.as_deref()).await?;
        // An id is its own text.
        let identity = AgentIdentity::new(Some(&agent.to_string()), "");
        let bar = Bar::new(context, self.json.json);
        let now = SystemClock.now();
        let file = Input::open(&self.file)?;
        let format = recognise(&file)?;
        self.check(&format)?;
        let mut note = None;
        let (format, count) = match format {
            Format::Galatea => {
                own::refuse(&self.own)?;
                ("galatea", past::galatea::import(store, agent, &file, self, &bar).await?)
            }
            Format::ElizaOs => {
                own::refuse(&self.own)?;
                ("elizaos", past::elizaos::import(store, agent, &file, self, &bar).await?)
            }
            Format::Log => {
                let own = own::own_speakers(&speakers(lines(&file)), &self.own, &name)?;
                let place = Place::of(store, agent, self.room.as_deref(), &file).await?;
                note = place.note();
                let total = last(lines(&file));
                let mut log = Log::of(lines(&file), place.name, own, now);
                let history = self.history(store, identity, SOURCE, Vec::new()).await?;
                let history = history.within(place.room);
                let stored = self.store(history, &mut log, total, &bar).await?;
                ("log", log.count.with(stored))
            }
            Format::Platform(history) => {
                let Past { source, archive } = history;
                let (messages, count) = unique(archive, now);
                let total = messages.len();
                let mut own = own::resolve(&own::authors(&messages), &self.own)?;
                own.extend(own::known(store, agent, &source, context).await?);
                let messages = messages.into_iter();
                let history = self.history(store, identity, source, own).await?;
                let stored = self.store(history, messages, total, &bar).await?;
                ("platform", count.with(stored))
            }
        };
        bar.end();
        if self.json.json {
            context.output.json(
                "galatea.memory.import/1",
                json!({
                    "agent": name, "format": format, "read": count.read,
                    // Without storing it, what is new is unknown.
                    "new": (!self.dry_run).then_some(count.new),
                    "differing": (!self.dry_run).then_some(count.differing),
                    "deleted": (!self.dry_run).then_some(count.deleted),
                    "documents": count.documents, "unattributed": count.unattributed,
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
            context.output.say(count.summary(self.links));
        }
        if !self.json.json {
            for note in note.into_iter().chain(notes(&count, &name)) {
                context.output.say(note);
            }
        }
        count.skipped.failure(&self.file).map_or(Ok(ExitCode::SUCCESS), Err)
    }

    /// Refuses options that mean nothing for a file of this format.
    fn check(&self, format: &Format) -> Result<()> {
        let refused = match format {
            Format::Galatea => self.room.as_ref().map(|_| "--room"),
            Format::Log => self.links.then_some("--links"),
            Format::ElizaOs | Format::Platform(_) => {
                self.room.as_ref().map(|_| "--room").or(self.links.then_some("--links"))
            }
        };
        let Some(option) = refused else { return Ok(()) };
        let only = match option {
            "--room" => "a chat log, which names no room; any other file names its rooms itself",
            _ => "an export of `galatea memory export`; no other file has links of accounts",
        };
        Err(Failure::usage(
            format!("{option} cannot be used with this file"),
            format!("leave {option} out: it is for {only}"),
        ))
    }

    /// For messages of this platform, on which the agent has these ids itself.
    async fn history<'a>(
        &self,
        store: &'a dyn Store,
        identity: AgentIdentity,
        source: Source,
        own: Vec<RemoteId>,
    ) -> Result<History<'a>> {
        Ok(History::of(store, identity, source, &own, &SystemClock).await?)
    }

    /// Reads messages, of which there are about `total`, and stores them.
    async fn store(
        &self,
        mut history: History<'_>,
        mut messages: impl Iterator<Item = Incoming>,
        total: usize,
        bar: &Bar,
    ) -> Result<Stored> {
        let mut all = Stored::default();
        if self.dry_run {
            messages.for_each(drop);
            return Ok(all);
        }
        let mut done = 0;
        loop {
            let some: Vec<Incoming> = messages.by_ref().take(STEP).collect();
            if some.is_empty() {
                return Ok(all);
            }
            let stored = history.store(&some, self.deleted).await?;
            all.new += stored.new;
            all.differing += stored.differing;
            all.deleted += stored.deleted;
            done += some.len();
            bar.show(done, total);
        }
    }
}

/// What the operator has to know or do after an import.
fn notes(count: &Count, agent: &str) -> Vec<String> {
    let mut notes = Vec::new();
    match count.documents {
        0 => {}
        1 => notes.push("1 document: add its file with `galatea knowledge add`, or the agent does not find it".to_owned()),
        all => notes.push(format!("{all} documents: add their files with `galatea knowledge add`, or the agent does not find them")),
    }
    if count.unattributed > 0 {
        let facts = match count.unattributed {
            1 => "1 fact is".to_owned(),
            all => format!("{all} facts are"),
        };
        notes.push(format!(
            "{facts} about no person, since none is named at the beginning: people cannot see or delete such facts; `galatea memory ls --kind facts --person \"{agent}\"` lists them, and `galatea memory rm` removes them"
        ));
    }
    notes
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
