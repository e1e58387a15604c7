//! Findings that agents keep in the database: they hold whether a process runs or not.

use galatea_core::{Clock, Finding, SystemClock};

use super::examined::Examined;
use galatea_host::{characters::personas::Persona, config::check_database, storage::database};

/// Reads what each agent remembers of its models. Empty while a process runs, which remarks the same,
/// and where the database cannot be opened, which the check of the storage reports.
pub(super) async fn check(examined: &Examined<'_>, personas: &[Persona]) -> Vec<Finding> {
    let settings = &examined.configuration.settings;
    if examined.running.is_some() || check_database(settings).is_err() {
        return Vec::new();
    }
    let Ok(database) = database::open_beside(settings, &examined.data_dir).await else {
        return Vec::new();
    };
    let (mut found, now) = (Vec::new(), SystemClock.now());
    for Persona { character, .. } in personas {
        let agent = character.identity().id();
        let finding = galatea_bootstrap::learns_nothing(database.store(), agent, now).await;
        found.extend(finding.ok().flatten().map(|finding| Finding {
            message: format!("model of {}: {}", character.name, finding.message),
            ..finding
        }));
    }
    database.close().await;
    found
}
