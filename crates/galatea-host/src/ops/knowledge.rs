//! Documents of the agents: uploaded in pieces, read by the agent, asked.

use galatea_core::{
    AgentId, Error, ErrorKind, MemoryId, Result,
    store::{OperatorRole, PluginStore},
};
use galatea_knowledge::{
    Library, Origin, Place, Questions, RankedPiece, Source, Stored, is_relevant, search,
    shared_agent,
};
use std::{path::PathBuf, sync::Arc};
use uuid::Uuid;

use super::{Operator, Ops};

/// Most pieces that a question finds.
const FOUND: usize = 20;
/// Folder of uploads in the data folder.
const FOLDER: &str = "documents";

/// How far a document has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentState {
    /// The agent has not begun to read it.
    Queued,
    /// Its pieces are being stored.
    Reading,
    /// The agent finds it.
    Ready,
    /// It cannot be read.
    Failed,
}

/// A document of an agent.
#[derive(Debug, Clone)]
pub struct ListedDocument {
    /// The agent.
    pub agent: AgentId,
    /// Its id; of one that is not read yet, that of its source.
    pub id: Uuid,
    /// Its title, or its file's name.
    pub title: String,
    /// Path or address.
    pub source: String,
    /// Its bytes.
    pub size: u64,
    /// Number of its pieces.
    pub pieces: usize,
    /// How far it has come.
    pub state: DocumentState,
    /// Why it cannot be read: the code, and the words.
    pub problem: Option<(Option<String>, String)>,
    /// Other agents find it.
    pub shared: bool,
    /// It was added, so it can be removed.
    pub added: bool,
}

/// A piece that was found.
#[derive(Debug, Clone)]
pub struct FoundPiece {
    /// The piece and its ranks.
    pub found: RankedPiece,
    /// The model would be shown it.
    pub relevant: bool,
}

impl Ops {
    pub(super) fn library(&self, agent: AgentId, meaning: bool) -> Result<Library> {
        let installation = self.installation()?;
        let persona = installation.persona(agent)?;
        let around = &installation.surroundings;
        let embedding = if meaning { around.configured(&persona)?.models.embedding } else { None };
        Ok(around.documents.library(&persona, embedding)?.0)
    }

    fn library_agents(&self, agent: Option<AgentId>) -> Result<Vec<AgentId>> {
        let all = self.installation()?.personas().into_iter().map(|(id, _)| id);
        Ok(all.filter(|id| agent.is_none_or(|wanted| wanted == *id)).collect())
    }

