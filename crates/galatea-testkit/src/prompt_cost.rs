//! The cost of a talk's prompts: what providers charge for prompts that begin alike, by their own
//! documents. Pure. The benchmark prints it, and a test of the message path holds it to its target.

use serde::Deserialize;

/// Tokens of a prompt of the version before, counted as OpenAI's. 17 % of it were as in the one
/// before: fewer tokens than either provider caches (OpenAI 1,024, Anthropic 512), so it was paid
/// whole.
pub const BEFORE: u64 = 2_200;

/// A prompt, in tokens.
#[derive(Debug, Clone, Deserialize)]
pub struct Prompt {
    /// Seconds since the prompt before.
    pub after: Option<i64>,
    /// All of them.
    pub tokens: u64,
    /// Begins like the prompt before.
    pub shared: u64,
    /// Offered to the cache for minutes, the instructions included; 0 if the conversation has no
    /// mark.
    pub marked: u64,
    /// Seconds for which the tools and instructions are offered to the cache.
    pub instructions_kept: i64,
    /// Of its answer.
    pub answer: u64,
    /// Their place.
    pub sections: Sections,
}

impl Prompt {
    /// Tokens of what is the same in every prompt of the room and day.
    fn fixed(&self) -> u64 {
        self.sections.tools + self.sections.instructions
    }
}

/// Tokens of a prompt by its sections.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct Sections {
    /// Tools.
    pub tools: u64,
    /// Instructions.
    pub instructions: u64,
    /// The conversation, with what is asked.
    pub conversation: u64,
    /// The notes of this turn.
    pub turn: u64,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Of input.
    pub input: f64,
    /// Of input that is read from the cache.
    pub cached: f64,
    /// Of output.
    pub output: f64,
}

/// Tokens of prompts by what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Charged {
    /// Neither stored nor read.
    pub full: u64,
    /// Stored in the cache for minutes.
    pub stored: u64,
    /// Stored in the cache for an hour.
    pub stored_long: u64,
    /// Read from the cache.
    pub read: u64,
}

/// Price of a token that is stored for minutes, in parts of the usual one (Anthropic, and OpenAI from
/// GPT-5.6 on, "Prompt caching").
const STORED: f64 = 1.25;
/// Tokens stored for an hour (Anthropic).
const STORED_LONG: f64 = 2.0;

#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
impl Price {
    /// Dollars for a million prompts like this one.
    pub fn of(self, charged: Charged) -> f64 {
        let stored = charged.stored as f64 * STORED + charged.stored_long as f64 * STORED_LONG;
        (charged.full as f64 + stored) * self.input + charged.read as f64 * self.cached
    }

    /// Dollars of a million prompts of a talk.
    pub fn of_talk(self, cache: Cache, prompts: &[Prompt]) -> f64 {
        let all: f64 = cache.charges(prompts).into_iter().map(|charged| self.of(charged)).sum();
        all / prompts.len().max(1) as f64
    }
}

/// The provider that caches, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Marked parts, for as long as the mark says.
    Anthropic,
    /// Each prompt by itself, for half an hour at least.
    OpenAi,
}

/// Seconds for which Anthropic keeps a conversation's marked beginning after each use.
const MINUTES: i64 = 300;
/// Seconds for which OpenAI keeps a prompt from GPT-5.6 on (`prompt_cache_options.ttl`, default).
const HALF_AN_HOUR: i64 = 1_800;
/// Fewest tokens of a prompt that OpenAI caches, and the step in which it counts them.
const LEAST: u64 = 1_024;
const STEP: u64 = 128;

/// The part of the conversation that a provider keeps after a prompt.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// When the tools and instructions are forgotten, and how long each use prolongs that.
    fixed_until: i64,
    fixed_kept: i64,
    /// Tokens held of what stands behind them, and when they are forgotten.
    conversation: u64,
    conversation_until: i64,
}

