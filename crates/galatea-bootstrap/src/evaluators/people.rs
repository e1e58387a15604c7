//! Finds the person that a name means: a speaker, a member of the room, or a person who is only
//! talked about.

use galatea_core::{
    Entity, EntityId, Memory, Turn, fusion,
    mentioned::{self, comparable},
    speakers,
};
use std::collections::{BTreeSet, HashSet};

use super::talk::Talk;
use crate::{fact::grounding, fold::fold};

/// Words that stand for people without naming one.
const PRONOUNS: [&str; 24] = [
    "i",
    "me",
    "we",
    "us",
    "you",
    "he",
    "him",
    "she",
    "her",
    "it",
    "they",
    "them",
    "one",
    "user",
    "speaker",
    "everyone",
    "everybody",
    "someone",
    "somebody",
    "nobody",
    "people",
    "group",
    "room",
    "unknown",
];

/// The people whom a name can mean in one room.
pub(super) struct TalkPeople<'a> {
    talk: &'a Talk,
    members: &'a [Entity],
    agent: String,
}

/// Whom a name means.
#[derive(Debug, PartialEq)]
pub(super) struct Subject {
    pub(super) entity: EntityId,
    /// The name to show.
    pub(super) name: String,
}

impl<'a> TalkPeople<'a> {
    /// The speakers of `talk` and the members of its room.
    pub(super) fn new(turn: &Turn<'_>, talk: &'a Talk, members: &'a [Entity]) -> Self {
        Self { talk, members, agent: comparable(&turn.agent.character.name) }
    }

    /// Whom a fact is about, which stands on the words of `evidence`. `None` for the agent itself,
    /// for a name that several people have, and for one that the evidence does not contain.
    ///
    /// A person who is only talked about has an id of the World and the name ([`mentioned`]).
    pub(super) fn subject(
        &self,
        turn: &Turn<'_>,
        name: &str,
        evidence: &Memory,
    ) -> Option<Subject> {
        let author = evidence.entity_id;
        let known = |entity| Subject { entity, name: self.talk.name(entity) };
        if name.is_empty() || ["i", "me", "speaker"].contains(&comparable(name).as_str()) {
            return Some(known(author));
        }
        // Names with a suffix, and the author's own name, leave no doubt.
        let speaker = self.talk.speaker_named(name).filter(|entity| !self.talk.is_agent(*entity));
        if let Some(entity) = speaker
            && (entity == author || name.contains('#'))
        {
            return Some(known(entity));
        }
        let wanted = comparable(name);
        if wanted.is_empty() || wanted == self.agent || PRONOUNS.contains(&wanted.as_str()) {
            return None;
        }
        let named: BTreeSet<EntityId> = self.named(&wanted).collect();
        let mut named = named.into_iter();
        match (named.next(), named.next()) {
            (Some(only), None) if self.talk.is_agent(only) => None,
            (Some(only), None) => {
                let member = self.members.iter().find(|member| member.id == only);
                let name = member.map(|member| speakers::display(&member.display_name()));
                Some(Subject { entity: only, name: name.unwrap_or_else(|| self.talk.name(only)) })
            }
            (Some(_), Some(_)) => None,
            (None, _) => {
                let shown = speakers::display(name);
                let is_said = comparable(&evidence.content.text).contains(&wanted);
                is_said.then(|| Subject {
                    entity: mentioned::id(&turn.agent.identity, turn.room.world_id, name),
                    name: shown,
                })
            }
        }
    }

    /// The names of those of these people whom some texts may name, folded: the first word of each name
    /// that is no ordinary word.
    pub(super) fn names<'t>(
        &self,
        texts: impl Iterator<Item = &'t str>,
    ) -> Vec<(String, EntityId)> {
        let words = texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        let words: HashSet<String> = words.map(fold).collect();
        let is_said = |name: &String| {
            let genitive = || words.contains(&format!("{name}s"));
            words.contains(name) || genitive() || name.chars().any(fusion::is_unspaced)
        };
        let speakers = self
            .talk
            .messages
            .iter()
            .filter_map(|memory| Some((speakers::name_in(memory)?, memory.entity_id)));
        let members = self
            .members
            .iter()
            .flat_map(|member| member.names.iter().map(|name| (name.as_str(), member.id)));
        let mut names: Vec<(String, EntityId)> = speakers
            .chain(members)
            .filter_map(|(name, person)| {
                let first =
                    name.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
                Some((fold(first?), person))
            })
            .filter(|(name, _)| is_said(name) && grounding::may_be_name(name))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn named(&self, wanted: &str) -> impl Iterator<Item = EntityId> {
        let speakers = self
            .talk
            .messages
            .iter()
            .filter(move |memory| {
                speakers::name_in(memory).is_some_and(|name| comparable(name) == wanted)
            })
            .map(|memory| memory.entity_id);
        let members = self
            .members
            .iter()
            .filter(move |member| member.names.iter().any(|name| comparable(name) == wanted))
            .map(|member| member.id);
        speakers.chain(members)
    }
}
