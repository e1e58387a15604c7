//! Fits the draft of a prompt into a request within a budget of tokens. Pure.
//!
//! What goes first: own long answers are shortened, the oldest whole messages are left out, a
//! message that alone takes a large part is cut with a visible mark, as are those that wait for an
//! answer when they do not fit by themselves. Of the instructions the largest part that the
//! character does not need is left out, and only then the character itself is cut.

mod budget;
mod cut;

use galatea_core::model::{
    CacheFor, ChatMessage, ChatPart, ChatRole, TextRequest, ToolChoice, ToolSpec, text_actions,
};
use std::sync::Arc;

pub(crate) use self::budget::PromptBudget;
use self::cut::{cut, shorten};
use super::conversation::OPENING;

/// Tokens of an own earlier answer that stay when room is needed: its beginning and end.
const OWN: u64 = 250;
/// Part of the budget that instructions and tools may take.
const SYSTEM: (u64, u64) = (6, 10);
/// Part of the conversation's room that one earlier message may take.
const ONE: u64 = 3;
/// Part of the budget that results of tools may take when room is needed.
const STEPS: u64 = 3;
/// First line where something was left out.
const LEFT_OUT: &str = "(Earlier messages are not shown.)";

/// A part of the instructions.
#[derive(Debug, Clone)]
pub(crate) struct DraftSection {
    /// Name, for the verdict.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
    /// The answer would not be the character's without it.
    pub(crate) needed: bool,
    /// Position.
    pub(crate) place: SectionPlace,
}

/// Position of a section. A provider charges little for the beginning that a request has in common
/// with the one before, so what changes less often stands in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionPlace {
    /// Among the instructions: the same from turn to turn, and the operator's own words.
    Instructions,
    /// Before the earlier messages: changes when these lose their first ones. People's words stand
    /// here rather than among the instructions.
    Opening,
    /// Behind the earlier messages: for this turn only, as the program's words
    /// ([`ChatRole::System`]).
    Notes,
}

/// Pace at which a conversation asks the model.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    /// It goes on quickly, so that the provider may still have its beginning cached.
    pub(crate) active: bool,
    /// It asks several times a day, and most such conversations ask again within the hour.
    pub(crate) frequent: bool,
}

impl Pace {
    /// Text stored for an hour costs Anthropic's customers 2 instead of 1.25 times the price of
    /// reading it, and is read for a tenth (Anthropic, "Prompt caching"): it pays when one of two
    /// further requests comes within the hour and not within five minutes.
    fn cache_instructions(self) -> CacheFor {
        match self {
            Self { frequent: true, .. } => CacheFor::Hour,
            Self { active: true, .. } => CacheFor::Minutes,
            Self { .. } => CacheFor::Nothing,
        }
    }
}

/// A prompt before its length is looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    /// Instructions, in order.
    pub(crate) sections: Vec<DraftSection>,
    /// The conversation, oldest first.
    pub(crate) messages: Vec<ChatMessage>,
    /// Number of the last messages that wait for an answer.
    pub(crate) waiting: usize,
    /// Time at which the next request that begins alike is expected.
    pub(crate) pace: Pace,
    /// Tools.
    pub(crate) tools: Arc<Vec<ToolSpec>>,
    /// Whether they may be called now.
    pub(crate) tool_choice: ToolChoice,
    /// Calls of this turn and their results, which stand behind what waits for an answer.
    pub(crate) steps: Vec<ChatMessage>,
}

/// A request within a budget.
#[derive(Debug)]
pub(crate) struct Fitted {
    pub(crate) request: TextRequest,
    /// Its tokens as they are estimated, before they are scaled.
    pub(crate) estimate: u64,
    /// Parts that were left out, for people.
    pub(crate) left_out: Vec<String>,
    /// It holds the question. Without it, it must not be sent.
    pub(crate) asks: bool,
}

/// Tokens of a message that waits for an answer that stay, whatever else has to go: a question of
/// usual length stays whole.
const QUESTION: u64 = 400;
/// Tokens of it that say what is asked.
const LEAST_QUESTION: u64 = 64;

/// Makes the request, and leaves out what the budget does not hold: tools before the persona, and
/// the persona before the question.
pub(crate) fn fit(draft: Draft, budget: PromptBudget) -> Fitted {
    let fitted = fit_with(draft.clone(), budget, Keep::All);
    if fitted.asks || budget.tokens.is_none() {
        return fitted;
    }
    let mut bare = draft;
    let mut notes = Vec::new();
    if !bare.tools.is_empty() {
        notes.push("the tools were left out: the question would not fit beside them".to_owned());
        bare.tools = Arc::default();
        bare.tool_choice = ToolChoice::Auto;
        for step in bare.steps.iter_mut().filter(|step| step.uses_tools()) {
            *step = text_actions::in_words(step);
        }
    }
    let mut fitted = fit_with(bare.clone(), budget, Keep::All);
    if !fitted.asks {
        fitted = fit_with(bare, budget, Keep::Question);
    }
    notes.append(&mut fitted.left_out);
    Fitted { left_out: notes, ..fitted }
}

