//! The settings that agents see.

use galatea_core::{Error, Result, Settings, redact::Redactor, settings::Layer};
use std::path::Path;

use crate::config::{Configuration, Sources};

/// The settings of now: those that the program set, then those of the environment and the files.
pub(super) fn configuration(
    folder: &Path,
    set: &Layer,
    redactor: &Redactor,
) -> Result<Configuration> {
    let sources = Sources::new(folder.to_path_buf(), None, None);
    let mut configuration = Configuration::load(&sources, redactor)
        .map_err(|reports| Error::from(crate::report::Faults::Settings(reports)))?;
    with_set(&mut configuration, set);
    Ok(configuration)
}

/// Puts the settings of the program before all others.
pub(super) fn with_set(configuration: &mut Configuration, set: &Layer) {
    let layers = std::iter::once(set).chain(configuration.settings.layers()).cloned().collect();
    configuration.settings = Settings::new(layers);
}
