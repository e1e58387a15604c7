//! Fit: a draft of a prompt → a request within a budget of tokens. Pure.
//!
//! What goes first: own long answers are shortened, the oldest whole messages are left out, a
//! message that alone takes a large part is cut with a visible mark, as are those that wait for an
//! answer when they do not fit by themselves. Of the instructions the largest part that the
//! character does not need is left out, and only then the character itself is cut.

use galatea_core::{
    model::{ChatMessage, ChatPart, ChatRole, TextRequest, ToolSpec},
    tokens::{Family, Scale},
};
use std::sync::Arc;

use super::conversation::OPENING;

/// Tokens of an own earlier answer that stay when room is needed: its beginning and end.
const OWN: u64 = 250;
/// Part of the budget that instructions and tools may take.
const SYSTEM: (u64, u64) = (6, 10);
/// Part of the conversation's room that one earlier message may take.
const ONE: u64 = 3;
/// What stands first where something was left out.
const LEFT_OUT: &str = "(Earlier messages are not shown.)";
/// Heads the messages that hold the sections beside the instructions. A person's message
/// begins with a name, and a name has no brackets, so no person can write such a message.
pub(super) const NOTES: &str = "[Notes for your next message]";

/// A part of the instructions.
#[derive(Debug, Clone)]
pub(super) struct Section {
    /// What it is, for the verdict.
    pub(super) name: String,
    /// Its text.
    pub(super) text: String,
    /// The answer would not be the character's without it.
    pub(super) needed: bool,
    /// Where it stands.
    pub(super) place: Place,
}

/// Where a section stands. A provider charges little for the beginning that a request has in common
/// with the one before, so what changes less often stands in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Among the instructions: the same from turn to turn, and the operator's own words.
    Instructions,
    /// Before the earlier messages: changes when these lose their first ones. People's words stand
    /// here rather than among the instructions.
    Opening,
    /// Behind the earlier messages: for this turn only.
    Notes,
}

/// A prompt before its length is looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    /// Instructions, in order.
    pub(super) sections: Vec<Section>,
    /// The conversation, oldest first.
    pub(super) messages: Vec<ChatMessage>,
    /// How many of the last ones wait for an answer.
    pub(super) waiting: usize,
    /// The conversation goes on quickly, so that the provider may still have its beginning cached.
    pub(super) active: bool,
    /// Tools.
    pub(super) tools: Arc<Vec<ToolSpec>>,
}

/// What a prompt may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// How the model counts.
    pub(super) family: Family,
    /// How its counts compare to the estimate.
    pub(super) scale: Scale,
    /// Tokens of the whole request; none when nothing is known.
    pub(super) tokens: Option<u64>,
}

impl Budget {
    fn of(self, text: &str) -> u64 {
        self.scale.apply(self.family.text(text))
    }

    fn message(self, message: &ChatMessage) -> u64 {
        self.scale.apply(self.family.message(message))
    }
}

/// A request within a budget.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) request: TextRequest,
    /// Its tokens as they are estimated, before they are scaled.
    pub(super) estimate: u64,
    /// What was left out of it, for people.
    pub(super) left_out: Vec<String>,
}

/// Makes the request, and leaves out what the budget does not hold.
pub(super) fn fit(draft: Draft, budget: Budget) -> Fitted {
    let around = without_conversation(&draft, &draft.sections);
    let said: u64 = draft.messages.iter().map(|message| budget.family.message(message)).sum();
    let estimate = budget.family.request(&around) + said;
    let (waiting, active) = (draft.waiting, draft.active);
    let Some(most) = budget.tokens.filter(|most| budget.scale.apply(estimate) > *most) else {
        let request = with_conversation(around, draft.messages, waiting, active);
        return Fitted { request, estimate, left_out: Vec::new() };
    };
    let mut notes = Vec::new();
    let tools: u64 =
        draft.tools.iter().map(|tool| budget.scale.apply(budget.family.tool(tool))).sum();
    let system = (most * SYSTEM.0 / SYSTEM.1).saturating_sub(tools);
    let sections = instructions(&draft.sections, system, budget, &mut notes);
    let taken = tools + sections.iter().map(|section| budget.of(&section.text) + 1).sum::<u64>();
    // The frames of the instructions and of the messages that the program adds.
    let frames: u64 =
        [LEFT_OUT, NOTES, NOTES].map(|own| budget.message(&ChatMessage::user(own))).iter().sum();
    let room = most.saturating_sub(taken + 8 + frames);
    let messages = conversation(&draft, room, budget, &mut notes);
    let around = without_conversation(&draft, &sections);
    let request = with_conversation(around, messages, waiting, active);
    let estimate = budget.family.request(&request);
    Fitted { request, estimate, left_out: notes }
}

