//! Tests of what is cut and left out of a prompt.

use super::*;
use galatea_core::tokens::{Family, Scale};
use proptest::prelude::*;

fn budget(tokens: u64) -> PromptBudget {
    PromptBudget { family: Family::Other, scale: Scale::default(), tokens: Some(tokens) }
}

fn draft(earlier: usize, length: usize) -> Draft {
    let line = |n: usize| format!("Ann: {n} {}", "word ".repeat(length));
    let mut messages: Vec<ChatMessage> =
        (0..earlier)
            .map(|n| {
                if n % 2 == 0 {
                    ChatMessage::user(line(n))
                } else {
                    ChatMessage::assistant(line(n))
                }
            })
            .collect();
    messages.push(ChatMessage::user("Ann: the question"));
    let section = |name: &str, needed, text: String| DraftSection {
        name: name.into(),
        text,
        needed,
        place: if needed { SectionPlace::Instructions } else { SectionPlace::Notes },
    };
    let sections = vec![
        section("base", true, "You are Eliza.".into()),
        section("FACTS", false, "fact ".repeat(100)),
        section("CHARACTER", true, "Bio.".into()),
    ];
    Draft { sections, messages, waiting: 1, ..Draft::default() }
}

fn fitted(draft: &Draft, budget: PromptBudget) -> (TextRequest, Vec<String>) {
    let Fitted { request, estimate, left_out, .. } = fit(draft.clone(), budget);
    assert_eq!(estimate, tokens_of(&request));
    (request, left_out)
}

fn tokens_of(request: &TextRequest) -> u64 {
    Family::Other.request(request)
}

/// The messages of a request without the one that holds the passing sections.
fn without_notes(request: &TextRequest) -> Vec<&ChatMessage> {
    request.messages.iter().filter(|message| message.role != ChatRole::System).collect()
}

#[test]
fn what_fits_stays_as_it_is() {
    let draft = draft(4, 10);
    for tokens in [Some(10_000), None] {
        let (request, notes) = fitted(&draft, PromptBudget { tokens, ..budget(0) });
        assert_eq!(without_notes(&request), draft.messages.iter().collect::<Vec<_>>());
        assert_eq!(notes.len(), 0);
    }
}

#[test]
fn what_changes_stands_behind_the_earlier_messages() {
    let draft = Draft { pace: Pace { active: true, frequent: false }, ..draft(4, 10) };
    let (request, _) = fitted(&draft, PromptBudget { tokens: None, ..budget(0) });
    assert_eq!(request.system.as_deref(), Some("You are Eliza.\n\nBio."));
    assert_eq!(request.stable, 4);
    assert_eq!(request.messages[4].role, ChatRole::System);
    assert!(request.messages[4].text().starts_with("fact fact"), "without a head");
    assert_eq!(request.messages[5].text(), "Ann: the question");
    assert_eq!(request.cache_instructions, CacheFor::Minutes);
    let at = |pace| {
        fitted(&Draft { pace, ..draft.clone() }, PromptBudget { tokens: None, ..budget(0) }).0
    };
    let quiet = at(Pace::default());
    assert_eq!((quiet.stable, &quiet.messages), (0, &request.messages));
    assert_eq!(quiet.cache_instructions, CacheFor::Nothing);
    let frequent = at(Pace { active: false, frequent: true });
    assert_eq!((frequent.stable, frequent.cache_instructions), (0, CacheFor::Hour));
    let both = at(Pace { active: true, frequent: true });
    assert_eq!((both.stable, both.cache_instructions), (4, CacheFor::Hour));
}

#[test]
fn a_summary_stands_before_the_earlier_messages() {
    let mut draft = Draft { pace: Pace { active: true, frequent: false }, ..draft(4, 10) };
    let summary = DraftSection {
        name: "SUMMARIZED_CONTEXT".into(),
        text: "Ann is new.".into(),
        needed: false,
        place: SectionPlace::Opening,
    };
    draft.sections.insert(1, summary);
    let (request, _) = fitted(&draft, PromptBudget { tokens: None, ..budget(0) });
    assert_eq!(request.system.as_deref(), Some("You are Eliza.\n\nBio."), "no instruction");
    assert_eq!(request.messages[0], ChatMessage::system("Ann is new."));
    assert_eq!(request.stable, 5);
    assert!(request.messages[1].text().starts_with("Ann: 0"));
    assert!(request.messages[5].text().starts_with("fact fact"));
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
    let said = without_notes(&request);
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
    assert_eq!(without_notes(&request).len(), 7, "{notes:?}");
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

#[test]
fn tools_go_before_the_persona_and_the_persona_before_the_question() {
    let tool = |n: usize| ToolSpec {
        name: format!("TOOL_{n}"),
        description: "Does something useful. ".repeat(20),
        parameters: serde_json::json!({ "type": "object" }).into(),
    };
    let mut draft = draft(6, 30);
    draft.sections[0].text = "You are Eliza, and kind. ".repeat(40);
    draft.tools = Arc::new((0..4).map(tool).collect());
    let question = "Ann: what is the name of my dog, who is called after the river in my town?";
    *draft.messages.last_mut().unwrap() = ChatMessage::user(question);
    let mut states = Vec::new();
    for tokens in (40..3_000).rev().step_by(7) {
        let Fitted { request, estimate, asks, .. } = fit(draft.clone(), budget(tokens));
        let has_question = request.messages.iter().any(|message| message.text() == question);
        assert!(has_question || !asks, "{tokens}");
        assert!(!asks || estimate <= tokens + 100, "{tokens}: {estimate}");
        let persona = request.system.unwrap_or_default();
        let state = match (asks, request.tools.is_empty(), persona.contains("left out")) {
            (false, ..) => 3,
            (_, true, _) => 2,
            (_, false, true) => 1,
            (_, false, false) => 0,
        };
        if states.last() != Some(&state) {
            states.push(state);
        }
    }
    assert!(states.ends_with(&[2, 3]) && !states[..states.len() - 1].contains(&3), "{states:?}");
}

proptest! {
    /// However small the budget, a request that is sent holds the question, or its beginning where
    /// the question itself is long.
    #[test]
    fn a_request_that_is_sent_asks(tokens in 1u64..3_000, words in 1usize..2_000, waiting in 1usize..6) {
        let mut draft = draft(4, 20);
        let question = format!("Ann: where is the key {}", "that I lost ".repeat(words));
        *draft.messages.last_mut().unwrap() = ChatMessage::user(question);
        draft.waiting = waiting.min(draft.messages.len());
        let Fitted { request, asks, .. } = fit(draft, budget(tokens));
        let last = request.messages.last().map(ChatMessage::text).unwrap_or_default();
        prop_assert!(!asks || last.starts_with("Ann: where is the key"), "{}", last);
    }
}
