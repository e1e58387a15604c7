//! Answers a command that is repeated once: `/help` in a group for everybody there, any command that
//! one person sends several times in a row.

use galatea_core::{Decision, RoomId, StepOutcome, Timestamp, Verdict};
use std::time::Duration;

use crate::{
    commands::known,
    directory::RoomInfo,
    lanes::Lane,
    recent::Recent,
    turn::message::{Claimed, Waiting},
};

/// Time for which a group is not shown the same again: it still stands among its newest
/// messages.
const PAUSE: Duration = Duration::from_secs(60);
/// Rooms of which it is known when they were shown something.
const ROOMS: usize = 4096;
/// Repeats that are finished together with one command.
const AT_ONCE: usize = 100;

/// Time at which each group was last shown the answer to a command that is the same for everybody.
pub(crate) struct ShownCommands(Recent<(RoomId, String), Timestamp>);

impl Default for ShownCommands {
    fn default() -> Self {
        Self(Recent::new(ROOMS))
    }
}

impl ShownCommands {
    /// The verdict on a command whose answer the Room has just been shown; none where it is to be
    /// answered.
    pub(crate) fn repeats(
        &self,
        info: &RoomInfo,
        message: &Waiting,
        verdict: &Verdict,
        now: Timestamp,
    ) -> Option<Verdict> {
        let name = shared(info, message)?;
        let shown = self.0.get(&(info.room.id, name.to_owned()))?;
        let past = now.since(shown);
        if past >= PAUSE || now < shown {
            return None;
        }
        let mut verdict = verdict.clone();
        verdict.decision = Decision::Skip;
        let why = format!("the answer to /{name} was shown here {} s ago", past.as_secs());
        verdict.step("repeated", StepOutcome::Skip, why);
        Some(verdict)
    }

    /// Records that such a command is answered.
    pub(crate) fn answers(&self, info: &RoomInfo, message: &Waiting, now: Timestamp) {
        if let Some(name) = shared(info, message) {
            self.0.insert((info.room.id, name.to_owned()), now);
        }
    }
}

/// The command's name, if its answer in this Room is the same whoever sends it.
fn shared<'a>(info: &RoomInfo, message: &'a Waiting) -> Option<&'a str> {
    let name = message.entry.envelope.command.as_ref()?.name.as_str();
    (!info.room.kind.is_direct() && matches!(name, "help" | "start")).then_some(name)
}

/// Takes the repeats that wait directly behind a command: the same words of the same person. They are
/// finished with it, each with its verdict.
pub(crate) fn gather(
    lane: &Lane<RoomId, Claimed>,
    message: &Waiting,
    taken: &mut Vec<Claimed>,
) -> Vec<(Waiting, Verdict)> {
    let first = &message.entry;
    let command = first.envelope.command.as_ref();
    let Some(command) = command.filter(|c| known::is_known(&c.name)) else {
        return Vec::new();
    };
    // The new start of a conversation depends on when the last of them was sent.
    if command.name == "reset" || command.name == "ask" {
        return Vec::new();
    }
    let repeats = lane.take_while(AT_ONCE, |next| {
        next.entry.memory.entity_id == first.memory.entity_id
            && next.entry.envelope.edit_of.is_none()
            && next.entry.envelope.command.as_ref() == Some(command)
    });
    let finished = repeats.iter().map(|repeat| {
        let mut verdict = Verdict { decision: Decision::Merged, ..Verdict::default() };
        let why = "the same command was sent before it; one answer is for both";
        verdict.step("repeated", StepOutcome::Note, why);
        (repeat.message.clone(), verdict)
    });
    let finished = finished.collect();
    taken.extend(repeats);
    finished
}
