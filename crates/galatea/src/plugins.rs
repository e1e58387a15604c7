//! The plugins of every agent.

use galatea_core::{
    Plugin,
    model::{PluginModel, RegisteredModel, Tier},
};
use galatea_knowledge::Library;
use std::time::Duration;

/// The plugins of every agent, but for its documents. Add one here.
pub(crate) fn standard() -> Vec<Plugin> {
    vec![galatea_bootstrap::plugin()]
}

/// The plugin with the documents of an agent. It is made after the models, since it embeds.
pub(crate) fn documents((library, every): (Library, Duration)) -> Plugin {
    galatea_knowledge::plugin(library, every)
}

/// Whether a plugin brings a model for answers.
pub(crate) fn answer(plugins: &[Plugin]) -> bool {
    let answers =
        |one: &RegisteredModel| matches!(one.model, PluginModel::Text(Tier::TextLarge, _));
    plugins.iter().flat_map(|plugin| &plugin.models).any(answers)
}

/// The models that plugins bring.
pub(crate) fn models(plugins: &[Plugin]) -> Vec<RegisteredModel> {
    plugins.iter().flat_map(|plugin| plugin.models.iter().cloned()).collect()
}
