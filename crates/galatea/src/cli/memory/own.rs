//! The agent's own accounts, as the settings configure them.

use galatea_core::{AgentId, Host, RemoteId, Source, SystemClock};
use std::sync::Arc;

use crate::{context::Context, report::failure::Result};
use galatea_host::{
    characters::personas,
    platforms::accounts,
    platforms::{Built, PLATFORMS, Taken},
    storage::data_dir::DataDir,
};

/// The agent's accounts on a platform that settings and character files configure.
///
/// # Errors
/// Settings and characters that cannot be read.
pub(super) fn configured(
    agent: AgentId,
    source: &Source,
    context: &Context,
) -> Result<Vec<RemoteId>> {
    let configuration = context.configuration()?;
    let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
    let mut found = Vec::new();
    for persona in personas::load(&[], configuration, &context.working_dir)? {
        let identity = persona.character.identity();
        if identity.id() != agent {
            continue;
        }
        let host = Host {
            agent: identity,
            agent_name: persona.character.name.clone(),
            data_dir: data_dir.path().to_owned(),
            clock: Arc::new(SystemClock),
        };
        for platform in PLATFORMS.iter().filter(|platform| platform.source == *source) {
            for account in accounts::of(platform, &persona.settings) {
                let built = platform.connector(&account, &host, &mut Taken::default());
                if let Ok(Built::On(connector)) = built {
                    found.push(RemoteId::new(&connector.info().account));
                }
            }
        }
    }
    Ok(found)
}
