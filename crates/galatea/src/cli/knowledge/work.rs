//! What the verbs do.

use galatea_core::{Clock, Error, ErrorKind, Skew, Store, SystemClock};
use galatea_http::{HttpClient, HttpOptions};
use galatea_knowledge::{
    Library, Meanings, Origin, Questions, Source, Step, Stored, is_relevant, search, shared_agent,
};
use serde_json::json;
use std::{path::PathBuf, process::ExitCode, sync::Arc};

use super::{
    show,
    target::{self, Name, Target},
};
use crate::{
    context::Context,
    process::executable,
    report::{exit::Exit, failure::Result, output::hang},
};
use galatea_host::{
    agents::{library::Shared, plugins},
    characters::personas,
    storage::{
        data_dir::DataDir,
        database::{self, Database},
    },
};

/// The documents of the configured agents.
pub(super) struct Shelf {
    database: Database,
    store: Arc<dyn Store>,
    agents: Vec<Agent>,
}

struct Agent {
    name: String,
    library: Library,
}

impl Shelf {
    /// Opens the database, and creates it if this is the first command in the folder.
    pub(super) async fn open(context: &Context, files: &[PathBuf]) -> Result<Self> {
        let configuration = context.configuration()?;
        let personas = personas::load(files, configuration, &context.working_dir)?;
        let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
        data_dir.create()?;
        let redactor = &context.output.redactor;
        let (database, _) =
            database::open(&configuration.settings, &data_dir, &Skew::default(), redactor).await?;
        let store = database.store();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let http = HttpClient::new(HttpOptions::default())?;
        let shared =
            Shared::new(Arc::clone(&store), http.clone(), Arc::clone(&clock), executable::path());
        let dependencies = galatea_models::Dependencies::default();
        let mut agents = Vec::new();
        for persona in personas {
            let built =
                galatea_models::build(&persona.settings, &http, Arc::clone(&clock), &dependencies)?;
            let registered = plugins::models(&plugins::standard());
            let models = galatea_models::with_registered(
                built.models,
                &registered,
                &persona.settings,
                &clock,
                &dependencies,
            )?;
            let embedding = models.embedding;
            let (library, _) = shared.library(&persona, embedding)?;
            agents.push(Agent { name: persona.character.name, library });
        }
        Ok(Self { database, store, agents })
    }

    pub(super) async fn close(self) {
        self.database.close().await;
    }

    pub(super) async fn add(
        &self,
        context: &Context,
        places: &[String],
        shared: bool,
        json: bool,
    ) -> Result<ExitCode> {
        let [agent] = self.agents.as_slice() else {
            return Err(Error::new(ErrorKind::Conflict, "several characters are configured")
                .with_code("GAL-KNOW-WHOSE")
                .with_fix("name the one that gets the documents: --character FILE")
                .into());
        };
        // All are looked at before one is stored.
        let sources: Vec<Source> = places
            .iter()
            .map(|text| {
                let place = target::place(text, &context.working_dir)?;
                Ok(Source { place, shared, origin: Origin::Added })
            })
            .collect::<Result<_>>()?;
        agent.library.add(&sources).await?;
        // A script that adds a good document must not fail because of a damaged one that was there
        // before it.
        self.bring(context, json, |key| sources.iter().any(|source| source.has(key))).await
    }

    pub(super) async fn sync(&self, context: &Context, json: bool) -> Result<ExitCode> {
        self.bring(context, json, |_| true).await
    }

    /// Prints the problems of documents that were asked for, which decide about the exit code, and
    /// says how many other documents have some.
    async fn bring(
        &self,
        context: &Context,
        json: bool,
        is_asked_for: impl Fn(&str) -> bool,
    ) -> Result<ExitCode> {
        let (mut lines, mut unembedded) = (Vec::new(), Vec::new());
        let (mut problems, mut others) = (0, 0);
        for agent in &self.agents {
            let progress = show::Progress::new(context, json);
            let mut synced = agent.library.sync(&|step: Step| progress.step(&step)).await?;
            progress.done();
            let all = synced.problems.len();
            synced.problems.retain(|(key, _)| is_asked_for(key));
            problems += synced.problems.len();
            others += all - synced.problems.len();
            if all > synced.problems.len() {
                synced.unread = synced.unread.min(synced.problems.len());
            }
            lines.push(show::synced_json(&agent.name, &synced));
            if !json {
                show::synced(context, &agent.name, self.agents.len() > 1, &synced);
            }
            unembedded.extend(synced.unembedded.map(|error| (&agent.name, error)));
        }
        if json {
            context.output.json("galatea.knowledge.sync/1", json!({ "agents": lines }));
        }
        if others > 0 && !json {
            let have = match others {
                1 => "1 other document has a problem".to_owned(),
                many => format!("{many} other documents have problems"),
            };
            context.output.say(format!("{have}: galatea knowledge ls"));
        }
        for (agent, error) in unembedded.iter().filter(|_| !json) {
            context.output.report(&show::unembedded(agent, error));
        }
        Ok(match unembedded.first() {
            Some((_, error)) => Exit::of(error).into(),
            None if problems == 0 => ExitCode::SUCCESS,
            None => Exit::Findings.into(),
        })
    }

