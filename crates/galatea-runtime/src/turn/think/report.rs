//! Puts what actions did into words: the model is asked once more, with the results.

use galatea_core::{ActionResult, Turn, Verdict};

use super::decide::{self, Bounds, Providers};
use crate::turn::state::window::Windows;

/// Longest name of a tool that does not exist, in characters.
const LONGEST_NAME: usize = 64;

/// Words of the model about these results; none if it fails or says nothing. What it wants to do
/// besides is not done.
pub(crate) async fn in_words(
    turn: &Turn<'_>,
    windows: &Windows,
    results: &[ActionResult],
    bounds: Bounds,
    verdict: &mut Verdict,
) -> Option<String> {
    let lines: Vec<String> = results.iter().map(line).collect();
    match decide::decide(turn, windows, &lines, Providers::MayBeAsked, bounds, verdict).await {
        Ok(parsed) => Some(parsed.plan.text).filter(|text| !text.trim().is_empty()),
        Err(error) => {
            tracing::warn!(turn = %turn.id, error = %error.report(), "failed to put the results of actions into words; a plain sentence is sent instead");
            None
        }
    }
}

/// Says which actions failed, where the model does not: what it said before may claim the opposite.
pub(crate) fn failure(results: &[ActionResult]) -> String {
    let mut failed: Vec<&str> = Vec::new();
    for result in results.iter().filter(|result| !result.success) {
        if !failed.contains(&result.action.as_str()) {
            failed.push(&result.action);
        }
    }
    format!("Sorry, that did not work: {} failed.", failed.join(", "))
}

/// The result of calling a tool that does not exist.
pub(crate) fn unknown(name: &str) -> ActionResult {
    let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let text = format!("there is no {name}");
    ActionResult { action: name, ..ActionResult::failed(text).own() }
}

fn line(result: &ActionResult) -> String {
    let how = if result.success { "worked" } else { "failed" };
    format!("- {} {how}: {}", result.action, result.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_failed_is_named_and_once() {
        let worked = ActionResult { action: "WAVE".into(), ..ActionResult::ok("waved") };
        let failed = unknown("LAUNCH\n");
        assert_eq!(
            failure(&[worked, failed.clone(), failed]),
            "Sorry, that did not work: LAUNCH failed."
        );
    }
}
