//! The choices as they are kept in memory and in a file.

use galatea_core::{
    Timestamp,
    model::{ModelLimits, Price},
};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use crate::{choices::adjustment::Adjustment, families::Role};

/// The choices for all services. Cheap to clone.
#[derive(Clone, Default)]
pub struct Choices(pub(super) Arc<ChoicesInner>);

#[derive(Default)]
pub(super) struct ChoicesInner {
    pub(super) path: Option<PathBuf>,
    pub(super) kept: Mutex<KeptChoices>,
    /// Not stored in the file: the names in the lists when they were last read, and models that
    /// were refused although they are listed.
    pub(super) seen: Mutex<Seen>,
}

#[derive(Default)]
pub(super) struct Seen {
    pub(super) names: BTreeMap<String, Vec<String>>,
    pub(super) refused: BTreeSet<(String, String)>,
}

/// Content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeptChoices {
    pub(super) services: BTreeMap<String, KeptService>,
}

impl KeptChoices {
    pub(super) fn facts(&self, service: &str, model: &str) -> Option<Facts> {
        self.services.get(service)?.models.get(model).copied()
    }
}

/// Choices of one service. A service is a provider at a base address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeptService {
    pub(super) chosen: BTreeMap<Role, Chosen>,
    pub(super) models: BTreeMap<String, Facts>,
    /// Names from settings that the list did not contain, each with similar names.
    pub(super) missing: BTreeMap<String, Vec<String>>,
    /// Parts of requests that the service refuses, by model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) adjusted: BTreeMap<String, Vec<Adjusted>>,
    /// Results of trials of tools, by model.
    pub(super) tools: BTreeMap<String, ToolSkill>,
}

/// Tool calls of a model, as a trial has shown them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSkill {
    /// It called the tool that it was asked to call.
    pub works: bool,
    /// Its behaviour instead, for people.
    pub why: String,
    /// Day of the trial, `YYYY-MM-DD`.
    pub on: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chosen {
    pub(super) model: String,
    /// Day on which it was chosen, `YYYY-MM-DD`.
    pub(super) on: String,
}

/// Facts of a service's list about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Facts {
    pub(crate) limits: ModelLimits,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<Price>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// An adjustment, why, and until when it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Adjusted {
    pub(crate) adjustment: Adjustment,
    /// The service's words, cut and without secrets.
    pub(crate) because: String,
    pub(crate) until: Timestamp,
}
