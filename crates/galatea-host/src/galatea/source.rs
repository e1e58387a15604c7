//! The character of an agent, in any of the forms that a program may have it in.

use galatea_core::{Character, Result};
use std::path::{Path, PathBuf};

use crate::{
    characters::personas::{self, Persona},
    config::Configuration,
};

/// The character of an agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AgentSource {
    /// A character file: JSON, TOML, or a picture with a character card. A relative path starts at
    /// the folder of the settings. [`Agent::update`](super::Agent::update) reads it again.
    File(PathBuf),
    /// JSON text of a character, in any form that elizaOS has had.
    Json(String),
    /// A character that the program made itself.
    Character(Box<Character>),
    /// A character with the settings it sees.
    Persona(Box<Persona>),
}

impl AgentSource {
    /// JSON text of a character.
    pub fn json(text: impl Into<String>) -> Self {
        Self::Json(text.into())
    }

    /// Reads the character and the settings it sees.
    pub(super) fn read(&self, configuration: &Configuration, folder: &Path) -> Result<Persona> {
        Ok(match self {
            Self::File(file) => personas::one(file, configuration, folder)?,
            Self::Json(text) => personas::of_text("character.json", text, configuration, folder)?,
            Self::Character(character) => {
                personas::of_character((**character).clone(), configuration, folder)?
            }
            Self::Persona(persona) => (**persona).clone(),
        })
    }
}

impl From<&str> for AgentSource {
    fn from(file: &str) -> Self {
        Self::File(file.into())
    }
}

impl From<&Path> for AgentSource {
    fn from(file: &Path) -> Self {
        Self::File(file.into())
    }
}

impl From<PathBuf> for AgentSource {
    fn from(file: PathBuf) -> Self {
        Self::File(file)
    }
}

impl From<Character> for AgentSource {
    fn from(character: Character) -> Self {
        Self::Character(Box::new(character))
    }
}

impl From<serde_json::Value> for AgentSource {
    fn from(value: serde_json::Value) -> Self {
        Self::Json(value.to_string())
    }
}

impl From<Persona> for AgentSource {
    fn from(persona: Persona) -> Self {
        Self::Persona(Box::new(persona))
    }
}