impl Cache {
    /// The charge of each prompt of a talk.
    pub fn charges(self, prompts: &[Prompt]) -> Vec<Charged> {
        let (mut now, mut held) = (0, Held { fixed_until: -1, ..Held::default() });
        prompts
            .iter()
            .map(|prompt| {
                now += prompt.after.unwrap_or(0);
                match self {
                    Self::Anthropic => held.anthropic(now, prompt),
                    Self::OpenAi => openai(prompt),
                }
            })
            .collect()
    }
}

impl Held {
    fn anthropic(&mut self, now: i64, prompt: &Prompt) -> Charged {
        let fixed = prompt.fixed();
        let mut charged = Charged::default();
        let same = prompt.shared >= fixed;
        let hit = same && now <= self.fixed_until;
        if hit {
            charged.read = fixed;
            self.fixed_until = now + self.fixed_kept;
        } else if prompt.instructions_kept > 0 {
            self.fixed_kept = prompt.instructions_kept;
            self.fixed_until = now + self.fixed_kept;
            let long = prompt.instructions_kept > MINUTES;
            *(if long { &mut charged.stored_long } else { &mut charged.stored }) = fixed;
        } else {
            self.fixed_until = -1;
            charged.full = fixed;
        }
        let marked = prompt.marked.saturating_sub(fixed);
        let begun = prompt.shared.saturating_sub(fixed).min(self.conversation);
        let known = if hit && now <= self.conversation_until { begun.min(marked) } else { 0 };
        charged.read += known;
        charged.stored += marked - known;
        charged.full += prompt.tokens - fixed - marked;
        self.conversation = marked;
        self.conversation_until = if marked > 0 { now + MINUTES } else { -1 };
        charged
    }
}

/// Everything that was not read from the cache is stored in it.
fn openai(prompt: &Prompt) -> Charged {
    let whole = prompt.shared / STEP * STEP;
    let kept = prompt.after.is_some_and(|after| after <= HALF_AN_HOUR);
    let read = if kept && whole >= LEAST { whole } else { 0 };
    let stored = if prompt.tokens >= LEAST { prompt.tokens - read } else { 0 };
    Charged { full: prompt.tokens - read - stored, stored, stored_long: 0, read }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(after: Option<i64>, shared: u64, marked: u64, instructions_kept: i64) -> Prompt {
        let sections = Sections { tools: 200, instructions: 800, ..Sections::default() };
        Prompt { after, tokens: 2_000, shared, marked, instructions_kept, answer: 50, sections }
    }

    fn charged(full: u64, stored: u64, stored_long: u64, read: u64) -> Charged {
        Charged { full, stored, stored_long, read }
    }

    #[test]
    fn anthropic_keeps_what_is_marked_as_long_as_the_mark_says() {
        let talk = [
            prompt(None, 0, 1_500, 300),
            prompt(Some(300), 1_600, 1_700, 300),
            // Forgotten; from now on the instructions stay for an hour.
            prompt(Some(301), 1_700, 1_700, 3_600),
            prompt(Some(3_600), 1_700, 0, 3_600),
            prompt(Some(3_601), 1_700, 0, 0),
        ];
        assert_eq!(
            Cache::Anthropic.charges(&talk),
            [
                charged(500, 1_500, 0, 0),
                charged(300, 200, 0, 1_500),
                charged(300, 700, 1_000, 0),
                charged(1_000, 0, 0, 1_000),
                charged(2_000, 0, 0, 0),
            ]
        );
    }

    #[test]
    fn other_instructions_are_stored_anew() {
        let talk = [prompt(None, 0, 1_500, 3_600), prompt(Some(10), 900, 1_500, 3_600)];
        assert_eq!(Cache::Anthropic.charges(&talk)[1], charged(500, 500, 1_000, 0));
    }

    #[test]
    fn openai_keeps_long_beginnings_for_half_an_hour_in_steps() {
        let second = |after, shared| {
            let talk = [prompt(None, 0, 0, 0), prompt(Some(after), shared, 0, 0)];
            Cache::OpenAi.charges(&talk)[1]
        };
        assert_eq!(second(1_800, 1_500), charged(0, 592, 0, 1_408));
        assert_eq!(second(1_801, 1_500), charged(0, 2_000, 0, 0));
        assert_eq!(second(10, 1_000), charged(0, 2_000, 0, 0));
    }
}
