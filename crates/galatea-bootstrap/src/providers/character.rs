//! CHARACTER: the agent's character and writing style.

use async_trait::async_trait;
use galatea_core::{
    Character, Fragment, Provider, ProviderUse, Result, Turn, character::MessageExample,
    model::Tier, rights::Authorship, room::ChannelType, sections::Section, tokens::Family,
};

use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    fmt::{self, Write},
    sync::Arc,
};

use crate::choose;

/// Keeps the texts it wrote last: an agent's text is the same all day.
#[derive(Default)]
pub(crate) struct CharacterProvider(Mutex<VecDeque<(Basis, Fragment)>>);

/// Values that the text depends on.
#[derive(PartialEq)]
struct Basis {
    character: ByAddress,
    /// Of the agent and the day, see [`choose::of_the_day`].
    seed: u64,
    feed: bool,
    /// Tokens of the model's window, from which the budgets follow.
    window: Option<u32>,
}

/// A character is read once and not changed.
struct ByAddress(Arc<Character>);

impl PartialEq for ByAddress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Texts kept of one agent: of chats and of feeds, of today and, for retries, of yesterday.
const KEPT: usize = 4;

/// Number of items shown of each list, as in elizaOS; of topics fewer, since each is named once a
/// day or two.
const BIO: usize = 10;
const TOPICS: usize = 3;
const EXAMPLES: usize = 5;
const POSTS: usize = 50;

#[async_trait]
impl Provider for CharacterProvider {
    fn name(&self) -> &'static str {
        "CHARACTER"
    }
    fn description(&self) -> &'static str {
        "Who the agent is and how it writes"
    }
    fn position(&self) -> i32 {
        -20
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
        let basis = Basis {
            character: ByAddress(Arc::clone(&turn.agent.character)),
            seed: choose::of_the_day(turn),
            feed: turn.room.kind == ChannelType::Feed,
            window: turn.models.text(Tier::TextLarge).info().limits.window,
        };
        let mut kept = self.0.lock();
        if let Some((_, fragment)) = kept.iter().find(|(known, _)| *known == basis) {
            return Ok(fragment.clone());
        }
        let fragment = write(turn, basis.feed);
        kept.truncate(KEPT - 1);
        kept.push_front((basis, fragment.clone()));
        Ok(fragment)
    }
}

fn write(turn: &Turn<'_>, feed: bool) -> Fragment {
    let character = &turn.agent.character;
    let name = &character.name;
    let bio = within(some(&character.bio, BIO, turn), turn.budget(Section::Bio)).join("\n");
    let topics = some(&character.topics, TOPICS, turn).join(", ");
    let adjective = some(&character.adjectives, 1, turn).first().copied().unwrap_or_default();
    let own_style = if feed { &character.style.post } else { &character.style.chat };
    let style = bullets(character.style.all.iter().chain(own_style).map(String::as_str));
    let examples = if feed {
        within(some(&character.post_examples, POSTS, turn), turn.budget(Section::Posts)).join("\n")
    } else {
        talks(character, turn)
    };
    // Further lines, and documents, are searched instead.
    let knowledge = bullets(character.known_lines().shown.into_iter());

    // Plus the headings.
    let mut text = String::with_capacity(
        bio.len()
            + topics.len()
            + style.len()
            + examples.len()
            + knowledge.len()
            + 200
            + 4 * name.len(),
    );
    section(&mut text, format_args!("About {name}"), &bio);
    line(&mut text, format_args!("{name} is "), adjective);
    line(&mut text, format_args!("{name} likes to talk about "), &topics);
    section(&mut text, format_args!("What {name} knows"), &knowledge);
    section(&mut text, format_args!("How {name} writes"), &style);
    section(&mut text, format_args!("Examples of {name}'s style"), &examples);
    Fragment::text(text)
        .value("agentName", name.as_str())
        .value("bio", bio)
        .value("system", character.system.as_deref().unwrap_or_default())
        .value("topics", topics)
        .value("topic", some(&character.topics, 1, turn).first().copied().unwrap_or_default())
        .value("adjective", adjective)
        .value("adjectives", character.adjectives.join(", "))
        // The loader moves `lore` of old files into the bio. The empty value remains for
        // templates of such files.
        .value("lore", "")
        .value("knowledge", knowledge)
        .value(if feed { "postDirections" } else { "messageDirections" }, style)
        .value(if feed { "characterPostExamples" } else { "characterMessageExamples" }, examples)
}

