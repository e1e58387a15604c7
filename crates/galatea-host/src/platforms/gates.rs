//! The gate's settings of each platform.

use galatea_core::Variable;
use std::sync::LazyLock;

use super::list::{PLATFORMS, Platform, TERMINAL};

/// The gate's settings for each of [`PLATFORMS`]. Empty for the terminal, which only the
/// machine's owner uses.
static GATES: LazyLock<Vec<Vec<Variable>>> = LazyLock::new(|| {
    let of = |p: &Platform| {
        if p.has_login() || p.source != TERMINAL {
            galatea_runtime::config::platform_variables(&p.source, p.title)
        } else {
            Vec::new()
        }
    };
    PLATFORMS.iter().map(of).collect()
});

/// The gate's settings of a platform.
pub fn gate_variables(platform: &Platform) -> &'static [Variable] {
    PLATFORMS
        .iter()
        .position(|p| p.source == platform.source)
        .and_then(|n| GATES.get(n))
        .map_or(&[], Vec::as_slice)
}

/// A setting's name and aliases.
pub fn names_of(variable: &Variable) -> impl Iterator<Item = &'static str> + use<> {
    std::iter::once(variable.name).chain(variable.aliases.iter().copied())
}
