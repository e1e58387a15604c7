//! The documents of each agent: its library, made from its character, its settings and the store.

use galatea_core::{Clock, EmbeddingModel, Result, Store, store::PluginCache};
use galatea_http::HttpClient;
use galatea_knowledge::{Library, LibraryParts, NAME, Parser, configured, of_character};
use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::characters::personas::Persona;

/// What the libraries of all agents share.
#[derive(Clone)]
pub struct Shared {
    store: Arc<dyn Store>,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    parser: Parser,
}

impl Shared {
    /// `parser` is the program that parses a document in a child process. It calls
    /// [`galatea_knowledge::sandbox::requested`] first.
    pub fn new(
        store: Arc<dyn Store>,
        http: HttpClient,
        clock: Arc<dyn Clock>,
        parser: PathBuf,
    ) -> Self {
        Self { store, http, clock, parser: Parser::new(parser) }
    }

    /// The library of an agent, and the pause between two looks for changed documents.
    ///
    /// # Errors
    /// `Invalid` with the place of a setting that cannot be read.
    pub fn library(
        &self,
        persona: &Persona,
        embedding: Option<Arc<dyn EmbeddingModel>>,
    ) -> Result<(Library, Duration)> {
        let (more, hosts, every) = configured(&persona.settings, &persona.working_dir)?;
        let mut sources = of_character(&persona.character, &persona.folder());
        sources.extend(more);
        let identity = persona.character.identity();
        let library = Library::new(LibraryParts {
            cache: PluginCache::new(Arc::clone(&self.store) as _, identity.id(), NAME),
            identity,
            sources,
            store: Arc::clone(&self.store) as _,
            usage: Arc::clone(&self.store) as _,
            embedding,
            parser: self.parser.clone(),
            http: self.http.clone(),
            hosts,
            clock: Arc::clone(&self.clock),
        });
        Ok((library, every))
    }
}
