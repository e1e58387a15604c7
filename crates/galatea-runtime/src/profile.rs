//! Profile of an agent: its character, settings, limits and policies. A change replaces all of them at
//! once, and each turn reads them once.

use arc_swap::ArcSwap;
use galatea_core::{Account, AgentView, Character, Result, Settings, Source, Zone};
use std::{collections::HashMap, sync::Arc};

use crate::{
    agent_room,
    config::{self, AccountSettings, Limits, MODEL_NOTICE, Policies, Policy},
};

/// An agent's character and settings at one moment, with what is read from them.
pub(crate) struct Profile {
    /// What plugin code sees of the agent.
    pub(crate) view: Arc<AgentView>,
    /// Its character without secrets.
    pub(crate) open: Arc<Character>,
    /// Times and sizes of turns.
    pub(crate) limits: Limits,
    /// When to answer, per account.
    pub(crate) policies: Arc<Policies>,
    /// Limits of services in their use of models.
    pub(crate) services: Arc<Policy>,
    /// The agent's owners, by platform and id there.
    pub(crate) owners: Vec<(Source, String)>,
    /// Text for a Room in which no model answers; without it, the Room reads nothing.
    pub(crate) model_notice: Option<String>,
}

impl Profile {
    /// Reads the settings. `accounts` are those with settings of their own.
    ///
    /// # Errors
    /// `Invalid` with the place of a setting that cannot be read.
    pub(crate) fn new(
        character: &Character,
        settings: Settings,
        accounts: HashMap<(Source, Account), AccountSettings>,
    ) -> Result<Self> {
        // Stored as it is written, shown as it is meant.
        let character = Arc::new(character.filled());
        let open = character.without_secrets();
        let open = if open == *character { Arc::clone(&character) } else { Arc::new(open) };
        let identity = character.identity();
        Ok(Self {
            open,
            limits: Limits::from_settings(&settings)?,
            policies: Arc::new(Policies::new(settings.clone(), accounts)),
            services: Arc::new(Policy::from_settings(&settings, &agent_room::SOURCE)?),
            owners: config::owners(&settings)?,
            model_notice: model_notice(&settings),
            view: Arc::new(AgentView {
                identity,
                character,
                zone: Arc::new(Zone::from_settings(&settings)?),
                settings,
            }),
        })
    }
}

/// The profile that an agent has now. Clones share it.
#[derive(Clone)]
pub(crate) struct CurrentProfile(Arc<ArcSwap<Profile>>);

impl CurrentProfile {
    pub(crate) fn new(profile: Profile) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(profile)))
    }

    /// The profile, for as long as the caller holds it.
    pub(crate) fn get(&self) -> Arc<Profile> {
        self.0.load_full()
    }

    /// Replaces the profile. Turns that have begun keep the one that they read.
    pub(crate) fn replace(&self, profile: Arc<Profile>) {
        self.0.store(profile);
    }
}

/// What a Room reads when no model answers; none if the setting is `none`.
fn model_notice(settings: &Settings) -> Option<String> {
    settings.text(&MODEL_NOTICE).filter(|text| !text.trim().eq_ignore_ascii_case("none"))
}
