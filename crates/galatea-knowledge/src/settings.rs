//! Settings of knowledge.

use galatea_core::{Result, Settings, Variable};
use std::{path::Path, time::Duration};

use crate::source::{Origin, Place, Source};

const HOSTS: Variable = Variable::new(
    "KNOWLEDGE_HOSTS",
    "Hosts whose addresses may be read as documents, separated by commas; *.example.org stands for a domain. None by default.",
);
const PATH: Variable = Variable::new(
    "KNOWLEDGE_PATH",
    "A folder or file of documents for every agent, besides those that characters name; a relative one is taken from the working folder.",
);
const SYNC: Variable = Variable::new(
    "KNOWLEDGE_SYNC_SECONDS",
    "Seconds between two looks for changed documents; 0 looks at the start only.",
)
.or("10");

/// Every setting of this crate.
pub const VARIABLES: &[Variable] = &[HOSTS, PATH, SYNC];

/// Values of the settings: further sources, hosts, and the pause between two looks.
///
/// # Errors
/// `Invalid` with the place of a setting that cannot be read.
pub fn configured(
    settings: &Settings,
    working_dir: &Path,
) -> Result<(Vec<Source>, Vec<String>, Duration)> {
    let sources = settings.text(&PATH).map(|path| Source {
        place: Place::Path(working_dir.join(path.trim())),
        shared: false,
        origin: Origin::Setting,
    });
    let hosts = settings.list(&HOSTS)?.unwrap_or_default();
    let every = settings.parse::<u64>(&SYNC, "a whole number of seconds")?.unwrap_or_default();
    Ok((sources.into_iter().collect(), hosts, Duration::from_secs(every)))
}
