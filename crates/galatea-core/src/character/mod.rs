//! A persona as written in a character file, with elizaOS's fields.
//!
//! [`load`] reads every generation of elizaOS's files and character cards, [`convert`] writes the present one,
//! [`settings_layers`] puts a character's settings in the order of elizaOS's `getSetting`. Nothing
//! in here touches the disk.

mod card;
mod convert;
mod diagnostic;
mod diff;
mod encrypted;
mod example;
mod examples;
mod fields;
mod foreign;
mod generation;
mod json;
mod keys;
mod knowledge;
mod layers;
mod legacy;
mod lines;
mod load;
mod node;
mod notes;
mod placeholders;
mod plugins;
mod png;
mod read;
mod schema;
mod secrets;
mod snippet;
#[cfg(test)]
mod tests;
mod toml;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt};

use crate::ids::AgentIdentity;

pub use convert::convert;
pub use diagnostic::{CODES, Diagnostic, Explanation, Refused};
pub use diff::{Difference, diff};
pub use encrypted::is_encrypted;
pub use example::template;
pub use generation::Generation;
pub use layers::settings_layers;
pub use lines::{KnownLines, is_address};
pub use load::{Loaded, load, load_bytes};
pub use placeholders::{Names, fill};
pub use schema::{SCHEMA_FILE, is_schema, schema};
pub use secrets::Secrets;

/// Largest character file read, in bytes. Everything in it goes into prompts.
pub const MAX_SIZE: usize = 1024 * 1024;
/// Largest picture with a character card read, in bytes. Of its chunks only the card is kept.
pub const MAX_PICTURE: usize = 16 * 1024 * 1024;
/// Deepest nesting read. elizaOS's own fields need six levels.
const MAX_DEPTH: usize = 64;

/// A persona. Field names are elizaOS's; [`load`] reads files of all its versions.
///
/// `Serialize` leaves every secret out, so that a stored character holds none; `Debug` shows the
/// names of settings, not their values.
///
/// ```
/// use galatea_core::character::load;
///
/// let loaded = load("eliza.json", r#"{ "name": "Eliza", "bio": ["Listens."] }"#)?;
/// assert_eq!(loaded.character.name, "Eliza");
///
/// let refused = load("eliza.json", r#"{ "name": "Eliza" }"#).unwrap_err();
/// assert!(refused.to_string().contains("bio"));
/// # Ok::<(), galatea_core::character::Refused>(())
/// ```
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Character {
    /// Fixes the agent's id; otherwise it follows from the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name, also what people call it in groups.
    pub name: String,
    /// Handle without `@`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// System prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Prompt templates by elizaOS name (`messageHandlerTemplate`, …).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, String>,
    /// Who it is. Text or list of lines.
    #[schemars(with = "TextOrList")]
    #[serde(deserialize_with = "text_or_list")]
    pub bio: Vec<String>,
    /// Example conversations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub message_examples: Vec<Vec<MessageExample>>,
    /// Example posts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_examples: Vec<String>,
    /// What it likes to talk about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    /// Words for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adjectives: Vec<String>,
    /// What it knows: lines, files, folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<Knowledge>,
    /// elizaOS plugin names; those built in here are recognised.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
    /// Free settings by name. What the file has under `settings.secrets` is in
    /// [`Character::settings_secrets`].
    #[serde(skip_serializing_if = "Map::is_empty", serialize_with = "without_secrets")]
    pub settings: Map<String, Value>,
    /// Secrets by name; never stored in a database, never shown.
    #[serde(skip_serializing)]
    #[schemars(with = "BTreeMap<String, Scalar>")]
    pub secrets: Secrets,
    /// The file's `settings.secrets`: the weakest of the three places elizaOS looks in. Filled by
    /// [`load`] only.
    #[serde(skip)]
    pub settings_secrets: Secrets,
    /// How it writes.
    pub style: Style,
    /// Unknown fields, kept so that nothing is lost. Inner ones have dotted names:
    /// `style.shouting`, `messageExamples.0.1.mood`.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// One line of an example conversation. `{{user1}}` and the like stand for anybody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MessageExample {
    /// Speaker (`user` in v0 and v1 files).
    #[serde(alias = "user")]
    pub name: String,
    /// What they say.
    pub content: crate::content::Content,
}

/// A piece of knowledge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Knowledge {
    /// A line of text.
    Text(String),
    /// A file.
    File {
        /// Its path, relative to the character file.
        path: String,
        /// Shared between agents.
        #[serde(default)]
        shared: bool,
    },
    /// A folder.
    Directory {
        /// Its path, relative to the character file.
        #[serde(alias = "dir")]
        directory: String,
        /// Shared between agents.
        #[serde(default)]
        shared: bool,
    },
}

/// How a character writes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Style {
    /// Everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<String>,
    /// In chats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chat: Vec<String>,
    /// In posts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post: Vec<String>,
}

impl Character {
    /// The same without secrets, for code that must not see them.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        Self {
            settings: secrets::open_part(&self.settings),
            secrets: Secrets::default(),
            settings_secrets: Secrets::default(),
            ..self.clone()
        }
    }

    /// Who this is for id derivation.
    pub fn identity(&self) -> AgentIdentity {
        AgentIdentity::new(self.id.as_deref(), &self.name)
    }
}

impl fmt::Debug for Character {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Character")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("username", &self.username)
            .field("system", &self.system)
            .field("templates", &self.templates)
            .field("bio", &self.bio)
            .field("message_examples", &self.message_examples)
            .field("post_examples", &self.post_examples)
            .field("topics", &self.topics)
            .field("adjectives", &self.adjectives)
            .field("knowledge", &self.knowledge)
            .field("plugins", &self.plugins)
            .field("settings", &self.settings.keys().collect::<Vec<_>>())
            .field("secrets", &self.secrets)
            .field("settings_secrets", &self.settings_secrets)
            .field("style", &self.style)
            .field("extra", &self.extra.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

/// What a secret may be in a file.
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes a file's values in the schema; they are held as JSON")]
enum Scalar {
    Text(String),
    Number(f64),
    Switch(bool),
}

fn text_or_list<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    Ok(match TextOrList::deserialize(deserializer)? {
        TextOrList::Text(text) => vec![text],
        TextOrList::List(list) => list,
    })
}

fn without_secrets<S: serde::Serializer>(
    settings: &Map<String, Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    secrets::open_part(settings).serialize(serializer)
}
