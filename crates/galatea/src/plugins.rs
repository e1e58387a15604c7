//! Plugins: what every agent gets. A plain list; grep finds it.

use galatea_core::Plugin;

/// The plugins of every agent.
pub(crate) fn standard() -> Vec<Plugin> {
    vec![galatea_bootstrap::plugin()]
}
