//! Checks that messages can be answered on every platform an agent reads.

use galatea_core::{Clock, Finding, Host, SystemClock};
use galatea_http::{HttpClient, HttpOptions};
use std::sync::Arc;

use super::examined::Examined;
use galatea_host::{
    agents::plugins,
    characters::personas::Persona,
    models::no_model,
    platforms::{Built, PLATFORMS, Taken, accounts, with_policies},
};

/// Agents that read a platform but have no model to answer with. Makes no requests.
pub(super) fn check(examined: &Examined<'_>, personas: &[Persona]) -> Vec<Finding> {
    let Ok(http) = HttpClient::new(HttpOptions::default()) else { return Vec::new() };
    personas.iter().filter_map(|persona| of(examined, persona, &http)).collect()
}

/// Errors of the model configuration are ignored here, because the model check reports them.
fn of(examined: &Examined<'_>, persona: &Persona, http: &HttpClient) -> Option<Finding> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let name = persona.character.name.clone();
    let configured = galatea_models::build(
        &persona.settings,
        http,
        Arc::clone(&clock),
        &galatea_models::Dependencies::default(),
    )
    .ok()?;
    let host = Host {
        agent: persona.character.identity(),
        agent_name: name.clone(),
        data_dir: examined.data_dir.path().to_owned(),
        clock,
    };
    let mut connectors = Vec::new();
    for platform in PLATFORMS.iter().filter(|platform| platform.has_login()) {
        for account in accounts::of(platform, &persona.settings) {
            if let Ok(Built::On(connector)) =
                platform.connector(&account, &host, &mut Taken::default())
            {
                connectors.push(connector);
            }
        }
    }
    let offline = configured.is_offline() && !plugins::have_answer_model(&plugins::standard());
    let places = no_model::places(
        &configured,
        offline,
        &with_policies(&persona.settings).ok()?,
        &connectors,
    );
    no_model::trouble(&name, &places).as_ref().map(no_model::finding)
}
