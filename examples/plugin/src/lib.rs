//! A plugin as an example: polls in a group. A person opens a poll, others vote, and every prompt
//! shows how it stands. `docs/plugins.md` goes through these files.

mod open;
mod poll;
mod standing;
mod vote;

use galatea_core::{Plugin, PluginSetting};

/// The name of the plugin, in character files and for `galatea plugin`.
pub const NAME: &str = "poll";

/// Polls of a group. Each agent has its own.
pub fn plugin() -> Plugin {
    Plugin::new(NAME, env!("CARGO_PKG_VERSION"), "Lets a group vote")
        .fits(">=0.1, <0.2")
        .optional()
        .setting(most())
        .action(open::OpenPoll)
        .action(vote::Vote)
        .provider(standing::PollProvider)
}

/// The setting with the greatest number of options.
fn most() -> PluginSetting {
    PluginSetting::number("POLL_OPTIONS", "Most options of a poll.", 2, 20).or("8")
}

#[cfg(test)]
mod tests;
