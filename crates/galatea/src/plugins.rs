//! The plugins of every agent.

use galatea_core::Plugin;

pub(crate) fn standard() -> Vec<Plugin> {
    vec![galatea_bootstrap::plugin()]
}
