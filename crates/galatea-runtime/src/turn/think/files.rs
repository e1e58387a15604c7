//! Files that actions made, as attachments of the answer.

use galatea_core::{ActionResult, Content, Media, StepOutcome, Turn, Verdict};

use crate::turn::commit::outcome::Outcome;

/// Most files of one answer.
const MOST_FILES: usize = 10;

/// The files that actions made go with the last message of the answer.
pub(crate) fn add_files(
    turn: &Turn<'_>,
    results: &[ActionResult],
    outcome: &mut Outcome,
    verdict: &mut Verdict,
) {
    let made = results.iter().flat_map(|result| &result.files);
    let mut files: Vec<Media> = made.cloned().collect();
    if files.is_empty() {
        return;
    }
    let made = files.len();
    files.truncate(if turn.files { MOST_FILES } else { 0 });
    if files.len() < made {
        let why = if turn.files { "an answer has ten at most" } else { "this place takes none" };
        let left = made - files.len();
        verdict.step("files", StepOutcome::Note, format!("{left} files were left out: {why}"));
    }
    if files.is_empty() {
        return;
    }
    match outcome.replies.last_mut() {
        Some(reply) => reply.attachments.extend(files),
        None => outcome.replies.push(Content { attachments: files, ..Content::default() }),
    }
}
