//! CHARACTER: who the agent is and how it writes.

use async_trait::async_trait;
use galatea_core::{Character, Fragment, Provider, ProviderUse, Result, Turn, character::Knowledge, room::ChannelType};

use crate::choose;

/// Who the agent is and how it writes.
pub(crate) struct CharacterProvider;

/// elizaOS shows so many of each.
const BIO: usize = 10;
const TOPICS: usize = 5;
const EXAMPLES: usize = 5;
const POSTS: usize = 50;
/// Lines of knowledge shown; documents are searched instead.
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
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let character = &turn.agent.character;
        let seed = turn.message.id;
        let name = &character.name;
        let feed = turn.room.kind == ChannelType::Feed;
        let bio = choose::some(&character.bio, BIO, seed).into_iter().cloned().collect::<Vec<_>>().join("\n");
        let topics = choose::some(&character.topics, TOPICS, seed).into_iter().cloned().collect::<Vec<_>>().join(", ");
        let adjective = choose::some(&character.adjectives, 1, seed).first().map_or("", |a| a.as_str()).to_owned();
        let own_style = if feed { &character.style.post } else { &character.style.chat };
        let style: Vec<&str> = character.style.all.iter().chain(own_style).map(String::as_str).collect();
        let examples = if feed { posts(character, turn) } else { talks(character, turn) };
        let knowledge: Vec<&str> =
            character.knowledge.iter().filter_map(|k| if let Knowledge::Text(line) = k { Some(line.as_str()) } else { None }).take(KNOWLEDGE).collect();

        let mut text = String::new();
        section(&mut text, &format!("About {name}"), &bio);
        if !adjective.is_empty() {
            section(&mut text, &format!("{name} is"), &adjective);
        }
        section(&mut text, &format!("{name} likes to talk about"), &topics);
        section(&mut text, &format!("What {name} knows"), &bullets(&knowledge));
        section(&mut text, &format!("How {name} writes"), &bullets(&style));
        section(&mut text, &format!("Examples of {name} (style only, not this conversation)"), &examples);
        Ok(Fragment::text(text)
            .value("agentName", name.as_str())
            .value("bio", bio)
            .value("system", character.system.clone().unwrap_or_default())
            .value("topics", topics)
            .value("topic", choose::some(&character.topics, 1, seed).first().map_or("", |t| t.as_str()))
            .value("adjective", adjective)
            .value("adjectives", character.adjectives.join(", "))
            // Loaders put an old file's lore among the bio lines; the name stays for its templates.
            .value("lore", "")
            .value("knowledge", bullets(&knowledge))
            .value(if feed { "postDirections" } else { "messageDirections" }, bullets(&style))
            .value(if feed { "characterPostExamples" } else { "characterMessageExamples" }, examples))
    }
}

fn talks(character: &Character, turn: &Turn<'_>) -> String {
    let talks = choose::some(&character.message_examples, EXAMPLES, turn.message.id);
    let render = |talk: &Vec<galatea_core::character::MessageExample>| {
        talk.iter().map(|line| format!("{}: {}", speaker(&line.name), speaker(&line.content.text))).collect::<Vec<_>>().join("\n")
    };
    talks.into_iter().map(render).collect::<Vec<_>>().join("\n\n")
}

fn posts(character: &Character, turn: &Turn<'_>) -> String {
    choose::some(&character.post_examples, POSTS, turn.message.id).into_iter().cloned().collect::<Vec<_>>().join("\n")
}

/// `{{user1}}` and the like stand for anybody; a template must not see them as its own.
fn speaker(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
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
    out
}

/// The number of a placeholder that `text` begins with, and what follows.
fn anybody(text: &str) -> Option<(char, &str)> {
    let inner = text.strip_prefix("{{user").or_else(|| text.strip_prefix("{{name"))?;
    let n = inner.chars().next().filter(|n| ('1'..='5').contains(n))?;
    inner[1..].strip_prefix("}}").map(|after| (n, after))
}

fn bullets(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

fn section(text: &mut String, title: &str, body: &str) {
    if !body.trim().is_empty() {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("# ");
        text.push_str(title);
        text.push('\n');
        text.push_str(body.trim());
    }
}

#[cfg(test)]
mod tests {
    use super::speaker;

    #[test]
    fn placeholders_become_somebody() {
        assert_eq!(speaker("{{user1}}: hi {{name5}}, {{user6}} {{{user2}}} {{user10}} {{"), "Person 1: hi Person 5, {{user6}} {Person 2} {{user10}} {{");
        assert_eq!(speaker("{{{{name3}} é{{usér1}}"), "{{Person 3 é{{usér1}}");
    }
}
