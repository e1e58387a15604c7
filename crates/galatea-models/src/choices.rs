//! Chooses the model for each purpose that has no named model, so that the program does not depend
//! on built-in names that become outdated.
//!
//! The provider's list is read in the background, and a start never waits for it. The newest
//! generally available model of a preferred family ([`crate::families`]) is chosen once and stored
//! in a small file in the data folder. The choice changes only when the model disappears from the
//! list, when the provider refuses it as unknown, or on command. The file also keeps what the list
//! says about the models in use (window, longest answer, price).

pub(crate) mod adjusted;
pub(crate) mod adjustment;
mod choose;
mod file;
mod kept;
pub(crate) mod list;

use galatea_core::Result;
use parking_lot::Mutex;
use serde::Serialize;
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use crate::families::{self, Role};
use kept::{ChoicesInner, Chosen, lock};

pub(crate) use choose::closest;
pub(crate) use list::ListedModel;

pub(crate) use self::kept::{Adjusted, Facts, KeptChoices};
pub use self::kept::{Choices, ToolSkill};

/// Most models of a service whose trials are kept.
const MOST_TRIED: usize = 64;
/// Most names of a list kept for suggestions; OpenRouter lists some hundreds.
const MOST_NAMES: usize = 2_000;

/// Condition for choosing again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Only where no model was chosen yet or the chosen one is gone.
    Needed,
    /// Every choice, on command.
    Now,
}

/// A change of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Provider and base address.
    pub service: String,
    /// The model's purpose.
    pub role: Role,
    /// The model chosen before; `None` the first time.
    pub from: Option<String>,
    /// The model chosen now.
    pub to: String,
}

/// A list that was read, with what the choice depends on.
pub(crate) struct ListReading<'a> {
    pub(crate) service: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) list: &'a [ListedModel],
    /// Purposes without a named model.
    pub(crate) open: &'a [Role],
    /// Models in use, chosen or named.
    pub(crate) in_use: &'a [String],
    /// True if any text model may be chosen if no preferred family is listed. True for a
    /// self-hosted server, which has the models its owner installed.
    pub(crate) any: bool,
    pub(crate) today: time::Date,
}

impl Choices {
    /// Opens the choices stored in `path`. A missing or unreadable file counts as empty; its
    /// choices are made again.
    pub fn open(path: PathBuf) -> Self {
        let kept = file::read(&path);
        Self(Arc::new(ChoicesInner {
            path: Some(path),
            kept: Mutex::new(kept),
            seen: Mutex::default(),
        }))
    }

    /// Reads the choices stored in `path` without ever writing the file, for read-only commands.
    pub fn of(path: &std::path::Path) -> Self {
        Self(Arc::new(ChoicesInner {
            path: None,
            kept: Mutex::new(file::read(path)),
            seen: Mutex::default(),
        }))
    }

    /// The model chosen for a purpose and the day of the choice; `None` before a list was read.
    pub(crate) fn chosen(&self, service: &str, role: Role) -> Option<(String, String)> {
        let kept = lock(&self.0.kept);
        let chosen = kept.services.get(service)?.chosen.get(&role)?;
        Some((chosen.model.clone(), chosen.on.clone()))
    }

    /// Facts of the list about a model.
    pub(crate) fn facts(&self, service: &str, model: &str) -> Option<Facts> {
        lock(&self.0.kept).facts(service, model)
    }

    /// Stores windows that a server reported per model, in tokens.
    ///
    /// # Errors
    /// When the file cannot be written; the windows still apply until the process ends.
    pub(crate) fn learn(&self, service: &str, windows: &[(String, Option<u32>)]) -> Result<()> {
        let mut kept = lock(&self.0.kept);
        let before = kept.clone();
        let models = &mut kept.services.entry(service.to_owned()).or_default().models;
        for (model, window) in windows {
            models.entry(model.clone()).or_default().limits.window = *window;
        }
        self.write(&kept, &before)
    }

    fn write(&self, kept: &KeptChoices, before: &KeptChoices) -> Result<()> {
        match &self.0.path {
            Some(path) if kept != before => file::write(path, kept),
            _ => Ok(()),
        }
    }

