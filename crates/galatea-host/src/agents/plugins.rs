//! The plugins of every agent.

use galatea_core::{
    Plugin, Result, Settings,
    model::{PluginModel, RegisteredModel, Tier},
};
use galatea_http::HttpClient;
use galatea_knowledge::Library;
use std::time::Duration;

pub use crate::plugin_list::{known, standard};

/// Checks the settings of these plugins for an agent.
///
/// # Errors
/// `Invalid` for the first setting that cannot be read.
pub fn check(settings: &Settings) -> Result<()> {
    galatea_bootstrap::check(settings)
}

/// The plugin with the documents of an agent, which it reads again at this interval. It is made
/// after the models, because it embeds.
pub fn documents((library, interval): (Library, Duration)) -> Plugin {
    galatea_knowledge::plugin(library, interval)
}

/// The plugins for groups, whose features are off until people switch them on.
pub fn community(http: HttpClient) -> Vec<Plugin> {
    galatea_community::plugins(http)
}

/// Whether a plugin brings a model for answers.
pub fn have_answer_model(plugins: &[Plugin]) -> bool {
    let answers = |registered: &RegisteredModel| {
        matches!(registered.model, PluginModel::Text(Tier::TextLarge, _))
    };
    plugins.iter().flat_map(|plugin| &plugin.models).any(answers)
}

/// The models that plugins bring.
pub fn models(plugins: &[Plugin]) -> Vec<RegisteredModel> {
    plugins.iter().flat_map(|plugin| plugin.models.iter().cloned()).collect()
}
