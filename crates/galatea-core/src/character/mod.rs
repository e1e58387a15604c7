//! Character: a persona as written in a character file, with elizaOS's fields.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::ids::AgentIdentity;

/// A persona. Field names are elizaOS's; files of all its versions are read by [`crate::character`]'s loader.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// Free settings; `secrets` inside holds secrets.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// Secrets; never stored in a database, never shown.
    #[serde(skip_serializing)]
    pub secrets: Map<String, Value>,
    /// How it writes.
    pub style: Style,
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
    /// Who this is for id derivation.
    pub fn identity(&self) -> AgentIdentity {
        AgentIdentity::new(self.id.as_deref(), &self.name)
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

fn text_or_list<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match TextOrList::deserialize(deserializer)? {
        TextOrList::Text(text) => vec![text],
        TextOrList::List(list) => list,
    })
}
