//! Failure notices of an agent, and the pause between them in a Room.

use galatea_core::{Error, ErrorKind, RoomId, Timestamp, model::WITHHELD_CODE};
use std::time::Duration;

use crate::{config::MODEL_NOTICE, recent::Recent};

/// At most one failure notice per Room and so long.
const PAUSE: Duration = Duration::from_secs(600);
/// Rooms of which it is known when they last read a failure notice.
const ROOMS: usize = 4096;

/// Text for a Room when the model withholds an answer, unless the operator configured a text.
const WITHHELD: &str = "Sorry, my language model does not answer this.";

/// Text for a Room when a message is longer than the model takes.
const TOO_LONG: &str =
    "Sorry, this message is too long for my language model. Please try a shorter one.";

/// When each Room last read a failure notice.
pub(crate) struct Notices {
    last: Recent<RoomId, Timestamp>,
}

impl Notices {
    /// Starts with Rooms that have read none.
    pub(crate) fn new() -> Self {
        Self { last: Recent::new(ROOMS) }
    }

    /// The text for a Room in which the models gave no answer. One that was withheld would be
    /// withheld again, so the Room does not read that it should try again. A configured text stays:
    /// it may be in another language. `configured` is the text for a Room in which no model answers;
    /// without it, the Room reads nothing.
    pub(crate) fn of_models<'a>(configured: Option<&'a str>, error: &Error) -> Option<&'a str> {
        let text = configured?;
        let is_default = MODEL_NOTICE.default == Some(text);
        Some(match error.code() {
            Some(WITHHELD_CODE) if is_default => WITHHELD,
            _ if error.kind() == ErrorKind::TooLong && is_default => TOO_LONG,
            _ => text,
        })
    }

    /// Records that a notice for this Room was committed.
    pub(crate) fn committed(&self, room: RoomId, at: Timestamp) {
        self.last.insert(room, at);
    }

    /// True if the Room may read a notice again.
    pub(crate) fn is_due(&self, room: RoomId, now: Timestamp) -> bool {
        self.last.get(&room).is_none_or(|last| now.since(last) >= PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_withheld_is_not_asked_for_again() {
        let of = |code, text: Option<&str>| {
            Notices::of_models(text, &Error::unexpected("x").with_code(code)).map(str::to_owned)
        };
        let later = MODEL_NOTICE.default;
        assert_eq!(of("GAL-MODEL-CUT", later).as_deref(), later);
        assert_eq!(of(WITHHELD_CODE, later).as_deref(), Some(WITHHELD));
        let own = Some("Bitte später noch einmal.");
        assert_eq!(of(WITHHELD_CODE, own).as_deref(), own);
        assert_eq!(of(WITHHELD_CODE, None), None, "notices are off");
    }
}