/// Part of the instructions that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Their share.
    All,
    /// Room that the question leaves.
    Question,
}

/// The tokens that the waiting messages need at least.
fn question(draft: &Draft, most: u64, budget: PromptBudget) -> u64 {
    let waiting = &draft.messages[draft.messages.len().saturating_sub(draft.waiting)..];
    let each = (most / 2 / (waiting.len() as u64).max(1)).clamp(LEAST_QUESTION, QUESTION);
    waiting.iter().map(|message| budget.message(message).min(each)).sum()
}

fn fit_with(draft: Draft, budget: PromptBudget, keep: Keep) -> Fitted {
    let around = without_conversation(&draft, &draft.sections);
    let said: u64 = draft.messages.iter().map(|message| budget.family.message(message)).sum();
    let done: u64 = draft.steps.iter().map(|message| budget.family.message(message)).sum();
    let estimate = budget.family.request(&around) + said + done;
    let (waiting, pace) = (draft.waiting, draft.pace);
    let Some(most) = budget.tokens.filter(|most| budget.scale.apply(estimate) > *most) else {
        let request = with_conversation(around, draft.messages, waiting, pace, draft.steps);
        return Fitted { request, estimate, left_out: Vec::new(), asks: true };
    };
    let question = question(&draft, most, budget);
    let mut notes = Vec::new();
    let tools: u64 =
        draft.tools.iter().map(|tool| budget.scale.apply(budget.family.tool(tool))).sum();
    // The frames of the instructions and of the messages that the program adds.
    let frames: u64 =
        [LEFT_OUT, "", ""].map(|own| budget.message(&ChatMessage::system(own))).iter().sum();
    let system = match keep {
        Keep::All => (most * SYSTEM.0 / SYSTEM.1).saturating_sub(tools),
        Keep::Question => most.saturating_sub(question + 8 + frames),
    };
    let sections = instructions(&draft.sections, system, budget, keep, &mut notes);
    let steps = shorter(&draft.steps, most / STEPS, budget, &mut notes);
    let done: u64 = steps.iter().map(|message| budget.message(message)).sum();
    let taken =
        tools + done + sections.iter().map(|section| budget.of(&section.text) + 1).sum::<u64>();
    let room = most.saturating_sub(taken + 8 + frames);
    let messages = conversation(&draft, room, budget, &mut notes);
    let around = without_conversation(&draft, &sections);
    let request = with_conversation(around, messages, waiting, pace, steps);
    let estimate = budget.family.request(&request);
    Fitted { request, estimate, left_out: notes, asks: room >= question }
}

