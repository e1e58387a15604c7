//! ENTITIES: the people in this room. The prompt names those who are asked about and do not speak in
//! the conversation that the model reads anyway; the value for templates names all.

use async_trait::async_trait;
use galatea_core::{
    EntityId, Fragment, Provider, ProviderUse, Result, Speakers, Turn, rights::Authorship,
    sections::Section,
};
use std::collections::HashSet;

use crate::{asked_people, meaning, words};

pub(crate) struct Entities;

/// Maximum number of people listed: some hundred tokens in every prompt of the room.
const LISTED: usize = 40;

#[async_trait]
impl Provider for Entities {
    fn name(&self) -> &'static str {
        "ENTITIES"
    }
    fn description(&self) -> &'static str {
        "Who is in this room"
    }
    fn position(&self) -> i32 {
        25
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        // In a direct chat the conversation names everyone.
        if turn.room.kind.is_direct() {
            return Ok(Fragment::default());
        }
        let listed = || turn.people.named().take(LISTED);
        let names = Speakers::beside(turn, listed().map(|(person, name)| (person, Some(name))));
        let people = People {
            listed: listed().map(|(person, _)| names.name(person)).collect(),
            more: turn.people.count().saturating_sub(LISTED),
        };
        let own = turn.agent.identity.entity();
        let speaking: HashSet<EntityId> = turn
            .recent
            .iter()
            .map(|memory| memory.entity_id)
            .chain(turn.merged.iter().map(|memory| memory.entity_id))
            .chain([turn.message.entity_id, own])
            .collect();
        let mut asked = asked_people::named(turn, &meaning::question(turn), &[]).people;
        asked.retain(|person| !speaking.contains(person));
        let silent = turn.people.named().filter(|(person, _)| asked.contains(person));
        let names = Speakers::beside(turn, silent.map(|(person, name)| (person, Some(name))));
        let silent: Vec<String> = asked.iter().map(|person| names.name(*person)).collect();
        let most = turn.budget(Section::Entities);
        let text = match silent.as_slice() {
            [] => String::new(),
            silent => format!("Also here, though silent lately: {}.", silent.join(", ")),
        };
        let all = titled(&people, "# People in this room", most);
        Ok(Fragment::text(words::within(text, most)).value("entities", all))
    }
}

/// The people whom a list may name, and how many more there are.
struct People {
    listed: Vec<String>,
    more: usize,
}

/// Tokens of a title and of the number of those who are not named.
const FRAME: u64 = 14;

/// A list of those people under a title, of so many tokens at most; empty without any.
fn titled(people: &People, title: &str, most: u64) -> String {
    let all: Vec<&str> = people.listed.iter().map(String::as_str).collect();
    let count = all.len();
    let names = words::first_within(all, most.saturating_sub(FRAME), |name| words::tokens(name));
    if names.is_empty() {
        return String::new();
    }
    let more = people.more + count - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{title}\n{}{more}", names.join(", "))
}