    /// Documents of this process's agents: those that were read, and those that wait for it.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn documents(
        &self,
        by: &Operator,
        agent: Option<AgentId>,
    ) -> Result<Vec<ListedDocument>> {
        by.need(OperatorRole::Viewer)?;
        let mut listed = Vec::new();
        for agent in self.library_agents(agent)? {
            let library = self.library(agent, false)?;
            let documents = library.documents().await?;
            let added = library.added().await?;
            for source in &added {
                let known = documents.iter().any(|document| source.has(&document.record.key));
                if !known {
                    listed.push(queued(agent, source));
                }
            }
            listed.extend(documents.iter().map(|document| shown(agent, document)));
        }
        Ok(listed)
    }

    /// Removes a document that was added, or an upload that is under way.
    ///
    /// # Errors
    /// `NotFound` for an unknown one, `Conflict` (`GAL-KNOW-SOURCE`) for one that the character or a
    /// setting names.
    pub async fn remove_document(&self, by: &Operator, id: Uuid) -> Result<()> {
        by.need_somewhere(OperatorRole::Operator)?;
        for agent in self.library_agents(None)? {
            if by.need_on(OperatorRole::Operator, agent).is_err() {
                continue;
            }
            let library = self.library(agent, false)?;
            let found = library.documents().await?.into_iter().find(|d| d.id == MemoryId(id));
            let added = library.added().await?;
            let source = match &found {
                Some(document) => library.source_of(document).await?,
                None => added.into_iter().find(|source| queued(agent, source).id == id),
            };
            match (found, source) {
                (_, Some(source)) if source.origin == Origin::Added => {
                    library.remove_source(&source).await?;
                    self.discard(&source);
                }
                (Some(_), Some(_)) => {
                    return Err(Error::new(
                        ErrorKind::Conflict,
                        "the character or KNOWLEDGE_PATH names this document",
                    )
                    .with_code("GAL-KNOW-SOURCE")
                    .with_fix("take it out there"));
                }
                (Some(document), None) => library.remove(&document).await?,
                (None, _) => continue,
            }
            return self.record(by, "knowledge.remove", id, None, None).await;
        }
        let folder = self.uploads()?;
        if std::fs::remove_file(folder.join(format!("{id}.json"))).is_ok() {
            let _ = std::fs::remove_file(folder.join(format!("{id}.part")));
            return Ok(());
        }
        Err(Error::not_found("there is no such document"))
    }

    /// Deletes the file of an upload; a file of another place stays.
    fn discard(&self, source: &Source) {
        let (Place::Path(path), Ok(folder)) = (&source.place, self.uploads()) else { return };
        let Ok(folder) = folder.canonicalize() else { return };
        if let Some(own) = path.parent().filter(|own| own.parent() == Some(&folder)) {
            let _ = std::fs::remove_dir_all(own);
        }
    }

    /// Searches an agent's documents as the agent does.
    ///
    /// # Errors
    /// `Invalid` for an empty question, and failures of the store.
    pub async fn ask_documents(
        &self,
        by: &Operator,
        agent: AgentId,
        question: &str,
        limit: usize,
    ) -> Result<Vec<FoundPiece>> {
        by.need(OperatorRole::Viewer)?;
        if question.trim().is_empty() {
            return Err(Error::invalid("the question has no words"));
        }
        let library = self.library(agent, true)?;
        let store: Arc<dyn PluginStore> = Arc::clone(&self.store) as _;
        // Without an answer of the embedding model it is searched by words.
        let meanings = library
            .meanings(&Questions::default(), question)
            .await
            .map(|meanings| meanings.meanings)
            .unwrap_or_default();
        let agents = [agent, shared_agent()];
        let found = search(&*store, &agents, question, &meanings, limit.clamp(1, FOUND)).await?;
        Ok(found
            .into_iter()
            .map(|found| FoundPiece { relevant: is_relevant(&found, meanings.first()), found })
            .collect())
    }

    pub(super) fn uploads(&self) -> Result<PathBuf> {
        let folder = self.installation()?.surroundings.data_dir.join(FOLDER);
        galatea_core::private_file::create_folder(&folder).map_err(cannot)?;
        Ok(folder)
    }
}

fn queued(agent: AgentId, source: &Source) -> ListedDocument {
    let key = source.key();
    let title = key.rsplit('/').next().unwrap_or(&key).to_owned();
    let size = match &source.place {
        Place::Path(path) => path.metadata().map(|found| found.len()).unwrap_or_default(),
        Place::Lines(_) | Place::Url(_) => 0,
    };
    ListedDocument {
        agent,
        id: galatea_core::ids::uuid_of(&format!("source:{agent}:{key}")),
        title,
        source: key,
        size,
        pieces: 0,
        state: DocumentState::Queued,
        problem: None,
        shared: source.shared,
        added: true,
    }
}

fn shown(agent: AgentId, document: &Stored) -> ListedDocument {
    let record = &document.record;
    let state = match (&record.problem, record.pending.is_empty() && !record.hash.is_empty()) {
        (Some(_), _) => DocumentState::Failed,
        (None, true) => DocumentState::Ready,
        (None, false) => DocumentState::Reading,
    };
    let problem = record.problem.as_ref();
    ListedDocument {
        agent,
        id: document.id.0,
        title: record.title.clone(),
        source: record.key.clone(),
        size: record.size,
        pieces: record.fragments.len(),
        state,
        problem: problem.map(|problem| (problem.code.clone(), problem.message.clone())),
        shared: document.is_shared(),
        added: record.origin == Origin::Added,
    }
}

pub(super) fn cannot(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the upload cannot be stored")
        .with_code("GAL-FILE-WRITE")
        .with_fix("check the permissions and the free space of the data folder")
        .with_source(error)
}
