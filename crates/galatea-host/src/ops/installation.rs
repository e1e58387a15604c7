//! What operations need of the process besides its store and its agents: settings, characters, and
//! the folders of both.

use galatea_core::{AgentId, Error, ErrorKind, Result};
use parking_lot::RwLock;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Ops;
use crate::{
    agents::{boot::Booted, factory::PersonaFactory, surroundings::Surroundings},
    characters::personas::Persona,
    config::Configuration,
};

/// The settings, the characters and the folders of a process that runs agents.
pub struct Installation {
    pub(crate) configuration: Configuration,
    pub(crate) working_dir: PathBuf,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) factories: RwLock<BTreeMap<AgentId, Arc<PersonaFactory>>>,
}

impl Installation {
    /// Of a process that was booted with this configuration. Relative paths begin at `working_dir`.
    pub fn new(booted: &Booted, configuration: &Configuration, working_dir: &Path) -> Arc<Self> {
        let factories = booted.factories.iter();
        let factories = factories
            .map(|factory| (factory.persona().character.identity().id(), Arc::clone(factory)));
        Arc::new(Self {
            configuration: configuration.clone(),
            working_dir: working_dir.to_owned(),
            surroundings: Arc::clone(&booted.opened.surroundings),
            factories: RwLock::new(factories.collect()),
        })
    }

    /// The characters of this process with their settings, by id.
    pub(crate) fn personas(&self) -> Vec<(AgentId, Persona)> {
        let factories = self.factories.read();
        factories.iter().map(|(id, factory)| (*id, factory.persona())).collect()
    }

    /// The character of an agent with its settings.
    pub(crate) fn persona(&self, id: AgentId) -> Result<Persona> {
        let persona = self.factories.read().get(&id).map(|factory| factory.persona());
        persona.ok_or_else(|| super::agents::no_agent(id))
    }
}

impl Ops {
    /// With the settings and characters of the process.
    #[must_use]
    pub fn with_installation(mut self, installation: Arc<Installation>) -> Self {
        self.installation = Some(installation);
        self
    }

    pub(super) fn installation(&self) -> Result<&Arc<Installation>> {
        self.installation
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, "no agents run in this process"))
    }
}
