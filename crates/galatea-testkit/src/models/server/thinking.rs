//! The time that the model takes before each answer.

use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Number of answers whose times are kept.
const KEPT: usize = 1024;

/// A pause before each answer, and how long the last pauses took: a timer ends a little late.
#[derive(Default)]
pub(super) struct Thinking(Mutex<State>);

#[derive(Default)]
struct State {
    pause: Duration,
    times: VecDeque<Duration>,
}

impl Thinking {
    /// Sets the pause and forgets the times of the one before.
    pub(super) fn set(&self, pause: Duration) {
        *self.lock() = State { pause, ..State::default() };
    }

    /// Time that the last pauses took.
    pub(super) fn times(&self) -> Vec<Duration> {
        self.lock().times.iter().copied().collect()
    }

    /// Waits before an answer.
    pub(super) async fn wait(&self) {
        let pause = self.lock().pause;
        if pause.is_zero() {
            return;
        }
        let begun = Instant::now();
        tokio::time::sleep(pause).await;
        let mut state = self.lock();
        if state.times.len() == KEPT {
            state.times.pop_front();
        }
        state.times.push_back(begun.elapsed());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}
