//! `galatea character diff`: two files, or each configured file and what stands in the database.

use clap::Args;
use galatea_core::{
    Store,
    character::{self, Difference},
};
use galatea_host::{
    characters::personas::{self, Persona},
    ops::{Operator, Ops},
    storage::{data_dir::DataDir, database},
};
use serde_json::json;
use std::{path::PathBuf, process::ExitCode, sync::Arc};

use super::read;
use crate::{cli::flags::Json, context::Context, report::failure::Result};

#[derive(Debug, Clone, Args)]
pub(super) struct Diff {
    /// The file before; without files each configured character is compared with the database
    #[arg(requires = "after")]
    before: Option<PathBuf>,
    /// The file after
    after: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

impl Diff {
    pub(super) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return self.stored(context).await;
        };
        let before = read(before, &context.working_dir)?;
        let after = read(after, &context.working_dir)?;
        let differences = character::diff(&before.character, &after.character);
        if self.json.json {
            context.output.json("galatea.character.diff/1", json!({ "differences": differences }));
            return Ok(ExitCode::SUCCESS);
        }
        differences.iter().for_each(|difference| context.output.data(difference));
        if differences.is_empty() {
            context.output.say("no difference");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// From each file to the version that its agent runs as.
    async fn stored(&self, context: &Context) -> Result<ExitCode> {
        let configuration = context.configuration()?;
        let all = personas::load(&[], configuration, &context.working_dir)?;
        let settings = &configuration.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = database::open_beside(settings, &data_dir).await?;
        let outcome = self.compare(database.store(), &all, context).await;
        database.close().await;
        outcome
    }

    async fn compare(
        &self,
        store: Arc<dyn Store>,
        all: &[Persona],
        context: &Context,
    ) -> Result<ExitCode> {
        let ops = Ops::new(store, Arc::new(galatea_core::SystemClock), None);
        let by_command = Operator::command_line();
        let mut shown = Vec::new();
        for persona in all {
            let id = persona.character.identity().id();
            let found = ops.file_difference(&by_command, id, &persona.character);
            let (version, by, differences) = match found.await {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => return Err(error.into()),
            };
            let name = &persona.character.name;
            if self.json.json {
                let of = json!({ "agent": name, "version": version, "by": by, "differences": differences });
                shown.push(of);
                continue;
            }
            say(name, version, &by, &differences, context);
        }
        if self.json.json {
            context.output.json("galatea.character.stored/1", json!({ "characters": shown }));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn say(name: &str, version: i64, by: &str, differences: &[Difference], context: &Context) {
    if differences.is_empty() {
        context.output.say(format_args!("{name} runs as its file says"));
        return;
    }
    context.output.say(format_args!("{name}: from its file to version {version} by {by}"));
    differences.iter().for_each(|difference| context.output.data(difference));
}
