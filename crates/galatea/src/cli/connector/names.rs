//! Names of platforms on the command line.

use galatea_core::Error;
use galatea_host::platforms::PLATFORMS;

/// The error for a name that no platform has, with the closest one.
pub(super) fn unknown(name: &str) -> Error {
    let known: Vec<_> = PLATFORMS.iter().map(|p| p.source.as_str()).collect();
    let near = known
        .iter()
        .copied()
        .min_by_key(|k| strsim::damerau_levenshtein(k, name))
        .filter(|k| strsim::damerau_levenshtein(k, name) <= 2);
    let error = Error::not_found(format!("there is no platform named {name}"))
        .with_code("GAL-CONNECTOR-NAME");
    match near {
        Some(near) => error.with_fix(format!("did you mean {near}?")),
        None => error.with_fix(format!("choose one of: {}", known.join(", "))),
    }
}
