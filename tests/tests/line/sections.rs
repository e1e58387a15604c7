//! A model with a small window gets a conversation within its share of it, whatever the settings
//! say.

use galatea_core::{ModelInfo, model::ModelLimits, sections::Section, tokens::Family};
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::house::{Plan, group};

const WINDOW: u32 = 4_096;
const LONG: &str = "the harbour was quiet and the boats lay still while the rain went on and on";

/// Tokens of the earlier messages of the last prompt, in a model with this window.
async fn conversation(window: Option<u32>, tokens: Option<&'static str>) -> u64 {
    let limits = ModelLimits { window, ..ModelLimits::default() };
    let info = ModelInfo {
        provider: "scripted".into(),
        model: "reader".into(),
        limits,
        ..ModelInfo::default()
    };
    let model = Arc::new(ScriptedModel::saying("I see.").with_info(info));
    let mut plan = Plan::new(Arc::clone(&model) as _).set("CONVERSATION_LENGTH", "100");
    if let Some(tokens) = tokens {
        plan = plan.set("CONVERSATION_TOKENS", tokens);
    }
    let house = plan.build().await;
    let at = group("50", "1");
    for n in 0..60 {
        house.say(&at, &format!("{n} {LONG}, {LONG}")).await;
    }
    house.say(&group("50", "1").mentioning(), "and then?").await;
    house.platform.until_shown("50", 1).await;
    house.quiet().await;
    let asked = model.requests();
    let messages = &asked.last().unwrap().messages;
    let earlier = messages.iter().filter(|message| message.text().contains(LONG));
    earlier.map(|message| Family::Other.message(message)).sum()
}

#[tokio::test]
async fn the_conversation_keeps_to_its_share_of_a_small_window() {
    let share = Section::Conversation.share(Some(WINDOW));
    let set = Some("5000");
    let small = conversation(Some(WINDOW), set).await;
    let large = conversation(Some(128_000), set).await;
    // Names and frames stand beside the texts.
    assert!(small <= share * 11 / 10 && small > share / 4, "{small} of {share}");
    assert!(large > 1_800 && large == conversation(None, set).await, "{large}");
}

#[tokio::test]
async fn without_a_setting_the_conversation_has_a_quarter_of_the_window_and_at_most_3000_tokens() {
    // Sixty messages of about 36 tokens are more than either, once each text is long enough.
    let small = conversation(Some(4_096), None).await;
    assert!((700..=1_127).contains(&small), "{small} of {}", 4_096 / 4);
    let large = conversation(Some(128_000), None).await;
    assert!((1_800..=3_300).contains(&large), "{large} of 3,000");
}