/// The sections: as instructions, and as the messages before and behind the earlier messages.
fn without_conversation(draft: &Draft, sections: &[DraftSection]) -> TextRequest {
    let joined = |place: SectionPlace| {
        let texts: Vec<&str> = sections
            .iter()
            .filter(|section| section.place == place)
            .map(|section| section.text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    };
    let (opening, notes) = (joined(SectionPlace::Opening), joined(SectionPlace::Notes));
    TextRequest {
        system: joined(SectionPlace::Instructions),
        opening: usize::from(opening.is_some()),
        messages: Arc::new(opening.into_iter().chain(notes).map(ChatMessage::system).collect()),
        tools: Arc::clone(&draft.tools),
        tool_choice: draft.tool_choice,
        ..TextRequest::default()
    }
}

/// Calls and results with the results cut to the same length each, when they are too much together.
fn shorter(
    steps: &[ChatMessage],
    most: u64,
    budget: PromptBudget,
    notes: &mut Vec<String>,
) -> Vec<ChatMessage> {
    let mut kept = steps.to_vec();
    let size: u64 = kept.iter().map(|message| budget.message(message)).sum();
    if size <= most {
        return kept;
    }
    let mut texts: Vec<&mut String> = Vec::new();
    for part in kept.iter_mut().flat_map(|message| &mut message.parts) {
        if let ChatPart::ToolResult { text, .. } = part {
            texts.push(text);
        }
    }
    let results: u64 = texts.iter().map(|text| budget.of(text)).sum();
    let each = most.saturating_sub(size.saturating_sub(results)) / (texts.len() as u64).max(1);
    let long = texts.into_iter().filter(|text| budget.of(text) > each.max(32));
    let mut cuts = 0;
    for text in long {
        *text = cut(text, each.max(32), budget);
        cuts += 1;
    }
    notes.push(format!("{cuts} results of tools were cut: the model takes {most} tokens of them"));
    kept
}

/// Puts the earlier messages between the request's own messages, and what waits for an answer
/// behind them.
fn with_conversation(
    mut request: TextRequest,
    mut messages: Vec<ChatMessage>,
    waiting: usize,
    pace: Pace,
    steps: Vec<ChatMessage>,
) -> TextRequest {
    let mut own = Arc::unwrap_or_clone(request.messages);
    let notes = own.split_off(request.opening);
    let earlier = messages.len().saturating_sub(waiting);
    messages.splice(earlier..earlier, notes);
    messages.splice(..0, own);
    messages.extend(steps);
    request.messages = messages.into();
    request.stable = if pace.active { request.opening + earlier } else { 0 };
    request.cache_instructions = pace.cache_instructions();
    request
}

fn instructions(
    sections: &[DraftSection],
    most: u64,
    budget: PromptBudget,
    keep: Keep,
    notes: &mut Vec<String>,
) -> Vec<DraftSection> {
    let mut kept = sections.to_vec();
    let size = |kept: &[DraftSection]| {
        kept.iter().map(|section| budget.of(&section.text) + 1).sum::<u64>()
    };
    while size(&kept) > most {
        let largest = kept
            .iter()
            .enumerate()
            .filter(|(_, section)| !section.needed)
            .max_by_key(|(_, section)| section.text.len())
            .map(|(at, _)| at);
        let Some(largest) = largest else { break };
        notes.push(format!(
            "{} was left out: the model takes {most} tokens of instructions",
            kept.remove(largest).name
        ));
    }
    while size(&kept) > most {
        let over = size(&kept) - most;
        let Some(longest) = kept.iter_mut().max_by_key(|section| section.text.len()) else { break };
        let own = budget.of(&longest.text);
        // A text that cannot be cut to less is sent as it is: the model may count less. The
        // question has to fit, though.
        let least = if keep == Keep::Question { 0 } else { own / 4 };
        if own < 64 && keep == Keep::All {
            break;
        }
        if own < 24 {
            kept.retain(|section| !section.text.is_empty());
            let Some(last) = kept.pop() else { break };
            notes.push(format!("{} was left out: the question would not fit beside it", last.name));
            continue;
        }
        longest.text = cut(&longest.text, own.saturating_sub(over + 16).max(least), budget);
        notes.push(format!(
            "{} was cut: the model takes {most} tokens of instructions",
            longest.name
        ));
    }
    kept
}

fn conversation(
    draft: &Draft,
    room: u64,
    budget: PromptBudget,
    notes: &mut Vec<String>,
) -> Vec<ChatMessage> {
    let first_waiting = draft.messages.len().saturating_sub(draft.waiting);
    let (earlier, waiting) = draft.messages.split_at(first_waiting);
    let waiting = level(waiting, room, budget, notes);
    let mut left = room.saturating_sub(waiting.iter().map(|message| budget.message(message)).sum());
    let one = (room / ONE).max(64);
    let (mut shortened, mut cuts, mut kept) = (0, 0, Vec::new());
    let earlier: Vec<&ChatMessage> =
        earlier.iter().filter(|message| !is_opening(message)).collect();
    for message in earlier.iter().rev() {
        let own = message.role == ChatRole::Assistant;
        let most = if own { OWN.min(one) } else { one };
        let mut message = (*message).clone();
        if budget.message(&message) > most + 16 {
            shorten(&mut message, most, budget);
            *(if own { &mut shortened } else { &mut cuts }) += 1;
        }
        let size = budget.message(&message);
        if size > left {
            break;
        }
        left -= size;
        kept.push(message);
    }
    let gone = earlier.len() - kept.len();
    kept.reverse();
    for (count, what) in [
        (gone, "were left out"),
        (shortened, "of the agent's own were shortened"),
        (cuts, "were cut"),
    ] {
        if count > 0 {
            notes.push(format!("{count} of {} earlier messages {what}: the model takes {room} tokens of conversation", earlier.len()));
        }
    }
    if gone > 0 {
        kept.insert(0, ChatMessage::user(LEFT_OUT));
    } else if kept.first().is_some_and(|first| first.role == ChatRole::Assistant) {
        kept.insert(0, ChatMessage::user(OPENING));
    }
    kept.extend(waiting);
    kept
}

fn is_opening(message: &ChatMessage) -> bool {
    message.name.is_none()
        && matches!(message.parts.as_slice(), [ChatPart::Text { text }] if text == OPENING)
}

/// Messages that wait for an answer: all of it, each cut to the same length when it is too much
/// together.
fn level(
    waiting: &[ChatMessage],
    room: u64,
    budget: PromptBudget,
    notes: &mut Vec<String>,
) -> Vec<ChatMessage> {
    let mut kept = waiting.to_vec();
    let sum =
        |kept: &[ChatMessage]| kept.iter().map(|message| budget.message(message)).sum::<u64>();
    if sum(&kept) <= room {
        return kept;
    }
    // The short ones stay whole, and leave their share to the long ones.
    let mut sizes: Vec<u64> = kept.iter().map(|message| budget.message(message)).collect();
    sizes.sort_unstable();
    let (mut left, mut share) = (room, 0);
    for (at, size) in sizes.iter().enumerate() {
        share = left / (sizes.len() - at) as u64;
        if *size > share {
            break;
        }
        left -= size;
    }
    let mut cuts = 0;
    for message in &mut kept {
        if budget.message(message) > share {
            shorten(message, share, budget);
            cuts += 1;
        }
    }
    notes.push(format!("{cuts} of the messages to be answered were cut: the model takes {room} tokens of conversation"));
    kept
}

#[cfg(test)]
mod tests;
