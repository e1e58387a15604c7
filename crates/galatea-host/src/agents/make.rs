//! Makes the parts of an agent from its persona: models, connectors, and what people should know of
//! them.

use galatea_core::{
    Connector, Finding, Host, Models, Result, Settings, Severity, model::RegisteredModel,
};
use galatea_models::{Configured, with_registered};
use std::sync::Arc;

use super::{
    summary::{AgentSummary, PlatformState},
    surroundings::{Platforms, Surroundings},
};
use crate::{
    characters::{personas::Persona, wants},
    models::{
        choosing, no_model,
        watch::{self, Renewal},
    },
    platforms::{
        Built, PLATFORMS, Platform, TERMINAL,
        accounts::{self, OwnSettings},
        with_policies,
    },
};

/// The parts of an agent that are made from its settings.
pub(super) struct Made {
    pub(super) summary: AgentSummary,
    pub(super) configured: Configured,
    pub(super) renewal: Renewal,
    pub(super) models: Models,
    pub(super) connectors: Vec<Arc<dyn Connector>>,
    pub(super) account_settings: OwnSettings,
}

/// Builds models and connectors. `registered` are the models that plugins bring.
///
/// # Errors
/// `Invalid` with the place of an invalid setting.
pub(super) fn make(
    persona: &Persona,
    around: &Surroundings,
    registered: &[RegisteredModel],
) -> Result<Made> {
    let Surroundings { http, clock, dependencies, .. } = around;
    let identity = persona.character.identity();
    let configured =
        galatea_models::build(&persona.settings, http, Arc::clone(clock), dependencies)?;
    let models = with_registered(
        configured.models.clone(),
        registered,
        &persona.settings,
        clock,
        dependencies,
    )?;
    // A model of a plugin answers in place of the script.
    let offline = models.large.info().scripted;
    let model = if offline {
        watch::describe(models.large.info())
    } else if configured.is_offline() {
        models.large.info().full_name()
    } else {
        choosing::describe(&configured)
    };
    let mut notes = notes(&configured, &persona.settings);
    if !offline && models.embedding.is_none() {
        let offer = galatea_models::embedding_offer(&models.large.info().provider);
        notes.push(format!("{}; {offer}", galatea_models::check::NO_EMBEDDING));
    }
    let (models, health, renewal) = watch::watch(models);
    health.describe(model.clone());
    let host = Host {
        agent: identity.clone(),
        agent_name: persona.character.name.clone(),
        data_dir: around.data_dir.clone(),
        clock: Arc::clone(clock),
    };
    let Connections { connectors, account_settings, mut states, on } =
        connections(persona, &host, around)?;
    let name = persona.character.name.clone();
    let places =
        no_model::places(&configured, offline, &with_policies(&persona.settings)?, &connectors);
    for (n, _) in on.into_iter().filter(|(_, title)| places.contains(title)) {
        states[n].1 = PlatformState::WithoutModel;
    }
    let no_answer = no_model::trouble(&name, &places);
    if no_answer.is_some() {
        notes.push("the agent answers no message in these places: `galatea init` connects a model; OFFLINE_RESPONDER_PUBLIC=true lets the script speak".to_owned());
    }
    let missing = wants::brief(&persona.character);
    let summary = AgentSummary {
        id: identity.id(),
        name,
        model,
        health,
        notes,
        platforms: states,
        no_answer,
        missing,
    };
    Ok(Made { summary, configured, renewal, models, connectors, account_settings })
}

/// What a person should know about the models and accounts of an agent.
fn notes(configured: &Configured, settings: &Settings) -> Vec<String> {
    let describe = |finding: &Finding| match &finding.fix {
        Some(fix) if finding.severity >= Severity::Warning => {
            format!("{}: {fix}", finding.message)
        }
        _ => finding.message.clone(),
    };
    let mut notes = configured.notes.clone();
    notes.extend(configured.findings.iter().map(describe));
    notes.extend(accounts::listed(settings));
    notes
}

/// The connectors of an agent, and which platforms are on.
#[derive(Default)]
struct Connections {
    connectors: Vec<Arc<dyn Connector>>,
    account_settings: OwnSettings,
    /// The title of each account, and whether it is on.
    states: Vec<(String, PlatformState)>,
    /// Of those that are on: the index in `states`, and the platform's title.
    on: Vec<(usize, &'static str)>,
}

/// Builds a connector for each account that is configured.
fn connections(persona: &Persona, host: &Host, around: &Surroundings) -> Result<Connections> {
    let mut built = Connections::default();
    let mut taken = around.taken();
    // Logins of an earlier start of this agent.
    taken.release_logins(host.agent.id());
    let is_wanted = |platform: &&Platform| match around.platforms {
        Platforms::All => true,
        Platforms::Terminal => platform.source == TERMINAL,
        Platforms::None => false,
    };
    for platform in PLATFORMS.iter().filter(is_wanted) {
        for account in accounts::of(platform, &persona.settings) {
            let title = account.title(platform);
            match platform.connector(&account, host, &mut taken)? {
                Built::On(connector) => {
                    accounts::keep(&mut built.account_settings, &account, connector.info())?;
                    built.on.push((built.states.len(), platform.title));
                    built.connectors.push(connector);
                    built.states.push((title, PlatformState::On));
                }
                // Few have a page for it.
                Built::Off(_) if platform.source == galatea_web::VISITORS => {}
                Built::Off(why)
                    if account.number == 1 && wants::asks_for(&persona.character, platform) =>
                {
                    built.states.push((
                        title,
                        PlatformState::Off(format!("{why}; its character asks for it")),
                    ));
                }
                Built::Off(why) => built.states.push((title, PlatformState::Off(why))),
            }
        }
    }
    Ok(built)
}
