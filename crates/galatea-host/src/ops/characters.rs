//! Characters with their versions, and agents that operators create.

use galatea_core::{
    AgentId, Character, Error, ErrorKind, Result,
    character::{self, Difference},
    store::{CharacterVersion, OperatorRole},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

use super::{Installation, Operator, Ops, agents::no_agent, settings};
use crate::{
    AgentSource, Galatea, Platforms,
    characters::{
        personas::{self, Persona},
        stored::character_of,
    },
};

/// Longest wait for the answer of a character that is tried.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest text that a character is tried with, in characters.
const TRIED: usize = 4_000;

/// A character as it is now.
#[derive(Debug, Clone)]
pub struct CurrentCharacter {
    /// Its newest version.
    pub version: CharacterVersion,
    /// Path of its file; none for an agent that an operator created.
    pub file: Option<String>,
    /// It is another one than its file's.
    pub edited: bool,
}

/// A remark about a character: where, and what.
#[derive(Debug, Clone)]
pub struct Remark {
    /// Stable code.
    pub code: &'static str,
    /// The character is refused for it.
    pub refused: bool,
    /// Line, from 1; 0 for the whole.
    pub line: usize,
    /// What is wrong.
    pub text: String,
    /// What to do.
    pub help: Option<String>,
}

impl Ops {
    /// The character of an agent as it is now.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent.
    pub async fn character(&self, by: &Operator, id: AgentId) -> Result<CurrentCharacter> {
        by.need(OperatorRole::Viewer)?;
        let newest = self.store.character_versions(id, None, 1).await?.pop();
        let version = newest.ok_or_else(|| no_agent(id))?;
        let persona = self.installation().and_then(|found| found.persona(id)).ok();
        let file = persona.and_then(|persona| persona.file);
        Ok(CurrentCharacter {
            edited: !version.from_file && version.file.is_some(),
            file: file.map(|file| file.display().to_string()),
            version,
        })
    }

    /// Versions of a character before a number, newest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn character_versions(
        &self,
        by: &Operator,
        id: AgentId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<CharacterVersion>> {
        by.need(OperatorRole::Viewer)?;
        self.store.character_versions(id, before, limit).await
    }

    async fn version(&self, id: AgentId, number: i64) -> Result<CharacterVersion> {
        let before = number.checked_add(1);
        let found = self.store.character_versions(id, before, 1).await?.pop();
        found
            .filter(|found| found.version == number)
            .ok_or_else(|| Error::not_found("the character has no such version"))
    }

    /// Changes of a character from a version to a later one; to the newest without one.
    ///
    /// # Errors
    /// `NotFound` for an unknown version.
    pub async fn character_diff(
        &self,
        by: &Operator,
        id: AgentId,
        from: i64,
        to: Option<i64>,
    ) -> Result<Vec<Difference>> {
        by.need(OperatorRole::Viewer)?;
        let to = match to {
            Some(to) => self.version(id, to).await?,
            None => self.character(by, id).await?.version,
        };
        let (from, to) =
            (character_of(&self.version(id, from).await?, None)?, character_of(&to, None)?);
        Ok(character::diff(&from, &to))
    }

    /// Changes from a character's file to its newest version, with the version's number and author. None
    /// for an agent that has not run yet.
    ///
    /// # Errors
    /// `Invalid` for a version that cannot be read.
    pub async fn file_difference(
        &self,
        by: &Operator,
        id: AgentId,
        file: &Character,
    ) -> Result<Option<(i64, String, Vec<Difference>)>> {
        by.need(OperatorRole::Viewer)?;
        let Some(newest) = self.store.character_versions(id, None, 1).await?.pop() else {
            return Ok(None);
        };
        let stored = character_of(&newest, Some(file))?;
        Ok(Some((newest.version, newest.by, character::diff(file, &stored))))
    }

    /// What is wrong with a character, and what is remarkable.
    ///
    /// # Errors
    /// `Forbidden` for nobody who may read.
    pub fn validate_character(&self, by: &Operator, text: &str) -> Result<Vec<Remark>> {
        by.need(OperatorRole::Viewer)?;
        let (refused, found) = match character::load("character.json", text) {
            Ok(loaded) => (false, loaded.warnings),
            Err(refused) => (true, refused.diagnostics),
        };
        Ok(found
            .into_iter()
            .map(|one| Remark {
                code: one.code,
                refused: refused && one.severity == galatea_core::Severity::Error,
                line: one.line,
                text: one.message,
                help: one.help,
            })
            .collect())
    }

    /// Asks a character that is not saved: an agent of it runs in memory, connects nothing, and is gone
    /// after its answer.
    ///
    /// # Errors
    /// `Invalid` for a character that cannot be used, and the failure of its model.
    pub async fn preview(
        &self,
        by: &Operator,
        id: Option<AgentId>,
        body: &Value,
        text: &str,
    ) -> Result<String> {
        by.need(OperatorRole::Operator)?;
        let installation = self.installation()?;
        if text.trim().is_empty() || text.chars().count() > TRIED {
            return Err(Error::invalid(format!("a text to try has 1 to {TRIED} characters")));
        }
        let mut persona = read(installation, body)?;
        if let Some(id) = id {
            let known = installation.persona(id)?;
            persona.character.secrets = known.character.secrets;
            persona.settings = known.settings;
        }
        // Documents and servers would be read and started for one answer.
        persona.character.knowledge.clear();
        persona.character.settings.shift_remove("mcp");
        let galatea = Galatea::builder()
            .folder(&installation.working_dir)
            .configuration(installation.configuration.clone())
            .database("sqlite::memory:")
            .platforms(Platforms::None)
            .build()
            .await?;
        let answer = async {
            let agent = galatea.add_agent(AgentSource::from(persona)).ephemeral().start().await?;
            agent.ask("preview", text).await
        };
        let answer = timeout(PATIENCE, answer).await;
        galatea.shutdown(Duration::from_secs(1)).await;
        answer.map_err(|_| Error::new(ErrorKind::Timeout, "the model did not answer in time"))?
    }

    /// Saves a character as its next version; its agent takes it over at once, or is made anew. Secrets
    /// of the text are sealed apart, and those that it leaves out stay.
    ///
    /// # Errors
    /// `Conflict` (`GAL-CHAR-CHANGED`) if `seen` is not the newest version, `Invalid` with the places of
    /// faults; nothing has changed then.
    pub async fn save_character(
        &self,
        by: &Operator,
        id: AgentId,
        seen: Option<i64>,
        body: &Value,
    ) -> Result<CurrentCharacter> {
        by.need_on(OperatorRole::Operator, id)?;
        let installation = self.installation()?;
        let before = installation.persona(id)?;
        let current = self.character(by, id).await?;
        if seen.is_some_and(|seen| seen != current.version.version) {
            return Err(changed(&current.version));
        }
        let mut after = read(installation, body)?;
        if after.character.id.is_none() {
            after.character.id.clone_from(&before.character.id);
        }
        if after.character.identity().id() != id {
            // The id of an agent without one follows from its name, which may change.
            after.character.id = Some(id.to_string());
        }
        let secrets = secrets_of(&after.character);
        after.character.secrets = before.character.secrets.clone();
        after.character.settings_secrets = before.character.settings_secrets.clone();
        self.adopt(by, installation, id, before, after.character, &current.version, secrets).await
    }

    /// Saves an older version as the newest one.
    ///
    /// # Errors
    /// As [`Ops::save_character`]; `NotFound` for an unknown version.
    pub async fn revert_character(
        &self,
        by: &Operator,
        id: AgentId,
        number: i64,
    ) -> Result<CurrentCharacter> {
        by.need_on(OperatorRole::Operator, id)?;
        let installation = self.installation()?;
        let before = installation.persona(id)?;
        let current = self.character(by, id).await?;
        let older = self.version(id, number).await?;
        let mut after = character_of(&older, Some(&before.character))?;
        if after.identity().id() != id {
            after.id = Some(id.to_string());
        }
        self.adopt(by, installation, id, before, after, &current.version, Vec::new()).await
    }

    #[expect(clippy::too_many_arguments, reason = "each is another part of one change")]
    async fn adopt(
        &self,
        by: &Operator,
        installation: &Installation,
        id: AgentId,
        before: Persona,
        after: Character,
        newest: &CharacterVersion,
        secrets: Vec<(String, String)>,
    ) -> Result<CurrentCharacter> {
        let body = serde_json::to_value(&after)
            .map_err(|error| Error::unexpected("a character is not JSON").with_source(error))?;
        let configuration = &installation.configuration;
        let mut settings = configuration.settings_for(&after, before.file.as_deref())?;
        let layers = self.stored_layers(installation).await?;
        settings = layers.put_into(&settings, id, configuration.settings.layers().len());
        let after = Persona { character: after, settings, ..before };
        settings::check(installation, &after)?;
        let version = CharacterVersion {
            agent: id,
            version: newest.version + 1,
            at: self.clock.now(),
            by: by.name.clone(),
            from_file: false,
            file: newest.file.clone(),
            body,
        };
        let factory = installation.factories.read().get(&id).cloned();
        let changes = vec![(factory.ok_or_else(|| no_agent(id))?, after)];
        let former = settings::former(&changes);
        // The agent becomes it first: a character that it cannot become is not stored.
        self.apply_or_undo(changes).await?;
        match self.store.add_character_version(&version).await {
            Ok(true) => {}
            Ok(false) => {
                self.undo(former).await;
                return Err(changed(newest));
            }
            Err(error) => {
                self.undo(former).await;
                return Err(error);
            }
        }
        let differences =
            character::diff(&character_of(newest, None)?, &character_of(&version, None)?);
        let paths: Vec<String> = differences.into_iter().map(|one| one.path).collect();
        let (was, is) = (
            json!({ "version": newest.version }),
            json!({ "version": version.version, "changed": paths }),
        );
        self.record(by, "character.save", id, Some(was), Some(is)).await?;
        for (name, value) in secrets {
            self.set_setting(&owner(by), Some(id), &name, Some(&value)).await?;
        }
        self.character(by, id).await
    }
}

/// The operator with the right to store the secrets of a character that they may save.
fn owner(by: &Operator) -> Operator {
    Operator { role: OperatorRole::Owner, ..by.clone() }
}

fn changed(newest: &CharacterVersion) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("{} saved version {} meanwhile", newest.by, newest.version),
    )
    .with_code("GAL-CHAR-CHANGED")
    .with_fix("look at the changes, and save again")
}

/// Reads a character of a request.
pub(super) fn read(installation: &Installation, body: &Value) -> Result<Persona> {
    let folder = &installation.working_dir;
    let text = body.to_string();
    personas::of_text("character.json", &text, &installation.configuration, folder)
        .map_err(Error::from)
}

/// The secrets in a character that are settings of this program, by name.
pub(super) fn secrets_of(character: &Character) -> Vec<(String, String)> {
    let all = character.settings_secrets.iter().chain(character.secrets.iter());
    all.chain(character.settings.iter().filter(|(name, _)| crate::config::looks_secret(name)))
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .filter(|(name, value)| {
            !value.is_empty() && crate::config::find_variable(name).is_some_and(|v| v.secret)
        })
        .collect()
}
