//! Silent: agents that read platforms on which they answer nobody, because no model is set. It
//! looks healthy from everywhere else.

use galatea_core::{Connector, Finding, Settings, Severity};
use galatea_models::Configured;
use galatea_runtime::config::Policy;
use std::sync::Arc;

use crate::{connectors::PLATFORMS, output::Output, trouble::Trouble};

/// The code of all this.
const CODE: &str = "GAL-MODEL-NONE";
/// What to do.
const FIX: &str = "`galatea init` connects a model; or set a key (OPENAI_API_KEY, ANTHROPIC_API_KEY, …), or OLLAMA_API_ENDPOINT for a model of your own";

/// The titles of the platforms on which these connectors read and answer nobody, each once. Where
/// answers are switched off, silence is meant.
pub(crate) fn places(
    configured: &Configured,
    settings: &Settings,
    connectors: &[Arc<dyn Connector>],
) -> Vec<&'static str> {
    if !configured.is_offline() || configured.offline_public {
        return Vec::new();
    }
    let is_mute = |connector: &&Arc<dyn Connector>| {
        let info = connector.info();
        // A setting that makes no sense is told by whoever reads it.
        info.capabilities.public
            && Policy::from_settings(settings, &info.source)
                .map_or(true, |policy| policy.auto_reply)
    };
    let sources: Vec<_> = connectors
        .iter()
        .filter(is_mute)
        .map(|connector| connector.info().source.clone())
        .collect();
    PLATFORMS
        .iter()
        .filter(|platform| sources.contains(&platform.source))
        .map(|platform| platform.title)
        .collect()
}

/// What is wrong with an agent that is silent there; none for one that is silent nowhere.
pub(crate) fn trouble(agent: &str, places: &[&str]) -> Option<Trouble> {
    if places.is_empty() {
        return None;
    }
    let message =
        format!("no model is set: {agent} reads {} and answers nobody there", together(places));
    Some(Trouble {
        message,
        code: Some(CODE.to_owned()),
        fix: Some(FIX.to_owned()),
        ..Trouble::default()
    })
}

/// The same as a finding.
pub(crate) fn finding(trouble: &Trouble) -> Finding {
    let cause = "the offline script does not speak where strangers read it, unless OFFLINE_RESPONDER_PUBLIC=true";
    Finding::new(Severity::Error, CODE, "model", trouble.message.clone())
        .with_cause(cause)
        .with_fix(FIX)
}

/// Says it once: in the log, or to people in the form of every error.
pub(crate) fn tell(trouble: &Trouble, people: Option<&Output>) {
    match people {
        Some(people) => people.report(&trouble.report("model")),
        None => {
            tracing::error!(code = trouble.code, fix = trouble.fix, "model  {}", trouble.message)
        }
    }
}

/// `Telegram, Discord and X`.
fn together(places: &[&str]) -> String {
    match places {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => places.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_whom_where_and_what_to_set() {
        assert_eq!(trouble("Ada", &[]), None);
        let found = trouble("Ada", &["Telegram", "Discord", "X"]).unwrap();
        assert_eq!(
            found.message,
            "no model is set: Ada reads Telegram, Discord and X and answers nobody there"
        );
        assert_eq!(
            trouble("Ada", &["X"]).unwrap().message,
            "no model is set: Ada reads X and answers nobody there"
        );
        let told = finding(&found);
        assert!(
            told.severity == Severity::Error
                && told.id == CODE
                && told.fix.unwrap().contains("galatea init")
        );
    }
}
