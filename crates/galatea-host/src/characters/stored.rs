//! Settings and characters of the database: read at the start, and put in among the others.

use galatea_core::{
    AgentId, Character, Clock, Error, ExposeSecret as _, Result, Settings, Store,
    redact::Redactor,
    settings::{Layer, Origin, Setting},
    store::{CharacterVersion, StoredSetting},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use super::personas::{self, Persona};
use crate::{config::Configuration, storage::seal::Seal};

/// Who is named for a version that was read from a file.
const FILE: &str = "the file";
/// Tries to store a version while other processes store theirs.
const TRIES: usize = 5;

/// Name of the row of a setting, which its sealed value is bound to.
pub(crate) fn row(agent: Option<AgentId>, name: &str) -> String {
    let agent = agent.map(|agent| agent.to_string()).unwrap_or_default();
    format!("setting:{agent}:{name}")
}

/// The settings of the database as layers: of all agents, and of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredLayers {
    pub(crate) all: Layer,
    pub(crate) own: BTreeMap<AgentId, Layer>,
}

impl StoredLayers {
    /// Opens what is sealed. A secret that cannot be opened is left out with a warning: another value of
    /// it may still count.
    fn of(stored: Vec<StoredSetting>, seal: Option<&Seal>, redactor: &Redactor) -> Self {
        let mut layers = Self::default();
        for setting in stored {
            let StoredSetting { agent, name, value, sealed, .. } = setting;
            let value = if let Some(seal) = seal.filter(|_| sealed) {
                match seal.unseal(&row(agent, &name), &value) {
                    Ok(secret) => {
                        redactor.learn(secret.expose_secret());
                        secret.expose_secret().to_owned()
                    }
                    Err(error) => {
                        tracing::warn!(setting = name, error = %error.report(), "a stored secret is not used");
                        continue;
                    }
                }
            } else {
                value
            };
            let layer = match agent {
                Some(agent) => layers.own.entry(agent).or_default(),
                None => &mut layers.all,
            };
            layer.insert(name, Setting { value: value.into(), origin: Origin::Stored });
        }
        layers
    }

    /// Reads them. The key of the settings or of the data folder opens what is sealed.
    ///
    /// # Errors
    /// Those of the store, and a key that cannot be read.
    pub(crate) async fn read(
        store: &dyn Store,
        settings: &Settings,
        data_dir: &Path,
        redactor: &Redactor,
    ) -> Result<Self> {
        let stored = store.stored_settings().await?;
        // A key is made with the first secret.
        let seal = match stored.iter().any(|setting| setting.sealed) {
            true => Some(Seal::open(settings, data_dir)?),
            false => None,
        };
        Ok(Self::of(stored, seal.as_ref(), redactor))
    }

    /// An agent's settings with them: its own before all others, those of all agents behind the
    /// environment and before `.env`. `shared` is the number of layers that all agents have (environment,
    /// files).
    pub(crate) fn put_into(&self, settings: &Settings, agent: AgentId, shared: usize) -> Settings {
        let is_stored =
            |layer: &Layer| layer.values().any(|setting| setting.origin == Origin::Stored);
        let mut layers: Vec<Layer> =
            settings.layers().iter().filter(|layer| !is_stored(layer)).cloned().collect();
        let behind_environment = (layers.len() + 1).saturating_sub(shared.max(1));
        layers.insert(behind_environment.min(layers.len()), self.all.clone());
        layers.insert(0, self.own.get(&agent).cloned().unwrap_or_default());
        layers.retain(|layer| !layer.is_empty());
        Settings::new(layers)
    }
}

/// Digest of a character as its file has it, without secrets.
pub(crate) fn digest(character: &Character) -> String {
    let text = serde_json::to_string(character).unwrap_or_default();
    Sha256::digest(text.as_bytes()).iter().take(16).fold(String::new(), |mut digest, byte| {
        let _ = write!(digest, "{byte:02x}");
        digest
    })
}