    pub(super) async fn list(&self, context: &Context, json: bool) -> Result<ExitCode> {
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for agent in &self.agents {
            let name = (self.agents.len() > 1).then_some(agent.name.as_str());
            let documents = agent.library.documents().await?;
            let found = agent.library.problems().await?;
            if json {
                all.extend(documents.iter().map(|of| show::document_json(&agent.name, of)));
                problems.extend(show::problems_json(Some(&agent.name), &found));
                continue;
            }
            if documents.is_empty() && found.is_empty() {
                context.output.say(show::nothing(&agent.name));
            }
            for document in &documents {
                context.output.row(show::BELOW, &show::line(name, document, &context.working_dir));
                if let Some(problem) = &document.record.problem {
                    self.below(context, &show::problem(problem));
                }
            }
            for (source, problem) in &found {
                context.output.row(show::BELOW, &show::source(name, source, &context.working_dir));
                self.below(context, &show::problem(problem));
            }
        }
        if json {
            context
                .output
                .json("galatea.knowledge/1", json!({ "documents": all, "problems": problems }));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn below(&self, context: &Context, lines: &[String]) {
        for line in lines {
            let line = hang(show::BELOW, line, context.output.style);
            context.output.data(format!("{:1$}{line}", "", show::BELOW));
        }
    }

    pub(super) async fn search(
        &self,
        context: &Context,
        question: &str,
        limit: usize,
        json: bool,
    ) -> Result<ExitCode> {
        let store = self.plugin_store();
        while !store.index_words().await? {}
        let mut all = Vec::new();
        for agent in &self.agents {
            let asked = agent.library.meanings(&Questions::default(), question).await;
            let Meanings { meanings, note } = asked.unwrap_or_else(|error| Meanings {
                meanings: Vec::new(),
                note: Some(format!("searched by words only: {error}")),
            });
            note.into_iter().for_each(|note| context.output.say(note));
            let agents = [agent.library.agent(), shared_agent()];
            let found = search(&*store, &agents, question, &meanings, limit).await?;
            for (n, found) in found.iter().enumerate() {
                let relevant = is_relevant(found, meanings.first());
                if json {
                    all.push(show::found_json(&agent.name, found, relevant));
                } else {
                    context.output.data(show::found(n + 1, found, relevant));
                }
            }
            if found.is_empty() && !json {
                context.output.say(format!("{} has no document that fits", agent.name));
            }
        }
        if json {
            context.output.json("galatea.knowledge.search/1", json!({ "pieces": all }));
        }
        Ok(ExitCode::SUCCESS)
    }

    pub(super) async fn show(&self, context: &Context, name: &str, json: bool) -> Result<ExitCode> {
        let (agent, document) = self.document(context, name).await?;
        let pieces = agent.library.pieces(&document).await?;
        if json {
            context.output.json("galatea.knowledge.document/1", json!({ "document": show::document_json(&agent.name, &document), "pieces": pieces.iter().map(show::piece_json).collect::<Vec<_>>() }));
        } else {
            context.output.data(show::page(&document, &pieces));
        }
        Ok(ExitCode::SUCCESS)
    }

    pub(super) async fn remove(
        &self,
        context: &Context,
        names: &[String],
        json: bool,
    ) -> Result<ExitCode> {
        // All are looked up before one is removed.
        let mut targets = Vec::new();
        for name in names {
            let (agent, target) = self.target(context, name).await?;
            if let Target::Document(document) = &target
                && let Some(source) = agent.library.source_of(document).await?
            {
                return Err(target::named_elsewhere(document, &source).into());
            }
            let is_known = |(of, known): &(&Agent, Target)| {
                of.library.agent() == agent.library.agent() && *known == target
            };
            if !targets.iter().any(is_known) {
                targets.push((agent, target));
            }
        }
        let (mut removed, mut lines) = (Vec::new(), Vec::new());
        for (agent, target) in targets {
            let count = match &target {
                Target::Source(source) => agent.library.remove_source(source).await?,
                Target::Document(document) => agent.library.remove(document).await.map(|()| 1)?,
            };
            lines.push(show::removed(&target.key(), count));
            removed.push(target.key());
        }
        if json {
            context.output.json("galatea.knowledge.rm/1", json!({ "removed": removed }));
        } else {
            lines.iter().for_each(|line| context.output.say(line));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn document(&self, context: &Context, name: &str) -> Result<(&Agent, Stored)> {
        let name = Name::new(name, &context.working_dir)?;
        let mut found = Found::default();
        for agent in &self.agents {
            let (whole, documents) = name.documents(agent.library.documents().await?);
            found.add(whole, documents.into_iter().map(|document| (agent, document)));
        }
        name.only(found.best())
    }

    async fn target(&self, context: &Context, name: &str) -> Result<(&Agent, Target)> {
        let name = Name::new(name, &context.working_dir)?;
        let mut found = Found::default();
        for agent in &self.agents {
            let (whole, targets) = name.targets(&agent.library).await?;
            found.add(whole, targets.into_iter().map(|target| (agent, target)));
        }
        name.only(found.best())
    }

    fn plugin_store(&self) -> Arc<dyn galatea_core::store::PluginStore> {
        Arc::clone(&self.store) as _
    }
}

/// What has a name, and what has only a part of it.
struct Found<T> {
    whole: Vec<T>,
    part: Vec<T>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self { whole: Vec::new(), part: Vec::new() }
    }
}

impl<T> Found<T> {
    fn add(&mut self, whole: bool, found: impl IntoIterator<Item = T>) {
        if whole { &mut self.whole } else { &mut self.part }.extend(found);
    }

    fn best(self) -> Vec<T> {
        if self.whole.is_empty() { self.part } else { self.whole }
    }
}
