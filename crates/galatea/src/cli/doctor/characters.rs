//! Characters: every file that would run can be read.

use galatea_core::{
    Finding,
    character::{self, Loaded},
};
use std::path::{Path, PathBuf};

use super::{Examined, failed};
use crate::{
    findings,
    personas::{self, Persona},
    report::Report,
};

/// The characters that would run, and what there is to say about them.
pub(super) fn check(examined: &Examined<'_>, files: &[PathBuf]) -> (Vec<Persona>, Vec<Finding>) {
    let personas = match personas::load(files, examined.configuration, &examined.context.working_dir) {
        Ok(personas) => personas,
        Err(failure) => return (Vec::new(), failed("character", &failure)),
    };
    let mut found = Vec::new();
    for persona in &personas {
        let name = &persona.character.name;
        let Some(file) = &persona.file else {
            found.push(Finding::ok("GAL-CHAR-OK", "character", format!("{name} (built-in)")));
            continue;
        };
        found.extend(remarks(file, &examined.context.working_dir));
        found.push(Finding::ok("GAL-CHAR-OK", "character", format!("{name} from {}", file.display())));
    }
    (personas, found)
}

/// What could be better in a file that was read a moment ago.
fn remarks(file: &Path, working_dir: &Path) -> Vec<Finding> {
    let bytes = std::fs::read(working_dir.join(file)).unwrap_or_default();
    let warnings = character::load_bytes(&file.display().to_string(), &bytes).map_or_else(|refused| refused.diagnostics, |Loaded { warnings, .. }| warnings);
    warnings.iter().map(|d| findings::from_report("character", &Report::from(d))).collect()
}
