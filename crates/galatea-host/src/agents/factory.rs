//! Makes an agent from its persona, at its first start and at each restart.

use async_trait::async_trait;
use galatea_core::{AgentId, Connector, Result, Settings, settings::Setting};
use galatea_runtime::{AgentChange, AgentFactory, AgentSpec};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

use super::{
    make::{self, Made},
    plugins,
    summary::AgentSummary,
    surroundings::Surroundings,
};
use crate::{
    characters::personas::Persona,
    config,
    models::choosing::Choosing,
    platforms::{
        PLATFORMS,
        accounts::{self, OwnSettings},
        direct_defaults, encoders, gate_variables, with_policies,
    },
};

/// Makes an agent from a persona, which may be replaced between two starts.
pub(crate) struct PersonaFactory {
    surroundings: Arc<Surroundings>,
    persona: Mutex<Persona>,
    summary: Mutex<Option<AgentSummary>>,
    /// The connector through which this process asks the agent itself.
    direct: Option<Arc<dyn Connector>>,
}

impl PersonaFactory {
    /// `direct` is a connector that stands beside those of the settings.
    pub(crate) fn new(
        surroundings: Arc<Surroundings>,
        persona: Persona,
        direct: Option<Arc<dyn Connector>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            surroundings,
            persona: Mutex::new(persona),
            summary: Mutex::default(),
            direct,
        })
    }

    /// The persona of the next start.
    pub(crate) fn persona(&self) -> Persona {
        self.lock().clone()
    }

    /// Replaces the persona of the next start.
    pub(crate) fn set(&self, persona: Persona) {
        *self.lock() = persona;
    }

    /// Summary of the agent as it was made last; none before that.
    pub(crate) fn summary(&self) -> Option<AgentSummary> {
        self.summary.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Persona> {
        self.persona.lock()
    }
}

#[async_trait]
impl AgentFactory for PersonaFactory {
    async fn make(&self) -> Result<AgentSpec> {
        let (persona, around) = (self.persona(), &self.surroundings);
        let settings = persona.settings.clone();
        plugins::check(&settings)?;
        let mut plugins = plugins::standard();
        plugins.extend(around.plugins.iter().cloned());
        let registered = plugins::models(&plugins);
        let Made { summary, configured, renewal, models, mut connectors, account_settings } =
            make::make(&persona, around, &registered)?;
        let library = around.documents.library(&persona, models.embedding.clone())?;
        plugins.push(plugins::documents(library));
        plugins.extend(plugins::community(around.http.clone()));
        around.choosers.put(
            summary.id,
            Choosing {
                settings: settings.clone(),
                configured,
                registered,
                renewal,
                health: summary.health.clone(),
            },
        );
        around.mcp.follow(summary.id, persona.clone(), around.orchestrator.clone());
        *self.summary.lock() = Some(summary);
        connectors.extend(self.direct.clone());
        Ok(AgentSpec {
            character: persona.character,
            settings: runtime_settings(&persona.settings)?,
            models,
            plugins,
            connectors,
            account_settings,
            encoders: encoders(&settings),
        })
    }
}

/// The change that makes a running agent the new persona.
///
/// # Errors
/// `Invalid` with the place of an invalid setting.
pub(crate) fn change_to(persona: &Persona) -> Result<AgentChange> {
    Ok(AgentChange {
        character: persona.character.clone(),
        settings: runtime_settings(&persona.settings)?,
        // An agent with further accounts is restarted for a change.
        account_settings: OwnSettings::default(),
    })
}

/// Settings as the runtime gets them.
fn runtime_settings(settings: &Settings) -> Result<Settings> {
    let mut layers = with_policies(settings)?.layers().to_vec();
    layers.push(direct_defaults());
    Ok(Settings::new(layers))
}

/// Whether an agent has to be made anew to become the new persona: its models, connectors, further
/// accounts and documents are made from settings at its start. All other settings are read in each
/// turn.
pub(crate) fn needs_restart(before: &Persona, after: &Persona) -> bool {
    let has_several = |persona: &Persona| {
        PLATFORMS.iter().any(|platform| accounts::of(platform, &persona.settings).len() > 1)
    };
    let mcp = |persona: &Persona| persona.character.settings.get("mcp").cloned();
    before.character.knowledge != after.character.knowledge
        || mcp(before) != mcp(after)
        || has_several(before)
        || has_several(after)
        || names(&before.settings).chain(names(&after.settings)).any(|name| {
            let text = |settings: &Settings| settings.raw(name).map(Setting::text);
            text(&before.settings) != text(&after.settings) && is_fixed(name)
        })
}

fn names(settings: &Settings) -> impl Iterator<Item = &String> {
    settings.layers().iter().flat_map(|layer| layer.keys())
}

/// Whether a setting is read when the agent is made, not in each turn.
fn is_fixed(name: &str) -> bool {
    let Some(variable) = config::find_variable(name) else { return false };
    let read_in_turns = galatea_runtime::config::VARIABLES
        .iter()
        .chain(galatea_bootstrap::VARIABLES)
        .chain(galatea_community::VARIABLES)
        .chain(PLATFORMS.iter().flat_map(gate_variables));
    !read_in_turns.into_iter().any(|known| known.name == variable.name)
}

/// Frees what an agent that was removed had to itself.
pub(crate) fn forget(surroundings: &Surroundings, agent: AgentId) {
    surroundings.taken().release(agent);
    surroundings.choosers.remove(agent);
    surroundings.mcp.forget(agent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Character, character::Knowledge};

    fn persona(settings: &[(&'static str, &'static str)]) -> Persona {
        Persona {
            character: Character { name: "Ada".into(), ..Character::default() },
            file: None,
            working_dir: ".".into(),
            settings: Settings::from_pairs(settings.iter().copied()),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn only_a_setting_of_models_connectors_and_documents_needs_a_restart() {
        let before = persona(&[("OPENAI_API_KEY", "a"), ("DM_POLICY", "open")]);
        for (changed, restart) in [
            (vec![("OPENAI_API_KEY", "a"), ("DM_POLICY", "disabled")], false),
            (vec![("OPENAI_API_KEY", "a"), ("TELEGRAM_GROUP_POLICY", "always")], false),
            (vec![("OPENAI_API_KEY", "a"), ("DM_POLICY", "open"), ("UNKNOWN", "x")], false),
            (vec![("OPENAI_API_KEY", "b"), ("DM_POLICY", "open")], true),
            (vec![("DM_POLICY", "open")], true),
            (vec![("OPENAI_API_KEY", "a"), ("TELEGRAM_BOT_TOKEN", "1:a")], true),
        ] {
            assert_eq!(needs_restart(&before, &persona(&changed)), restart, "{changed:?}");
        }
        let mut knows = before.clone();
        knows.character.knowledge = vec![Knowledge::Text("a line".into())];
        assert!(needs_restart(&before, &knows));
        let mut speaks = before.clone();
        speaks.character.system = Some("You are a poet.".into());
        assert!(!needs_restart(&before, &speaks));
    }
}
