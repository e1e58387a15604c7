//! Agents that operators create: they have no file, and are there after a restart.

use galatea_core::{
    AgentId, Error, ErrorKind, Result,
    store::{CharacterVersion, OperatorRole},
};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    Operator, Ops,
    characters::{read, secrets_of},
    settings,
};
use crate::{
    agents::factory::{PersonaFactory, forget},
    characters::stored::created,
};

impl Ops {
    /// Creates an agent of a character, and starts it. It has no file, and is there after a restart.
    ///
    /// # Errors
    /// `Conflict` (`GAL-CHAR-SAME`) if there is an agent of this id, `Invalid` with the places of faults.
    pub async fn create_agent(&self, by: &Operator, body: &Value) -> Result<AgentId> {
        by.need(OperatorRole::Owner)?;
        let installation = self.installation()?;
        let persona = read(installation, body)?;
        let id = persona.character.identity().id();
        let same = || {
            Error::new(ErrorKind::Conflict, "there is an agent with the id of this character")
                .with_code("GAL-CHAR-SAME")
                .with_fix("give it another name, or an `id` of its own")
        };
        if installation.factories.read().contains_key(&id) {
            return Err(same());
        }
        let secrets = secrets_of(&persona.character);
        let newest = self.store.character_versions(id, None, 1).await?.pop();
        let version = CharacterVersion {
            agent: id,
            version: newest.map_or(1, |newest| newest.version + 1),
            at: self.clock.now(),
            by: by.name.clone(),
            from_file: false,
            file: None,
            body: serde_json::to_value(&persona.character)
                .map_err(|error| Error::unexpected("a character is not JSON").with_source(error))?,
        };
        let configuration = &installation.configuration;
        let mut persona = created(&version, configuration, &installation.working_dir)?;
        let mut layers = self.stored_layers(installation).await?;
        for (name, value) in &secrets {
            settings::put(&mut layers, Some(id), name, Some(value));
        }
        let shared = configuration.settings.layers().len();
        persona.settings = layers.put_into(&persona.settings, id, shared);
        settings::check(installation, &persona)?;
        let factory = PersonaFactory::new(Arc::clone(&installation.surroundings), persona, None);
        let orchestrator = self.running()?;
        orchestrator.create_agent_by(Arc::clone(&factory) as _).await?;
        if !self.store.add_character_version(&version).await? {
            orchestrator.remove_agent(id).await?;
            forget(&installation.surroundings, id);
            return Err(same());
        }
        self.store.set_created(id, true).await?;
        installation.factories.write().insert(id, factory);
        let after = json!({ "name": version.body.get("name"), "version": version.version });
        self.record(by, "agent.create", id, None, Some(after)).await?;
        for (name, value) in secrets {
            self.set_setting(by, Some(id), &name, Some(&value)).await?;
        }
        orchestrator.start_agent(id)?;
        Ok(id)
    }

    /// Stops an agent that an operator created, and does not start it any more. What it remembers and the
    /// versions of its character stay.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Conflict` (`GAL-AGENT-FILE`) for one of a file.
    pub async fn remove_agent(&self, by: &Operator, id: AgentId) -> Result<()> {
        by.need(OperatorRole::Owner)?;
        let installation = self.installation()?;
        installation.persona(id)?;
        if !self.store.created_agents().await?.contains(&id) {
            return Err(Error::new(ErrorKind::Conflict, "the agent is one of a character file")
                .with_code("GAL-AGENT-FILE")
                .with_fix("stop it here, or take its file out of CHARACTER_FILES"));
        }
        self.store.set_created(id, false).await?;
        self.running()?.remove_agent(id).await?;
        forget(&installation.surroundings, id);
        installation.factories.write().remove(&id);
        self.record(by, "agent.remove", id, None, None).await
    }
}
