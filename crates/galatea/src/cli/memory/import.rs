//! `memory import`: stores what a file contains, with a progress bar on terminals, and names what it
//! leaves out.

use clap::Args;
use galatea_core::{AgentId, RemoteId, Skew, Source, Store, visible::one_line};
use galatea_import::{Count, Format, Input, Place, PlatformReader, Skipped, recognise};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{bar::Bar, own, select};
use crate::{
    cli::flags::Json,
    context::Context,
    report::Report,
    report::exit::Exit,
    report::failure::{Failure, Result},
};
use galatea_host::{
    characters::personas::{self, Persona},
    platforms::{PLATFORMS, Platform},
    storage::data_dir::DataDir,
    storage::database::{self, Database},
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
    links: bool,
    /// Restore memories too that people or you deleted here after the export
    #[arg(long)]
    deleted: bool,
    /// Read and count, and store nothing
    #[arg(long)]
    dry_run: bool,
    /// The character file of the agent, if it has not been started here yet
    #[arg(short, long = "character", value_name = "FILE")]
    characters: Vec<PathBuf>,
    #[command(flatten)]
    json: Json,
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
        let bar = Bar::new(context, self.json.json);
        let file = Input::open(&self.file)?;
        let reader = |platform: &Platform| PlatformReader {
            source: platform.source.clone(),
            read: platform.read_export,
        };
        let readers: Vec<PlatformReader> = PLATFORMS.iter().map(reader).collect();
        let format = recognise(&file, &readers)?;
        self.check(&format)?;
        let place = match format {
            Format::Log => Some(self.place(store, agent, &file).await?),
            _ => None,
        };
        let note = place.as_ref().and_then(Place::note);
        // Settings that cannot be read configure no account.
        let accounts = |source: &Source| -> Vec<RemoteId> {
            own::configured(agent, source, context).unwrap_or_default()
        };
        let format_name = format.name();
        let import = galatea_import::Import {
            store,
            agent,
            name: &name,
            own: &self.own,
            accounts: &accounts,
            place,
            links: self.links,
            deleted: self.deleted,
            dry_run: self.dry_run,
            progress: &|done, of| bar.show(done, of),
        };
        let count = import.run(&file, format).await?;
        bar.end();
        if self.json.json {
            let skipped = json!({ "count": count.skipped.count(), "first": count.skipped.first() });
            context.output.json(
                "galatea.memory.import/1",
                json!({
                    "agent": name, "format": format_name, "read": count.read,
                    // Without storing it, what is new is unknown.
                    "new": (!self.dry_run).then_some(count.new),
                    "differing": (!self.dry_run).then_some(count.differing),
                    "deleted": (!self.dry_run).then_some(count.deleted),
                    "documents": count.documents, "unattributed": count.unattributed,
                    "links": { "read": count.links, "new": count.new_links },
                    "tasks": { "read": count.tasks, "new": count.new_tasks },
                    "stored": !self.dry_run, "skipped": skipped, "leftOut": count.left_out,
                }),
            );
        } else {
            context.output.say(if self.dry_run {
                format!("{} messages or memories can be read{}", count.read, left_out(&count))
            } else {
                summary(&count, self.links)
            });
            for note in note.into_iter().chain(notes(&count, &name)) {
                context.output.say(note);
            }
        }
        failure(&count.skipped, &self.file).map_or(Ok(ExitCode::SUCCESS), Err)
    }

    /// The Room of a chat log. A name that no Room has becomes a Room of its own.
    async fn place(&self, store: &dyn Store, agent: AgentId, file: &Input) -> Result<Place> {
        let Some(asked) = self.room.as_deref().map(str::trim) else {
            return Ok(Place::of_file(file));
        };
        if asked.is_empty() {
            return Err(Failure::usage(
                "--room is empty",
                "give the name or the id of a room, or leave --room out: then the file's name is \
                 the room's",
            ));
        }
        let rooms = select::rooms(store, agent).await?;
        let stored = select::named(&rooms, asked)?;
        Ok(stored.map_or_else(|| Place::named(asked), Place::stored))
    }

    /// Refuses options that mean nothing for a file of this format.
    fn check(&self, format: &Format) -> Result<()> {
        let refused = match format {
            Format::Galatea => self.room.as_ref().map(|_| "--room"),
            Format::Log => self.links.then_some("--links"),
            Format::ElizaOs | Format::Platform { .. } => {
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
}

/// The summary in one line. `links`: whether links of accounts were imported, too.
fn summary(count: &Count, links: bool) -> String {
    let known = count.read.saturating_sub(count.new + count.deleted);
    let deleted = match count.deleted {
        0 => String::new(),
        1 => ", 1 was deleted here before: --deleted restores it".to_owned(),
        all => format!(", {all} were deleted here before: --deleted restores them"),
    };
    let differing = match count.differing {
        0 => String::new(),
        1 => "; 1 differs from what is stored and was left as it is".to_owned(),
        some => format!("; {some} differ from what is stored and were left as they are"),
    };
    let links = match count.links {
        0 => String::new(),
        all if links => format!("; {} of {all} links of accounts are new", count.new_links),
        all => format!("; {all} links of accounts left out: --links restores them"),
    };
    let tasks = match count.new_tasks {
        0 => String::new(),
        new => format!("; {new} tasks are new, and run once `galatea task run` starts them"),
    };
    let left_out = left_out(count);
    format!(
        "{} imported, {known} were there already{deleted}{differing}{links}{tasks}{left_out}",
        count.new
    )
}

/// How much was left out by what it is.
fn left_out(count: &Count) -> String {
    let parts: Vec<String> =
        count.left_out.iter().map(|(what, count)| format!("{what} ({count})")).collect();
    if parts.is_empty() { String::new() } else { format!("; left out: {}", parts.join(", ")) }
}

/// The error that names the places that were left out; `None` if there are none.
fn failure(skipped: &Skipped, path: &Path) -> Option<Failure> {
    let count = skipped.count();
    if count == 0 {
        return None;
    }
    let mut places = skipped.first().join("\n");
    if count > skipped.first().len() {
        places.push_str(&format!("\nand {} more", count - skipped.first().len()));
    }
    let message = match count {
        1 => "one entry of this file was left out; the others were read".to_owned(),
        count => format!("{count} entries of this file were left out; the others were read"),
    };
    let report = Report::error(message)
        .code("GAL-MEMORY-SKIPPED")
        .cause(places)
        .line("where", path.display().to_string())
        .fix(
            "correct what is named, or export it again, and repeat the import: what is stored is \
             not stored twice",
        );
    Some(Failure::new(vec![report], Exit::Failure))
}

/// What the operator has to know or do after an import.
fn notes(count: &Count, agent: &str) -> Vec<String> {
    let mut notes = Vec::new();
    match count.documents {
        0 => {}
        1 => notes.push(
            "1 document: add its file with `galatea knowledge add`, or the agent does not find it"
                .to_owned(),
        ),
        all => notes.push(format!(
            "{all} documents: add their files with `galatea knowledge add`, or the agent does not \
             find them"
        )),
    }
    if count.unattributed > 0 {
        let facts = match count.unattributed {
            1 => "1 fact is".to_owned(),
            all => format!("{all} facts are"),
        };
        notes.push(format!(
            "{facts} about no person, since none is named at the beginning: people cannot see or \
             delete such facts; `galatea memory ls --kind facts --person \"{agent}\"` lists them, \
             and `galatea memory rm` removes them"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted_by_what_it_is() {
        let left_out_here = [("service messages", 2), ("messages without content", 1)];
        let count = Count { left_out: left_out_here.into(), ..Count::default() };
        assert_eq!(
            left_out(&count),
            "; left out: messages without content (1), service messages (2)"
        );
        assert_eq!(left_out(&Count::default()), "");
        assert!(failure(&Count::default().skipped, Path::new("a.jsonl")).is_none());
    }
}
