//! The plugins of every agent.

use galatea_core::Plugin;
use galatea_knowledge::Library;
use std::time::Duration;

/// The standard plugins, with the documents of this agent.
pub(crate) fn standard((library, every): (Library, Duration)) -> Vec<Plugin> {
    vec![galatea_bootstrap::plugin(), galatea_knowledge::plugin(library, every)]
}
