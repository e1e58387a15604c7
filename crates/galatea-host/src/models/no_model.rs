//! Detects agents that read a platform but cannot answer there, because no model is configured. All
//! other checks would report them as healthy.

use galatea_core::{Connector, Finding, Settings, Severity};
use galatea_models::Configured;
use galatea_runtime::config::Policy;
use std::sync::Arc;

use crate::{platforms::PLATFORMS, report::Trouble};

/// The code of this problem.
const CODE: &str = "GAL-MODEL-NONE";
const FIX: &str = "`galatea init` connects a model; or set a key (OPENAI_API_KEY, ANTHROPIC_API_KEY, …), or OLLAMA_API_ENDPOINT for a model of your own";

/// `offline` says that only the script answers. Titles of the platforms that the agent reads but does not answer on, without duplicates.
/// Platforms with answers switched off are not included, because that is intended.
pub fn places(
    configured: &Configured,
    offline: bool,
    settings: &Settings,
    connectors: &[Arc<dyn Connector>],
) -> Vec<&'static str> {
    if !offline || configured.offline_public {
        return Vec::new();
    }
    let is_mute = |connector: &&Arc<dyn Connector>| {
        let info = connector.info();
        // An invalid setting is reported where the setting is read.
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

/// The problem of an agent without a model; `None` if `places` is empty.
pub fn trouble(agent: &str, places: &[&str]) -> Option<Trouble> {
    if places.is_empty() {
        return None;
    }
    let message =
        format!("no model is set: {agent} reads {} but answers no message there", together(places));
    Some(Trouble {
        message,
        code: Some(CODE.to_owned()),
        fix: Some(FIX.to_owned()),
        ..Trouble::default()
    })
}

/// The problem as a finding.
pub fn finding(trouble: &Trouble) -> Finding {
    let cause = "the offline script does not speak where strangers read it, unless OFFLINE_RESPONDER_PUBLIC=true";
    Finding::new(Severity::Error, CODE, "model", trouble.message.clone())
        .with_cause(cause)
        .with_fix(FIX)
}

/// Joins titles: `Telegram, Discord and X`.
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
            "no model is set: Ada reads Telegram, Discord and X but answers no message there"
        );
        assert_eq!(
            trouble("Ada", &["X"]).unwrap().message,
            "no model is set: Ada reads X but answers no message there"
        );
        let shown = finding(&found);
        assert!(
            shown.severity == Severity::Error
                && shown.id == CODE
                && shown.fix.unwrap().contains("galatea init")
        );
    }
}