    /// Result of a trial of a model's tools; `None` before one.
    pub fn tool_skill(&self, service: &str, model: &str) -> Option<ToolSkill> {
        lock(&self.0.kept).services.get(service)?.tools.get(model).cloned()
    }

    /// Stores what a trial has shown.
    ///
    /// # Errors
    /// When the file cannot be written; the result still applies until the process ends.
    pub(crate) fn learn_tools(&self, service: &str, model: &str, skill: ToolSkill) -> Result<()> {
        let mut kept = lock(&self.0.kept);
        let before = kept.clone();
        let tools = &mut kept.services.entry(service.to_owned()).or_default().tools;
        // Names that were tried and are no longer used.
        if tools.len() >= MOST_TRIED && !tools.contains_key(model) {
            tools.pop_first();
        }
        tools.insert(model.to_owned(), skill);
        self.write(&kept, &before)
    }

    /// Similar names for one that the list did not contain when it was last read; `None` if it did,
    /// or was never read.
    pub(crate) fn missing(&self, service: &str, name: &str) -> Option<Vec<String>> {
        lock(&self.0.kept).services.get(service)?.missing.get(name).cloned()
    }

    /// Similar names for one that does not exist, from the list that was last read.
    pub fn like(&self, service: &str, name: &str) -> Vec<String> {
        lock(&self.0.seen).names.get(service).map(|names| closest(name, names)).unwrap_or_default()
    }

    /// Records that the service refused a model as unknown. It then counts as gone, even if it is
    /// listed.
    pub fn refused(&self, service: &str, model: &str) {
        lock(&self.0.seen).refused.insert((service.to_owned(), model.to_owned()));
    }

    /// Processes a list: makes the choices that are needed, and stores what it says about the
    /// models in use.
    ///
    /// # Errors
    /// When the file cannot be written; the choices still apply until the process ends.
    pub(crate) fn apply(&self, reading: &ListReading<'_>, when: When) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        let mut kept = lock(&self.0.kept);
        let before = kept.clone();
        let service = kept.services.entry(reading.service.to_owned()).or_default();
        if when == When::Now {
            service.tools.clear();
        }
        let mut seen = lock(&self.0.seen);
        let usable: Vec<&ListedModel> = reading
            .list
            .iter()
            .filter(|model| !seen.refused.contains(&(reading.service.to_owned(), model.id.clone())))
            .collect();
        for role in reading.open {
            let old = service.chosen.get(role).map(|chosen| chosen.model.clone());
            let is_there =
                old.as_ref().is_some_and(|old| usable.iter().any(|model| model.has_name(old)));
            if is_there && when == When::Needed {
                continue;
            }
            let Some(new) =
                choose::choose(families::known(), reading.provider, *role, &usable, reading.any)
            else {
                continue;
            };
            if old.as_ref() == Some(&new) {
                continue;
            }
            service
                .chosen
                .insert(*role, Chosen { model: new.clone(), on: reading.today.to_string() });
            changes.push(Change {
                service: reading.service.to_owned(),
                role: *role,
                from: old,
                to: new,
            });
        }
        let in_use: BTreeSet<&str> = service
            .chosen
            .values()
            .map(|chosen| chosen.model.as_str())
            .chain(reading.in_use.iter().map(String::as_str))
            .collect();
        service.models = in_use
            .into_iter()
            .filter_map(|name| {
                let listed = reading.list.iter().find(|model| model.has_name(name))?.facts;
                // Ollama's list has no details; those reported per model are kept.
                let facts = if listed == Facts::default() {
                    before.facts(reading.service, name)?
                } else {
                    listed
                };
                Some((name.to_owned(), facts))
            })
            .collect();
        let names: Vec<String> = reading.list.iter().map(|model| model.id.clone()).collect();
        let absent = |name: &&String| {
            !service.chosen.values().any(|chosen| chosen.model == **name)
                && !reading.list.iter().any(|model| model.has_name(name))
        };
        service.missing = reading
            .in_use
            .iter()
            .filter(absent)
            .map(|name| (name.clone(), closest(name, &names)))
            .collect();
        seen.names.insert(reading.service.to_owned(), names.into_iter().take(MOST_NAMES).collect());
        drop(seen);
        self.write(&kept, &before)?;
        Ok(changes)
    }
}

#[cfg(test)]
mod tests;
