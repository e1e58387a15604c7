//! The offline script: answers without any service.

use std::{path::PathBuf, sync::Arc};

use galatea_core::{Error, Models, Result, Settings, TextModel};

use super::super::{configured::Configured, context::Context, variables as var};
use crate::{
    check::Probe,
    doctor::{OfflineModel, Script},
    wire::codes,
};

/// Largest script file that is read, in bytes.
const MAX_SCRIPT: u64 = 1 << 20;

/// Builds the offline script.
pub(in super::super) fn offline(context: &Context<'_>) -> Result<Configured> {
    let (script, from) = match context.set(&var::OFFLINE_SCRIPT) {
        Some(path) => (read_script(context.settings, PathBuf::from(path))?, "own rules"),
        None => (Script::built_in()?, "built-in rules"),
    };
    let model: Arc<dyn TextModel> = Arc::new(OfflineModel::new(script));
    let models = Models::of_text(model);
    let description = format!("offline script ({from}): pattern matching, not AI");
    Ok(Configured {
        models,
        provider: "offline",
        description,
        uses: Vec::new(),
        media: Vec::new(),
        notes: Vec::new(),
        findings: Vec::new(),
        offline_public: false,
        probe: Probe::Offline,
        others: Vec::new(),
        list_readers: Vec::new(),
        facts: Vec::new(),
        tool_trial: None,
    })
}

fn read_script(settings: &Settings, path: PathBuf) -> Result<Script> {
    let invalid_setting = |what: &str| {
        settings.invalid_setting(&var::OFFLINE_SCRIPT, what).with("file", path.display())
    };
    let size = std::fs::metadata(&path)
        .map_err(|error| {
            invalid_setting("names a file that cannot be read").with("cause", error.kind())
        })?
        .len();
    if size > MAX_SCRIPT {
        return Err(invalid_setting("names a file of more than 1 MiB"));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| {
        invalid_setting("names a file that cannot be read").with("cause", error.kind())
    })?;
    Script::parse(&text)
        .map_err(|error: Error| error.with("file", path.display()).with_code(codes::SCRIPT))
}
