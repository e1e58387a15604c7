//! The list of plugins. A new plugin is added here.

use galatea_core::Plugin;

/// The plugins that every agent has in the same way. A new plugin is added here.
pub fn standard() -> Vec<Plugin> {
    vec![galatea_bootstrap::plugin()]
}

/// The plugins that agents of this program may have, as they are declared, for lists and commands.
pub fn known() -> Vec<Plugin> {
    let documents =
        Plugin::new(galatea_knowledge::NAME, env!("CARGO_PKG_VERSION"), galatea_knowledge::PURPOSE);
    let mut known = standard();
    known.push(documents.declares(galatea_knowledge::VARIABLES));
    known
}