/// A version as a character. What is secret comes from `from`: a version contains none.
///
/// # Errors
/// `Invalid` for a version that another version of the program stored.
pub(crate) fn character_of(
    version: &CharacterVersion,
    from: Option<&Character>,
) -> Result<Character> {
    let text = version.body.to_string();
    let loaded = galatea_core::character::load("character.json", &text).map_err(Error::from)?;
    let mut character = loaded.character;
    if let Some(from) = from {
        character.secrets = from.secrets.clone();
        character.settings_secrets = from.settings_secrets.clone();
        keep_secrets(&mut character.settings, &from.settings);
    }
    Ok(character)
}

/// Takes over settings that a version leaves out because their names say secret.
fn keep_secrets(to: &mut serde_json::Map<String, Value>, from: &serde_json::Map<String, Value>) {
    for (name, value) in from {
        match (to.get_mut(name), value) {
            (Some(Value::Object(to)), Value::Object(from)) => keep_secrets(to, from),
            (None, Value::String(_)) if crate::config::looks_secret(name) => {
                to.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
}

/// The characters of a start: the files', unless one was edited since; and those that operators created.
pub(crate) struct Started {
    pub(crate) personas: Vec<Persona>,
    /// For people: which character is another one than its file's.
    pub(crate) remarks: BTreeMap<AgentId, String>,
}

/// Compares the characters of files with what is stored, and adds the agents that operators created.
///
/// # Errors
/// Those of the store.
pub(crate) async fn start(
    store: &dyn Store,
    clock: &dyn Clock,
    personas: Vec<Persona>,
    configuration: Option<(&Configuration, &Path)>,
) -> Result<Started> {
    let mut started = Started { personas: Vec::new(), remarks: BTreeMap::new() };
    for mut persona in personas {
        let id = persona.character.identity().id();
        let (character, remark) = decide(store, clock, id, &persona).await?;
        if let Some(character) = character {
            persona.character = character;
        }
        started.remarks.extend(remark.map(|remark| (id, remark)));
        started.personas.push(persona);
    }
    let Some((configuration, folder)) = configuration else { return Ok(started) };
    for id in store.created_agents().await? {
        if started.personas.iter().any(|known| known.character.identity().id() == id) {
            continue;
        }
        let Some(version) = store.character_versions(id, None, 1).await?.pop() else { continue };
        match created(&version, configuration, folder) {
            Ok(persona) => started.personas.push(persona),
            Err(error) => {
                tracing::warn!(agent = %id, error = %error.report(), "an agent that an operator created is not started");
            }
        }
    }
    Ok(started)
}

/// An agent that an operator created.
///
/// # Errors
/// `Invalid` for a version that cannot be read.
pub(crate) fn created(
    version: &CharacterVersion,
    configuration: &Configuration,
    folder: &Path,
) -> Result<Persona> {
    let character = character_of(version, None)?;
    personas::of_character(character, configuration, folder).map_err(Error::from)
}

/// The edited character, if it counts, and a remark for people. The file wins unless the character was
/// edited after the file was read last, and the file stayed as it was since.
async fn decide(
    store: &dyn Store,
    clock: &dyn Clock,
    id: AgentId,
    persona: &Persona,
) -> Result<(Option<Character>, Option<String>)> {
    let name = &persona.character.name;
    let here = digest(&persona.character);
    let body = serde_json::to_value(&persona.character)
        .map_err(|error| Error::unexpected("a character is not JSON").with_source(error))?;
    for _ in 0..TRIES {
        let newest = store.character_versions(id, None, 1).await?.pop();
        let edited = newest.as_ref().filter(|newest| !newest.from_file);
        match (&newest, edited) {
            (Some(newest), None) if newest.file.as_deref() == Some(&here) => {
                return Ok((None, None));
            }
            (_, Some(edit)) if edit.file.as_deref() == Some(&here) => {
                let character = character_of(edit, Some(&persona.character))?;
                let remark = format!(
                    "{name} runs as {} edited it (version {}), not as its file says; `galatea character diff` shows the difference",
                    edit.by, edit.version
                );
                return Ok((Some(character), Some(remark)));
            }
            _ => {}
        }
        let version = CharacterVersion {
            agent: id,
            version: newest.as_ref().map_or(1, |newest| newest.version + 1),
            at: clock.now(),
            by: FILE.to_owned(),
            from_file: true,
            file: Some(here.clone()),
            body: body.clone(),
        };
        if store.add_character_version(&version).await? {
            let remark = edited.map(|edit| {
                format!(
                    "the file of {name} was changed after {} edited it, so the file counts; the edit is version {}",
                    edit.by, edit.version
                )
            });
            return Ok((None, remark));
        }
    }
    Ok((None, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{SystemClock, Timestamp};
    use serde_json::json;

    fn persona(bio: &str) -> Persona {
        let text = json!({
            "name": "Ada", "bio": bio,
            "settings": { "OPENAI_API_KEY": "sk-canary", "model": "x" },
            "secrets": { "TOKEN": "canary" },
        });
        let loaded = galatea_core::character::load("ada.json", &text.to_string()).unwrap();
        Persona {
            character: loaded.character,
            file: Some("ada.json".into()),
            working_dir: "/".into(),
            settings: Settings::default(),
            warnings: Vec::new(),
        }
    }

    async fn begun(store: &dyn Store, bio: &str) -> (String, Option<String>) {
        let started = start(store, &SystemClock, vec![persona(bio)], None).await.unwrap();
        let persona = &started.personas[0];
        assert_eq!(persona.character.secrets.get("TOKEN"), Some(&json!("canary")));
        assert_eq!(persona.character.settings.get("OPENAI_API_KEY"), Some(&json!("sk-canary")));
        (persona.character.bio.join(" "), started.remarks.into_values().next())
    }

    #[tokio::test]
    async fn the_file_wins_unless_the_character_was_edited_since() {
        let store = galatea_store::Database::in_memory().await.unwrap().store();
        assert_eq!(begun(&*store, "first").await, ("first".to_owned(), None));
        assert_eq!(begun(&*store, "second").await, ("second".to_owned(), None));
        let id = persona("x").character.identity().id();
        let newest = store.character_versions(id, None, 9).await.unwrap();
        assert_eq!(newest.len(), 2);
        assert!(!newest[0].body.to_string().contains("canary"), "{}", newest[0].body);
        let edit = CharacterVersion {
            version: 3,
            at: Timestamp(1),
            by: "jo".to_owned(),
            from_file: false,
            body: json!({ "name": "Ada", "bio": ["edited"], "settings": { "model": "x" } }),
            ..newest[0].clone()
        };
        assert!(store.add_character_version(&edit).await.unwrap());
        let (bio, remark) = begun(&*store, "second").await;
        assert_eq!(bio, "edited");
        assert!(remark.unwrap().contains("jo edited it (version 3)"));
        let (bio, remark) = begun(&*store, "third").await;
        assert_eq!(bio, "third");
        assert!(remark.unwrap().contains("the edit is version 3"));
        assert_eq!(begun(&*store, "third").await, ("third".to_owned(), None));
        assert_eq!(store.character_versions(id, None, 9).await.unwrap().len(), 4);
    }

    #[test]
    fn stored_settings_stand_behind_the_environment_and_before_the_files() {
        let agent = persona("x").character.identity().id();
        let layer = |name: &str, value: &str, origin: Origin| {
            Layer::from([(name.to_owned(), Setting { value: value.into(), origin })])
        };
        let file = || Origin::File { path: ".env".into(), line: 1 };
        let shared = vec![layer("A", "environment", Origin::Environment), {
            let mut files = layer("A", "file", file());
            files.extend(layer("B", "file", file()));
            files.extend(layer("C", "file", file()));
            files
        }];
        let settings =
            Settings::new([vec![layer("C", "character", Origin::Environment)], shared].concat());
        let mut stored = StoredLayers::default();
        for name in ["A", "B", "C"] {
            stored.all.extend(layer(name, "stored", Origin::Stored));
        }
        let text = |settings: &Settings, name: &str| settings.raw(name).unwrap().text();
        let with = stored.put_into(&settings, agent, 2);
        let found = ["A", "B", "C"].map(|name| text(&with, name));
        assert_eq!(found, ["environment", "stored", "character"]);
        stored.own.insert(agent, layer("C", "own", Origin::Stored));
        let with = stored.put_into(&with, agent, 2);
        let found = ["A", "B", "C"].map(|name| text(&with, name));
        assert_eq!(found, ["environment", "stored", "own"]);
        let without = StoredLayers::default().put_into(&with, agent, 2);
        assert_eq!(without.layers().len(), settings.layers().len());
    }
}
