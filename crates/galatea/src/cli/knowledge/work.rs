//! What the verbs do.

use galatea_core::{Clock, Error, ErrorKind, Skew, Store, SystemClock};
use galatea_http::{HttpClient, HttpOptions};
use galatea_knowledge::{
    Library, Meanings, Origin, Place, Questions, Source, Step, Stored, is_relevant, search,
    shared_agent,
};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use super::show;
use crate::{
    context::Context,
    data_dir::DataDir,
    database::{self, Database},
    exit::Exit,
    failure::Result,
    library::Shared,
    personas, plugins,
    report::hang,
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
        let (database, _) =
            database::open(&configuration.settings, &data_dir, &Skew::default()).await?;
        let store = database.store();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let http = HttpClient::new(HttpOptions::default())?;
        let shared = Shared::new(Arc::clone(&store), http.clone(), Arc::clone(&clock));
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
        let mut added = agent.library.added().await?;
        for text in places {
            let place = Place::of(text, &context.working_dir);
            let place = match place {
                Place::Path(path) => Place::Path(path.canonicalize().map_err(|error| {
                    Error::not_found("there is no such file or folder")
                        .with_code("GAL-KNOW-READ")
                        .with("cause", error)
                        .with("where", text)
                        .with_fix("check the path")
                })?),
                other => other,
            };
            added.retain(|known| known.place != place);
            added.push(Source { place, shared, origin: Origin::Added });
        }
        agent.library.set_added(&added).await?;
        self.sync(context, json).await
    }

    pub(super) async fn sync(&self, context: &Context, json: bool) -> Result<ExitCode> {
        let (mut lines, mut problems) = (Vec::new(), 0);
        for agent in &self.agents {
            let progress = show::Progress::new(context, json);
            let synced = agent.library.sync(&|step: Step| progress.step(&step)).await?;
            progress.done();
            problems += synced.problems.len();
            lines.push(show::synced_json(&agent.name, &synced));
            if !json {
                show::synced(context, &agent.name, self.agents.len() > 1, &synced);
            }
        }
        if json {
            context.output.json("galatea.knowledge.sync/1", json!({ "agents": lines }));
        }
        Ok(if problems == 0 { ExitCode::SUCCESS } else { Exit::Findings.into() })
    }

    pub(super) async fn list(&self, context: &Context, json: bool) -> Result<ExitCode> {
        let mut all = Vec::new();
        for agent in &self.agents {
            for document in agent.library.documents().await? {
                if json {
                    all.push(show::document_json(&agent.name, &document));
                } else {
                    let name = (self.agents.len() > 1).then_some(agent.name.as_str());
                    context.output.row(10, &show::line(name, &document, &context.working_dir));
                }
                if let (false, Some(problem)) = (json, &document.record.problem) {
                    for line in show::problem(problem) {
                        let line = hang(show::BELOW, &line, context.output.style);
                        context.output.data(format!("{:1$}{line}", "", show::BELOW));
                    }
                }
            }
        }
        if json {
            context.output.json("galatea.knowledge/1", json!({ "documents": all }));
        }
        Ok(ExitCode::SUCCESS)
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
        let (agent, document) = self.find(context, name).await?;
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
        let mut removed = Vec::new();
        for name in names {
            let (agent, document) = self.find(context, name).await?;
            let mut added = agent.library.added().await?;
            let key = Path::new(&document.record.key);
            let is_source = |source: &Source| match &source.place {
                Place::Path(path) => path == key,
                Place::Url(url) => *url == document.record.key,
                Place::Lines(_) => false,
            };
            if !added.iter().any(is_source) {
                let fix = if document.record.origin == Origin::Added {
                    "it is part of a folder that was added: remove the file, or the whole folder with `galatea knowledge rm FOLDER`"
                } else {
                    "remove it from `knowledge` in the character file, or from KNOWLEDGE_PATH"
                };
                return Err(Error::new(ErrorKind::Conflict, "the document would be read again")
                    .with_code("GAL-KNOW-NAMED")
                    .with("where", &document.record.key)
                    .with_fix(fix)
                    .into());
            }
            added.retain(|source| !is_source(source));
            agent.library.set_added(&added).await?;
            agent.library.remove(&document).await?;
            removed.push(document.record.key);
        }
        if json {
            context.output.json("galatea.knowledge.rm/1", json!({ "removed": removed }));
        } else {
            removed.iter().for_each(|key| context.output.say(format!("removed {key}")));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn find(&self, context: &Context, name: &str) -> Result<(&Agent, Stored)> {
        let path = context.working_dir.join(name);
        let path = path.canonicalize().unwrap_or(path).display().to_string();
        let mut named = Vec::new();
        for agent in &self.agents {
            for document in agent.library.documents().await? {
                let record = &document.record;
                let ends = record.key.ends_with(&format!("/{name}"));
                let id = name.len() >= 8 && document.id.to_string().starts_with(name);
                if record.key == name || record.key == path || id || ends {
                    named.push((agent, document));
                }
            }
        }
        match (named.len(), named.pop()) {
            (1, Some(found)) => Ok(found),
            (0, _) | (_, None) => Err(Error::not_found("there is no such document")
                .with_code("GAL-KNOW-UNKNOWN")
                .with("asked for", name)
                .with_fix("`galatea knowledge ls` lists all documents with their ids")
                .into()),
            _ => Err(Error::invalid("this names more than one document")
                .with_code("GAL-KNOW-UNKNOWN")
                .with("asked for", name)
                .with_fix("give the whole path or the id")
                .into()),
        }
    }

    fn plugin_store(&self) -> Arc<dyn galatea_core::store::PluginStore> {
        Arc::clone(&self.store) as _
    }
}
