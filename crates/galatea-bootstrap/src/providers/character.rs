//! CHARACTER: the agent's character and writing style.

use async_trait::async_trait;
use galatea_core::{
    Character, Fragment, Provider, ProviderUse, Result, Turn,
    character::{Knowledge, MessageExample},
    rights::Words,
    room::ChannelType,
};

use std::fmt::{self, Write};

use crate::choose;

pub(crate) struct CharacterProvider;

/// Number of items shown of each list, as in elizaOS.
const BIO: usize = 10;
const TOPICS: usize = 5;
const EXAMPLES: usize = 5;
const POSTS: usize = 50;
/// Maximum number of knowledge texts shown. Documents are searched instead.
const KNOWLEDGE: usize = 40;

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
    fn words(&self) -> Words {
        Words::Own
    }
    fn lasting(&self) -> bool {
        true
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let character = &turn.agent.character;
        let name = &character.name;
        let feed = turn.room.kind == ChannelType::Feed;
        let bio = some(&character.bio, BIO, turn).join("\n");
        let topics = some(&character.topics, TOPICS, turn).join(", ");
        let adjective = some(&character.adjectives, 1, turn).first().copied().unwrap_or_default();
        let own_style = if feed { &character.style.post } else { &character.style.chat };
        let style = bullets(character.style.all.iter().chain(own_style).map(String::as_str));
        let examples = if feed {
            some(&character.post_examples, POSTS, turn).join("\n")
        } else {
            talks(character, turn)
        };
        let knowledge = bullets(
            character
                .knowledge
                .iter()
                .filter_map(
                    |k| if let Knowledge::Text(line) = k { Some(line.as_str()) } else { None },
                )
                .take(KNOWLEDGE),
        );

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
        section(&mut text, format_args!("{name} is"), adjective);
        section(&mut text, format_args!("{name} likes to talk about"), &topics);
        section(&mut text, format_args!("What {name} knows"), &knowledge);
        section(&mut text, format_args!("How {name} writes"), &style);
        section(
            &mut text,
            format_args!("Examples of {name} (style only, not this conversation)"),
            &examples,
        );
        Ok(Fragment::text(text)
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
            .value(
                if feed { "characterPostExamples" } else { "characterMessageExamples" },
                examples,
            ))
    }
}

fn some<'a>(lines: &'a [String], count: usize, turn: &Turn<'_>) -> Vec<&'a str> {
    choose::some(lines, count, choose::of_the_day(turn)).into_iter().map(String::as_str).collect()
}

fn talks(character: &Character, turn: &Turn<'_>) -> String {
    let mut text = String::new();
    // Examples whose lines contain only an action would teach the model to say nothing. An example
    // with a single speaking line shows no style.
    let speaks = |talk: &&Vec<MessageExample>| {
        talk.iter().filter(|line| says(line)).count() >= talk.len().clamp(1, 2)
    };
    let talks: Vec<_> = character.message_examples.iter().filter(speaks).collect();
    for (nth, talk) in
        choose::some(&talks, EXAMPLES, choose::of_the_day(turn)).into_iter().enumerate()
    {
        text.push_str(if nth == 0 { "" } else { "\n\n" });
        for (nth, line) in talk.iter().filter(|line| says(line)).enumerate() {
            text.push_str(if nth == 0 { "" } else { "\n" });
            push_speaker(&mut text, &line.name);
            text.push_str(": ");
            push_speaker(&mut text, &line.content.text);
        }
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
    fn placeholders_become_somebody() {
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
