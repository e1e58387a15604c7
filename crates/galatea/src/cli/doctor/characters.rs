//! Checks that every configured character file can be read.

use galatea_core::{Finding, Severity};
use galatea_runtime::config::GAL_LISTED;
use std::path::PathBuf;

use super::examined::{Examined, failed};
use crate::report::findings;
use galatea_host::{
    characters::personas::{self, Persona},
    platforms::accounts,
};

/// The characters that would run, and the findings about them.
pub(super) fn check(examined: &Examined<'_>, files: &[PathBuf]) -> (Vec<Persona>, Vec<Finding>) {
    let personas =
        match personas::load(files, examined.configuration, &examined.context.working_dir) {
            Ok(personas) => personas,
            Err(faults) => return (Vec::new(), failed("character", &faults.into())),
        };
    let mut found = Vec::new();
    for persona in &personas {
        let name = &persona.character.name;
        let listed = accounts::listed(&persona.settings)
            .into_iter()
            .map(|remark| Finding::new(Severity::Warning, GAL_LISTED, "variable", remark));
        found.extend(listed.filter(|remark| !found.contains(remark)).collect::<Vec<_>>());
        let Some(file) = &persona.file else {
            found.push(Finding::ok("GAL-CHAR-OK", "character", format!("{name} (built-in)")));
            continue;
        };
        found.extend(
            persona.warnings.iter().map(|warning| findings::from_report("character", warning)),
        );
        found.push(Finding::ok(
            "GAL-CHAR-OK",
            "character",
            format!("{name} from {}", file.display()),
        ));
    }
    (personas, found)
}