fn some<'a>(lines: &'a [String], count: usize, turn: &Turn<'_>) -> Vec<&'a str> {
    choose::some(lines, count, choose::of_the_day(turn)).into_iter().map(String::as_str).collect()
}

/// The first of these that take so many tokens at most, and at least one: what goes beyond waits for
/// another day.
fn within(lines: Vec<&str>, most: u64) -> Vec<&str> {
    let mut sum = 0;
    let fits = |line: &&str| {
        let first = sum == 0;
        sum += Family::Other.text(line).max(1);
        first || sum <= most
    };
    lines.into_iter().take_while(fits).collect()
}

fn talks(character: &Character, turn: &Turn<'_>) -> String {
    // Examples whose lines contain only an action would teach the model to say nothing. An example
    // with a single speaking line shows no style.
    let speaks = |talk: &&Vec<MessageExample>| {
        talk.iter().filter(|line| says(line)).count() >= talk.len().clamp(1, 2)
    };
    let talks: Vec<_> = character.message_examples.iter().filter(speaks).collect();
    let chosen: Vec<String> = choose::some(&talks, EXAMPLES, choose::of_the_day(turn))
        .into_iter()
        .map(|talk| written(talk))
        .collect();
    within(chosen.iter().map(String::as_str).collect(), turn.budget(Section::Examples)).join("\n\n")
}

fn written(talk: &[MessageExample]) -> String {
    let mut text = String::new();
    for line in talk.iter().filter(|line| says(line)) {
        text.push_str(if text.is_empty() { "" } else { "\n" });
        push_speaker(&mut text, &line.name);
        text.push_str(": ");
        push_speaker(&mut text, &line.content.text);
    }
    text
}

fn says(line: &MessageExample) -> bool {
    !line.content.text.trim().is_empty()
}

/// Replaces `{{user1}}` and similar placeholders, so that templates do not treat them as variables.
fn push_speaker(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        if let Some((n, after)) = anybody(&rest[at..]) {
            out.push_str("Person ");
            out.push(n);
            rest = after;
        } else {
            out.push('{');
            rest = &rest[at + 1..];
        }
    }
    out.push_str(rest);
}

/// The number of a placeholder at the start of `text`, and the rest of the text.
fn anybody(text: &str) -> Option<(char, &str)> {
    let inner = text.strip_prefix("{{user").or_else(|| text.strip_prefix("{{name"))?;
    let n = inner.chars().next().filter(|n| ('1'..='5').contains(n))?;
    inner[1..].strip_prefix("}}").map(|after| (n, after))
}

fn bullets<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(if text.is_empty() { "- " } else { "\n- " });
        text.push_str(line);
    }
    text
}

/// A sentence below what is there.
fn line(text: &mut String, begins: fmt::Arguments<'_>, rest: &str) {
    if !rest.trim().is_empty() {
        text.push_str(if text.is_empty() { "" } else { "\n" });
        // Writing to a String does not fail.
        let _ = write!(text, "{begins}{}.", rest.trim());
    }
}

fn section(text: &mut String, title: fmt::Arguments<'_>, body: &str) {
    if !body.trim().is_empty() {
        text.push_str(if text.is_empty() { "# " } else { "\n\n# " });
        // Writing to a String does not fail.
        let _ = text.write_fmt(title);
        text.push('\n');
        text.push_str(body.trim());
    }
}

#[cfg(test)]
mod tests {
    use super::push_speaker;

    #[test]
    fn placeholders_become_a_neutral_word() {
        let speaker = |text| {
            let mut out = String::new();
            push_speaker(&mut out, text);
            out
        };
        assert_eq!(
            speaker("{{user1}}: hi {{name5}}, {{user6}} {{{user2}}} {{user10}} {{"),
            "Person 1: hi Person 5, {{user6}} {Person 2} {{user10}} {{"
        );
        assert_eq!(speaker("{{{{name3}} é{{usér1}}"), "{{Person 3 é{{usér1}}");
    }
}
