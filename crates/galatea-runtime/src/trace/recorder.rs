//! The steps of one turn while it is made. Adding one takes a lock of this turn alone, and copies no
//! text that is shared.

use galatea_core::{
    Clock, Error, ModelInfo, Timestamp,
    model::{ChatMessage, TextAnswer, TextRequest, ToolCall, Usage},
    store::{StepKind, StepUse, TraceStep},
};
use parking_lot::Mutex;
use std::sync::Arc;

use crate::config::TraceLevel;

/// Most steps of a turn: six rounds of ten tools with a model's call each, and the providers.
const MOST: usize = 200;
/// Longest name of a step, in characters: those of tools may come from a model.
const NAME: usize = 64;

/// Texts of a step as they are at hand; the writer makes them readable and cuts them.
pub(crate) enum Raw {
    /// Nothing is kept.
    Nothing,
    /// A call of a model.
    Prompt {
        /// Role of the model.
        system: Option<String>,
        /// The conversation.
        messages: Arc<Vec<ChatMessage>>,
        /// How many of the first messages are instructions.
        opening: usize,
        /// The words of the answer.
        text: String,
        /// The tools that the answer calls.
        calls: Vec<ToolCall>,
    },
    /// Parameters and result of an action.
    Call {
        /// The parameters as JSON.
        input: String,
        /// The result.
        output: String,
    },
}

/// What was recorded so far.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) steps: Vec<TraceStep>,
    /// As many as steps.
    pub(super) texts: Vec<Raw>,
    pub(super) left_out: usize,
}

/// Records the steps of one turn.
pub(crate) struct Recorder {
    level: TraceLevel,
    recorded: Mutex<Recorded>,
}

impl Recorder {
    /// Records as much as the agent's settings say.
    pub(crate) fn new(level: TraceLevel) -> Arc<Self> {
        Arc::new(Self { level, recorded: Mutex::default() })
    }

    /// Records nothing.
    pub(crate) fn off() -> Arc<Self> {
        Self::new(TraceLevel::Off)
    }

    /// False if steps are ignored.
    pub(crate) fn is_on(&self) -> bool {
        self.level != TraceLevel::Off
    }

    /// True if texts are kept.
    pub(super) fn has_texts(&self) -> bool {
        self.level == TraceLevel::Full
    }

    /// Adds a step.
    pub(crate) fn add(&self, step: TraceStep) {
        self.add_with(step, || Raw::Nothing);
    }

    /// Adds a step with its texts, which are made only if they are kept.
    pub(crate) fn add_with(&self, mut step: TraceStep, texts: impl FnOnce() -> Raw) {
        if !self.is_on() {
            return;
        }
        if let Some((end, _)) = step.name.char_indices().nth(NAME) {
            step.name.truncate(end);
        }
        let texts = if self.has_texts() { texts() } else { Raw::Nothing };
        let mut recorded = self.recorded.lock();
        if recorded.steps.len() >= MOST {
            recorded.left_out += 1;
            return;
        }
        recorded.steps.push(step);
        recorded.texts.push(texts);
    }

    /// Adds a call of a model. `micros` is its cost, if the price is known.
    pub(crate) fn model(
        &self,
        time: &StepClock<'_>,
        info: &ModelInfo,
        request: &TextRequest,
        outcome: Result<(&TextAnswer, Usage, Option<u64>), &Error>,
    ) {
        if !self.is_on() {
            return;
        }
        let mut step = time.step(StepKind::Model, info.full_name());
        match outcome {
            Ok((answer, used, micros)) => {
                if let Some(by) = &answer.by {
                    step.name = format!("{} {}", by.provider, by.model);
                    step.note = by.passed.first().map(|(link, why)| {
                        format!("{link} did not answer: {why}; {} answered instead", by.link)
                    });
                }
                let Usage { input, cached, output, .. } = used;
                step.used = Some(StepUse { input, cached, output, micros });
                self.add_with(step, || Raw::Prompt {
                    system: request.system.clone(),
                    messages: Arc::clone(&request.messages),
                    opening: request.opening,
                    text: answer.text.clone(),
                    calls: answer.tool_calls.clone(),
                });
            }
            Err(error) => {
                step.failed = true;
                step.note = Some(shown(error));
                self.add_with(step, || Raw::Prompt {
                    system: request.system.clone(),
                    messages: Arc::clone(&request.messages),
                    opening: request.opening,
                    text: String::new(),
                    calls: Vec::new(),
                });
            }
        }
    }

    /// Takes what was recorded since this was called last.
    pub(super) fn take(&self) -> Recorded {
        std::mem::take(&mut *self.recorded.lock())
    }
}

/// An error with its code, for people.
fn shown(error: &Error) -> String {
    match error.code() {
        Some(code) => format!("{error} ({code})"),
        None => error.to_string(),
    }
}

/// The beginning of a step.
pub(crate) struct StepClock<'a> {
    clock: &'a dyn Clock,
    from: Timestamp,
}

impl<'a> StepClock<'a> {
    /// A step begins now.
    pub(crate) fn start(clock: &'a dyn Clock) -> Self {
        Self { clock, from: clock.now() }
    }

    /// A step of this sort and name that ends now.
    pub(crate) fn step(&self, kind: StepKind, name: impl Into<String>) -> TraceStep {
        let took = self.clock.now().since(self.from).as_millis();
        TraceStep {
            kind,
            name: name.into(),
            at: self.from,
            millis: u64::try_from(took).unwrap_or(u64::MAX),
            ..TraceStep::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> TraceStep {
        TraceStep { name: name.to_owned(), ..TraceStep::default() }
    }

    #[test]
    fn what_is_not_kept_is_not_made() {
        for (level, steps) in [(TraceLevel::Off, 0), (TraceLevel::Steps, 1)] {
            let recorder = Recorder::new(level);
            recorder.add_with(step("a"), || unreachable!("texts are not kept"));
            assert_eq!(recorder.take().steps.len(), steps, "{level:?}");
        }
    }

    #[test]
    fn steps_are_bounded_and_counted_beyond() {
        let recorder = Recorder::new(TraceLevel::Full);
        for _ in 0..MOST + 7 {
            recorder.add(step(&"long".repeat(40)));
        }
        let recorded = recorder.take();
        assert_eq!((recorded.steps.len(), recorded.left_out), (MOST, 7));
        assert_eq!(recorded.steps[0].name.chars().count(), NAME);
        assert!(recorder.take().steps.is_empty(), "each step is taken once");
    }
}