/// The sections: as instructions, and as the messages before and behind the earlier messages.
fn without_conversation(draft: &Draft, sections: &[Section]) -> TextRequest {
    let joined = |place: Place| {
        let texts: Vec<&str> = sections
            .iter()
            .filter(|section| section.place == place)
            .map(|section| section.text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    };
    let message = |text: String| ChatMessage::user(format!("{NOTES}\n\n{text}"));
    let (opening, notes) = (joined(Place::Opening), joined(Place::Notes));
    TextRequest {
        system: joined(Place::Instructions),
        stable: usize::from(opening.is_some()),
        messages: Arc::new(opening.into_iter().chain(notes).map(message).collect()),
        tools: Arc::clone(&draft.tools),
        ..TextRequest::default()
    }
}

/// Puts the earlier messages between the request's own messages, and what waits for an answer
/// behind them.
fn with_conversation(
    mut request: TextRequest,
    mut messages: Vec<ChatMessage>,
    waiting: usize,
    active: bool,
) -> TextRequest {
    let mut own = Arc::unwrap_or_clone(request.messages);
    let notes = own.split_off(request.stable);
    let earlier = messages.len().saturating_sub(waiting);
    messages.splice(earlier..earlier, notes);
    messages.splice(..0, own);
    request.messages = messages.into();
    request.stable = if active { request.stable + earlier } else { 0 };
    request
}

fn instructions(
    sections: &[Section],
    most: u64,
    budget: Budget,
    notes: &mut Vec<String>,
) -> Vec<Section> {
    let mut kept = sections.to_vec();
    let size =
        |kept: &[Section]| kept.iter().map(|section| budget.of(&section.text) + 1).sum::<u64>();
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
        // What cannot be cut to less is sent as it is: the model may count less.
        if own < 64 {
            break;
        }
        longest.text = cut(&longest.text, own.saturating_sub(over + 16).max(own / 4), budget);
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
    budget: Budget,
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

/// What waits for an answer: all of it, each cut to the same length when it is too much together.
fn level(
    waiting: &[ChatMessage],
    room: u64,
    budget: Budget,
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

/// Cuts the longest text of a message so that the message takes about so many tokens.
fn shorten(message: &mut ChatMessage, most: u64, budget: Budget) {
    let size = budget.message(message);
    let longest = message
        .parts
        .iter_mut()
        .filter_map(|part| if let ChatPart::Text { text } = part { Some(text) } else { None })
        .max_by_key(|text| text.len());
    if let Some(text) = longest {
        let own = budget.of(text);
        *text = cut(text, most.saturating_sub(size.saturating_sub(own)), budget);
    }
}

/// The beginning and the end of a text that together take so many tokens at most, with a mark
/// between them.
pub(super) fn cut(text: &str, most: u64, budget: Budget) -> String {
    let size = budget.of(text);
    if size <= most {
        return text.to_owned();
    }
    // Texts are denser in some places than in others, so what is left is looked at again.
    let mut keep = usize::try_from(
        (text.len() as u128 * u128::from(most.saturating_sub(16))) / u128::from(size.max(1)),
    )
    .unwrap_or(0);
    loop {
        // Two thirds of it from the beginning.
        let head = text.floor_char_boundary(keep * 2 / 3);
        let tail =
            text.ceil_char_boundary(text.len() - (keep - keep * 2 / 3).min(text.len() - head));
        let out = text[head..tail].chars().count();
        let cut = format!(
            "{} [… {out} characters left out …] {}",
            text[..head].trim_end(),
            text[tail..].trim_start()
        );
        if keep == 0 || budget.of(&cut) <= most {
            return cut.trim().to_owned();
        }
        keep = keep * 4 / 5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn budget(tokens: u64) -> Budget {
        Budget { family: Family::Other, scale: Scale::default(), tokens: Some(tokens) }
    }

    fn draft(earlier: usize, length: usize) -> Draft {
        let line = |n: usize| format!("Ann: {n} {}", "word ".repeat(length));
        let mut messages: Vec<ChatMessage> = (0..earlier)
            .map(|n| {
                if n % 2 == 0 {
                    ChatMessage::user(line(n))
                } else {
                    ChatMessage::assistant(line(n))
                }
            })
            .collect();
        messages.push(ChatMessage::user("Ann: the question"));
        let section = |name: &str, needed, text: String| Section {
            name: name.into(),
            text,
            needed,
            place: if needed { Place::Instructions } else { Place::Notes },
        };
        let sections = vec![
            section("base", true, "You are Eliza.".into()),
            section("FACTS", false, "fact ".repeat(100)),
            section("CHARACTER", true, "Bio.".into()),
        ];
        Draft { sections, messages, waiting: 1, ..Draft::default() }
    }

    fn fitted(draft: &Draft, budget: Budget) -> (TextRequest, Vec<String>) {
        let Fitted { request, estimate, left_out } = fit(draft.clone(), budget);
        assert_eq!(estimate, tokens_of(&request));
        (request, left_out)
    }

    fn tokens_of(request: &TextRequest) -> u64 {
        Family::Other.request(request)
    }

    /// The messages of a request without the one that holds the passing sections.
    fn said(request: &TextRequest) -> Vec<&ChatMessage> {
        request.messages.iter().filter(|message| !message.text().starts_with(NOTES)).collect()
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let draft = draft(4, 10);
        for tokens in [Some(10_000), None] {
            let (request, notes) = fitted(&draft, Budget { tokens, ..budget(0) });
            assert_eq!(said(&request), draft.messages.iter().collect::<Vec<_>>());
            assert_eq!(notes.len(), 0);
        }
    }

    #[test]
    fn what_changes_stands_behind_the_earlier_messages() {
        let draft = Draft { active: true, ..draft(4, 10) };
        let (request, _) = fitted(&draft, Budget { tokens: None, ..budget(0) });
        assert_eq!(request.system.as_deref(), Some("You are Eliza.\n\nBio."));
        assert_eq!(request.stable, 4);
        assert!(request.messages[4].text().starts_with(&format!("{NOTES}\n\nfact fact")));
        assert_eq!(request.messages[5].text(), "Ann: the question");
        let (quiet, _) =
            fitted(&Draft { active: false, ..draft }, Budget { tokens: None, ..budget(0) });
        assert_eq!((quiet.stable, &quiet.messages), (0, &request.messages));
    }

    #[test]
    fn a_summary_stands_before_the_earlier_messages() {
        let mut draft = Draft { active: true, ..draft(4, 10) };
        let summary = Section {
            name: "SUMMARIZED_CONTEXT".into(),
            text: "# Earlier\nAnn is new.".into(),
            needed: false,
            place: Place::Opening,
        };
        draft.sections.insert(1, summary);
        let (request, _) = fitted(&draft, Budget { tokens: None, ..budget(0) });
        assert_eq!(request.system.as_deref(), Some("You are Eliza.\n\nBio."), "no instruction");
        assert_eq!(request.messages[0].text(), format!("{NOTES}\n\n# Earlier\nAnn is new."));
        assert_eq!(request.stable, 5);
        assert!(request.messages[1].text().starts_with("Ann: 0"));
        assert!(request.messages[5].text().starts_with(&format!("{NOTES}\n\nfact fact")));
        assert_eq!(request.messages[6].text(), "Ann: the question");
        // A model that takes little loses it before the character.
        draft.sections[1].text = "word ".repeat(3_000);
        let (request, notes) = fitted(&draft, budget(1_000));
        assert!(tokens_of(&request) <= 1_000);
        assert!(notes[0].starts_with("SUMMARIZED_CONTEXT was left out"), "{notes:?}");
    }

    #[test]
    fn the_oldest_go_first_and_own_answers_are_shortened() {
        let (request, notes) = fitted(&draft(40, 300), budget(3_000));
        assert!(tokens_of(&request) <= 3_000);
        assert_eq!(request.messages.last().unwrap().text(), "Ann: the question");
        assert_eq!(request.messages[0].text(), LEFT_OUT);
        let said = said(&request);
        let newest = said[said.len() - 2];
        assert!(
            newest.role == ChatRole::Assistant
                && newest.text().contains("characters left out")
                && newest.text().starts_with("Ann: 39"),
            "{}",
            newest.text()
        );
        assert!(
            notes.iter().any(|n| n.contains("were left out"))
                && notes.iter().any(|n| n.contains("own were shortened")),
            "{notes:?}"
        );
        let numbers: Vec<u32> =
            said[1..].iter().filter_map(|m| m.text().split(' ').nth(1)?.parse().ok()).collect();
        assert!(
            numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
            "whole messages, none from the middle: {numbers:?}"
        );
    }

    #[test]
    fn one_huge_message_costs_neither_the_others_nor_itself() {
        let mut draft = draft(6, 10);
        draft.messages[2] = ChatMessage::user(format!("Ann: {}", "long ".repeat(20_000)));
        let (request, notes) = fitted(&draft, budget(3_000));
        assert_eq!(said(&request).len(), 7, "{notes:?}");
        assert!(request.messages[2].text().contains("characters left out"));
        draft.messages[6] = ChatMessage::user(format!("Ann: {} the end", "long ".repeat(20_000)));
        let (request, _) = fitted(&draft, budget(3_000));
        let last = request.messages.last().unwrap().text();
        assert!(
            last.starts_with("Ann: long")
                && last.ends_with("the end")
                && last.contains("characters left out")
        );
        assert!(tokens_of(&request) <= 3_000);
    }

    #[test]
    fn instructions_lose_what_the_character_does_not_need() {
        let mut draft = draft(0, 0);
        draft.sections[1].text = "fact ".repeat(3_000);
        let (request, notes) = fitted(&draft, budget(1_000));
        assert_eq!(request.system.as_deref(), Some("You are Eliza.\n\nBio."));
        assert!(notes[0].starts_with("FACTS was left out"), "{notes:?}");
        draft.sections[0].text = format!("You are Eliza. {}", "lore ".repeat(5_000));
        let (request, notes) = fitted(&draft, budget(1_000));
        assert!(request.system.as_deref().unwrap().starts_with("You are Eliza. lore"), "{notes:?}");
        assert!(tokens_of(&request) <= 1_000);
    }

    proptest! {
        #[test]
        fn whatever_is_said_fits(lengths in prop::collection::vec(0_usize..4_000, 1..40), waiting in 1_usize..6, tokens in 600_u64..9_000, word in "[a日ü ]{1,6}") {
            let messages: Vec<ChatMessage> = lengths.iter().enumerate().map(|(n, length)| {
                let text = format!("Ann: {}", word.repeat(*length));
                if n % 3 == 1 { ChatMessage::assistant(text) } else { ChatMessage::user(text) }
            }).collect();
            let waiting = waiting.min(messages.len());
            let draft = Draft { messages, waiting, ..Draft::default() };
            let (request, _) = fitted(&draft, budget(tokens));
            prop_assert!(tokens_of(&request) <= tokens, "{} of {tokens}", tokens_of(&request));
            prop_assert!(request.messages.len() >= waiting);
        }
    }
}
