//! Shows an answer while its model writes it.

use galatea_core::{
    EventHandle, RoomId, Turn, TurnId,
    action::ActionDocs,
    model::{DraftSink, Drafts},
};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::plan::{self, AnswerForm, Parsed};

/// Between two drafts. Each reads the answer from its beginning, and people read no faster.
const PAUSE: Duration = Duration::from_millis(60);
/// Longest answer of which drafts are made, in bytes.
const LONGEST: usize = 64 * 1024;

/// The drafts of one call.
struct Writer {
    events: EventHandle,
    room: RoomId,
    turn: TurnId,
    actions: Vec<Arc<ActionDocs>>,
    form: AnswerForm,
    /// Names that a model may write in front of its words.
    names: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    written: String,
    shown: String,
    last: Option<Instant>,
}

/// A reader of drafts for an answer of this form.
pub(super) fn drafts(turn: &Turn<'_>, form: AnswerForm) -> Drafts {
    let names = [Some(turn.agent.character.name.as_str()), turn.handle];
    Drafts::to(Arc::new(Writer {
        events: turn.events.clone(),
        room: turn.room.id,
        turn: turn.id,
        actions: turn.catalog.actions.clone(),
        form,
        names: names.into_iter().flatten().map(str::to_owned).collect(),
        state: Mutex::default(),
    }))
}

impl DraftSink for Writer {
    fn begin(&self) {
        let mut state = self.state.lock();
        state.written.clear();
        state.last = None;
    }

    fn piece(&self, text: &str) {
        let mut state = self.state.lock();
        state.written.push_str(text);
        if state.written.len() > LONGEST || state.last.is_some_and(|at| at.elapsed() < PAUSE) {
            return;
        }
        state.last = Some(Instant::now());
        let Some(words) = plan::visible(&state.written, &self.actions, self.form) else { return };
        let mut parsed = Parsed::words(&words);
        plan::take_name_off(&mut parsed, self.names.iter().map(String::as_str));
        let words = parsed.plan.text;
        if !words.is_empty() && words != state.shown {
            self.events.draft(self.room, self.turn, &words);
            state.shown = words;
        }
    }
}
