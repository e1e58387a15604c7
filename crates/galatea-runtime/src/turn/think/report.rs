//! What the results of actions mean for the answer: whether the model has to read them, and what is
//! said where it cannot.

use galatea_core::{ActionDocs, ActionResult, rights::Authorship};
use std::sync::Arc;

/// Longest name of a tool that does not exist, in characters.
const LONGEST_NAME: usize = 64;
/// Most names of tools in the result of one that does not exist.
const MOST_NAMES: usize = 40;
/// Bytes of a result that stand in the verdict, or are said where the model cannot put it into words.
const SHORT: usize = 1_500;

/// True if the model has to read these results before anything is said: one failed, one holds what
/// was asked for, or nothing was said yet. `text` are the words beside the calls.
pub(crate) fn has_to_be_read(results: &[ActionResult], text: &str) -> bool {
    let told = |result: &ActionResult| {
        result.success
            && result.authorship == Authorship::Others
            && result.drafts.is_empty()
            && result.elsewhere.is_empty()
            && result.effects.is_empty()
            && result.files.is_empty()
    };
    let wordless = text.trim().is_empty()
        && results.iter().all(|result| result.drafts.iter().all(|draft| draft.is_empty()));
    !results.is_empty()
        && (wordless || results.iter().any(|result| !result.success || told(result)))
}

/// The beginning of a result.
pub(crate) fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHORT)]
}

/// The names of what was done.
pub(crate) fn names(results: &[ActionResult]) -> String {
    results.iter().map(|result| result.action.as_str()).collect::<Vec<_>>().join(", ")
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

/// The result of calling a tool that does not exist: the names of those that do.
pub(crate) fn unknown(name: &str, offered: &[Arc<ActionDocs>]) -> ActionResult {
    let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let there: Vec<&str> = offered.iter().map(|docs| docs.name.as_str()).take(MOST_NAMES).collect();
    let text = format!("there is no {name}; there are: {}", there.join(", "));
    ActionResult { action: name, ..ActionResult::failed(text).own() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_read_before_anything_is_said() {
        let own = ActionResult::ok("waved").own();
        let told = ActionResult::ok("rain");
        let words = "Let me look.";
        assert!(has_to_be_read(std::slice::from_ref(&told), words));
        assert!(!has_to_be_read(std::slice::from_ref(&own), words));
        assert!(has_to_be_read(std::slice::from_ref(&own), " "), "nothing was said");
        assert!(has_to_be_read(&[own.clone(), unknown("X", &[])], words));
        let said = told.say(galatea_core::Content::text("It rains."));
        assert!(!has_to_be_read(&[said], ""), "it says so itself");
        assert!(!has_to_be_read(&[], ""));
    }

    #[test]
    fn only_what_failed_is_named_and_once() {
        let worked = ActionResult { action: "WAVE".into(), ..ActionResult::ok("waved") };
        let failed = unknown("LAUNCH\n", &[]);
        assert_eq!(
            failure(&[worked, failed.clone(), failed]),
            "Sorry, that did not work: LAUNCH failed."
        );
    }
}
