//! The agent as code of one plugin sees it: without secrets, and without settings of others.

use galatea_core::{AgentView, Character, Plugin, Settings, rights::OWNERS};
use std::sync::Arc;

use crate::config::VARIABLES;

/// The view of a plugin: the character without secrets, the settings that it declares, and those of the engine, none of which is
/// secret. Secrets that it declares are in its context only.
pub(crate) fn own_view(
    view: &AgentView,
    open: &Arc<Character>,
    settings: &Settings,
    plugin: &Plugin,
) -> AgentView {
    let is_seen = |name: &str| {
        is_public(name) || plugin.settings.iter().any(|own| own.name == name && !own.secret)
    };
    AgentView { character: Arc::clone(open), settings: settings.only(is_seen), ..view.clone() }
}

/// Settings of the engine, which say how the agent answers. Each platform may have its own value of
/// some, under its name and `_` in front.
fn is_public(name: &str) -> bool {
    let known = VARIABLES.iter().chain(std::iter::once(&OWNERS)).filter(|known| !known.secret);
    known.flat_map(|known| std::iter::once(&known.name).chain(known.aliases)).any(|known| {
        let rest = name.strip_suffix(*known);
        rest.is_some_and(|platform| platform.is_empty() || platform.ends_with('_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{AgentIdentity, PluginSetting, Zone};

    #[test]
    fn a_plugin_sees_neither_secrets_nor_settings_of_others() {
        let settings = Settings::from_pairs([
            ("POLL_MOST", "3"),
            ("POLL_KEY", "own"),
            ("NEWS_FEED", "theirs"),
            ("TELEGRAM_BOT_TOKEN", "1:secret"),
            ("AGENT_OWNERS", "telegram:7"),
            ("TELEGRAM_DM_POLICY", "open"),
        ]);
        let view = AgentView {
            identity: AgentIdentity::new(None, "Ada"),
            character: Arc::default(),
            settings: settings.clone(),
            zone: Arc::new(Zone::from_settings(&settings).unwrap()),
        };
        let plugin = Plugin::new("poll", "1.0.0", "")
            .setting(PluginSetting::text("POLL_MOST", ""))
            .setting(PluginSetting::text("POLL_KEY", "").secret());
        let seen = own_view(&view, &view.character, &settings, &plugin).settings;
        let names = ["POLL_MOST", "AGENT_OWNERS", "TELEGRAM_DM_POLICY"];
        assert!(names.iter().all(|name| seen.raw(name).is_some()));
        let names = ["POLL_KEY", "NEWS_FEED", "TELEGRAM_BOT_TOKEN"];
        assert!(names.iter().all(|name| seen.raw(name).is_none()));
    }
}
