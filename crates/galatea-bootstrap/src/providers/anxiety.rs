//! ANXIETY: reminders to be brief, depending on the kind of room.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship, room::ChannelType,
};

use crate::choose;

pub(crate) struct Anxiety;

const GROUP: &[&str] = &[
    "Keep it short: others are talking too.",
    "One or two sentences are enough, unless someone asks for detail.",
    "Do not answer what was said to someone else.",
    "Do not repeat what was said already.",
    "Better one good line than three.",
    "Do not offer further help at the end of every message.",
];
const DIRECT: &[&str] = &[
    "Answer what was asked, then stop.",
    "Be as long as the question deserves, not longer.",
    "Do not repeat the question.",
    "Do not offer further help at the end of every message.",
];
const FEED: &[&str] = &[
    "It has to stand on its own.",
    "No hashtags unless the character uses them.",
    "One thought per post.",
];

#[async_trait]
impl Provider for Anxiety {
    fn name(&self) -> &'static str {
        "ANXIETY"
    }
    fn description(&self) -> &'static str {
        "Reminders to be brief"
    }
    fn position(&self) -> i32 {
        60
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    fn lasting(&self) -> bool {
        true
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let hints = match turn.room.kind {
            ChannelType::Feed => FEED,
            kind if kind.is_direct() => DIRECT,
            _ => GROUP,
        };
        let text = choose::some(hints, 3, choose::of_the_day(turn))
            .into_iter()
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        Ok(Fragment::text(text.clone()).value("anxiety", text))
    }
}
