//! Failure notices of an agent, and the pause between them in a Room.

use galatea_core::{Error, ErrorKind, RoomId, Timestamp, model::WITHHELD_CODE};
use moka::sync::Cache;
use std::time::Duration;

use crate::config::MODEL_NOTICE;

/// At most one failure notice per Room and so long.
const PAUSE: Duration = Duration::from_secs(600);
/// Rooms of which it is known when they last read a failure notice.
const ROOMS: u64 = 4096;

/// Text for a Room when the model withholds an answer, unless the operator configured a text.
const WITHHELD: &str = "Sorry, my language model does not answer this.";

/// Text for a Room when a message is longer than the model takes.
const TOO_LONG: &str =
    "Sorry, this message is too long for my language model. Please try a shorter one.";

/// Failure notices of an agent, and when each Room last read one.
pub(crate) struct Notices {
    no_model: Option<String>,
    last: Cache<RoomId, Timestamp>,
}

impl Notices {
    /// `no_model` is the text for a Room in which no model answers; without it, it reads nothing.
    pub(crate) fn new(no_model: Option<String>) -> Self {
        Self { no_model, last: Cache::new(ROOMS) }
    }

    /// The text for a Room in which the models gave no answer. One that was withheld would be
    /// withheld again, so the Room does not read that it should try again. A configured text stays:
    /// it may be in another language.
    pub(crate) fn of_models(&self, error: &Error) -> Option<&str> {
        let text = self.no_model.as_deref()?;
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
            let notices = Notices::new(text.map(str::to_owned));
            notices.of_models(&Error::unexpected("x").with_code(code)).map(str::to_owned)
        };
        let later = MODEL_NOTICE.default;
        assert_eq!(of("GAL-MODEL-CUT", later).as_deref(), later);
        assert_eq!(of(WITHHELD_CODE, later).as_deref(), Some(WITHHELD));
        let own = Some("Bitte später noch einmal.");
        assert_eq!(of(WITHHELD_CODE, own).as_deref(), own);
        assert_eq!(of(WITHHELD_CODE, None), None, "notices are off");
    }
}
