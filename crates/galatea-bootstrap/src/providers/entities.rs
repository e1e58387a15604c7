//! ENTITIES: the people in this room. The prompt names those of whom the message speaks and who do not
//! speak in the conversation that the model reads anyway; the value for templates names all.

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
        let own = turn.agent.identity.entity();
        let speaking: HashSet<EntityId> = turn
            .recent
            .iter()
            .map(|memory| memory.entity_id)
            .chain(turn.merged.iter().map(|memory| memory.entity_id))
            .chain([turn.message.entity_id, own])
            .collect();
        let spoken_of = asked_people::named(turn, &meaning::question(turn), &[]).people;
        let is_meant = |id: EntityId| spoken_of.contains(&id) && !speaking.contains(&id);
        let meant = turn.people.named().filter(|(person, _)| is_meant(*person));
        let meant: Vec<(EntityId, &str)> = meant.take(LISTED).collect();
        let first = turn.people.named().filter(|(person, _)| !is_meant(*person));
        let listed: Vec<(EntityId, &str)> =
            meant.iter().copied().chain(first.take(LISTED - meant.len())).collect();
        let names =
            Speakers::beside(turn, listed.iter().map(|(person, name)| (*person, Some(*name))));
        let called = |people: &[(EntityId, &str)]| -> Vec<String> {
            people.iter().map(|(person, _)| names.name(*person)).collect()
        };
        let most = turn.budget(Section::Entities);
        let text = counted(&called(&meant), 0, most)
            .map_or_else(String::new, |list| format!("Also here, though silent lately: {list}."));
        let more = turn.people.count().saturating_sub(LISTED);
        let all = counted(&called(&listed), more, most)
            .map_or_else(String::new, |list| format!("# People in this room\n{list}"));
        Ok(Fragment::text(text).value("entities", all))
    }
}

/// Tokens of the words around a list and of the number of those who are not named.
const FRAME: u64 = 14;

/// A list of people of so many tokens at most, and how many more there are; none without any. Names
/// stand whole: the model may repeat them.
fn counted(people: &[String], more: usize, most: u64) -> Option<String> {
    let all = people.iter().map(String::as_str);
    let names = words::first_within(all, most.saturating_sub(FRAME), |name| words::tokens(name));
    if names.is_empty() {
        return None;
    }
    let more = more + people.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{}{more}", names.join(", ")))
}
