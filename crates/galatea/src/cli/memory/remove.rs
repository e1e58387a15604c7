//! `memory rm`: removes memories. The store removes with them what was made from them alone.

use galatea_core::{Derived, Store, visible::one_line};
use serde_json::json;
use std::process::ExitCode;

use super::{select::clipped, show};
use crate::{
    cli::flags::Consent,
    context::Context,
    report::failure::{Failure, Result},
};

pub(super) async fn remove(
    store: &dyn Store,
    asked: &[String],
    consent: Consent,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let mut found: Vec<(Derived, Vec<Derived>)> = Vec::new();
    for id in asked {
        let one = show::find(store, id).await?;
        // Two of the beginnings may be those of one id.
        if !found.iter().any(|(derived, _)| derived.memory.id == one.0.memory.id) {
            found.push(one);
        }
    }
    if !consent.dry_run && !consent.yes {
        if !context.may_ask() {
            return Err(Failure::usage(
                "nothing was removed: the question whether to remove it cannot be asked here",
                "add --yes to remove it, or --dry-run to see what would be removed",
            ));
        }
        for (derived, made) in &found {
            let text = clipped(&one_line(&derived.memory.content.text), 80);
            context.output.say(format!("{}  {text}", derived.memory.id));
            if !made.is_empty() {
                context.output.say(format!("  {} memories were made from it", made.len()));
            }
        }
        let question = format!("Remove {} from the database for good?", found.len());
        if !cliclack::confirm(question).initial_value(false).interact().unwrap_or(false) {
            context.output.say("nothing was removed");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let mut removed = 0;
    if !consent.dry_run {
        for (derived, _) in &found {
            let (agent, id) = (derived.memory.agent_id, derived.memory.id);
            removed += store.delete_memories(agent, &[id]).await?;
        }
    }
    if json {
        let ids: Vec<_> = found.iter().map(|(derived, _)| derived.memory.id).collect();
        context.output.json("galatea.memory.rm/1", json!({ "memories": ids, "removed": removed }));
    } else if consent.dry_run {
        context.output.say(format!("{} would be removed", found.len()));
    } else {
        context.output.say(format!("{removed} removed"));
    }
    Ok(ExitCode::SUCCESS)
}
