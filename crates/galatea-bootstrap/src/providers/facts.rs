//! FACTS: what is known of the speakers, and of others whom the message is about, as far as it may
//! be seen in this room. What fits the message comes first, then the newest.

use async_trait::async_trait;
use galatea_core::{
    Derived, EntityId, Fragment, Memory, MemoryId, MemoryKind, Provider, ProviderUse, Result,
    Speakers, Timestamp, Turn,
    fact::Origin,
    mentioned,
    sections::Section,
    speakers, standing,
    store::{RecallQuery, Recalled},
};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    iter,
    sync::Arc,
    time::Duration,
};

use crate::{
    asked_people,
    fact::{LONGEST, plain, view},
    learning_cache::LearningCache,
    meaning::{self, PromptMeaning},
    profile, words,
};

pub(crate) struct Facts(pub(crate) Arc<LearningCache>, pub(crate) Arc<PromptMeaning>);

/// Maximum number of facts shown (elizaOS: two searches of 6).
const MOST: usize = 12;
/// Number of facts that are selected because they fit the message; the others are the newest about
/// the speakers.
const FITTING: usize = 8;
/// Maximum number of profiles shown: some hundred tokens.
const PROFILES: usize = 4;
/// Number of facts that are shown although a profile says them: they may say more.
const TOLD: usize = 3;
/// Tokens of the heading over what is known of one person. Counted for each fact, since each may be
/// about another person.
const HEADING: u64 = 10;
/// Maximum number of facts about one person who does not speak.
const PER_OTHER: usize = 6;

#[async_trait]
impl Provider for Facts {
    fn name(&self) -> &'static str {
        "FACTS"
    }
    fn description(&self) -> &'static str {
        "What is known of the speakers and of people they talk about"
    }
    fn position(&self) -> i32 {
        35
    }
    fn when(&self) -> ProviderUse {
        // A room without facts needs no query, see `LearningCache`.
        ProviderUse::Always
    }
    fn patience(&self, usual: Duration) -> Duration {
        // The provider itself stops waiting for the embedding model early enough to show facts by
        // words and age.
        usual + meaning::LONGEST
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        if !self.0.has_facts(turn).await? {
            return Ok(Fragment::default());
        }
        let person = view::person(turn).await?;
        if !self.0.may_have_facts(turn, &person).await? {
            return Ok(Fragment::default());
        }
        let speaking = standing::speakers(turn).chain(person.iter().copied());
        let people: Vec<EntityId> = speaking.collect::<HashSet<_>>().into_iter().collect();
        let query = |text: String, most: usize| query(turn, &person, text, most);
        // Facts of people from before they wrote themselves are shown with the rest.
        let asked = people.iter().copied().chain(ids_by_name(turn, &people)).collect();
        let newest = RecallQuery { people: asked, ..query(String::new(), MOST + 1) };
        let mut newest = self.recalled(turn, &newest).await?;
        // Under the name of a speaker, and about another person.
        newest.retain(|hit| people.contains(&hit.memory.entity_id));
        // Few are shown all, and an embedding is a call to a model. Where earlier messages are looked for,
        // it is made anyway.
        let asks = newest.len() > MOST || turn.earlier.is_some();
        let (said, by_age) = match if asks { self.1.embed_question(turn).await } else { Ok(None) } {
            Ok(said) => {
                let missing = said.as_ref().and_then(|said| said.note.clone());
                (said, missing)
            }
            Err(error) => (
                None,
                Some(format!("what is known is shown by words and age, not by meaning: {error}")),
            ),
        };
        let question = meaning::question(turn);
        let subjects = self.0.subjects(turn, &person).await?;
        let named = asked_people::named(turn, &question, &subjects);
        let mut fitting = query(question, MOST).naming(named);
        fitting.meanings.extend(said.into_iter().flat_map(meaning::QuestionMeaning::into_meanings));
        let fitting = self.recalled(turn, &fitting).await?;
        let profiles = profile::of(turn, &people, &person).await?;
        let mut profiles = profile::current(turn, profiles).await?;
        profiles.sort_by_key(|profile| std::cmp::Reverse(profile.memory.created_at));
        profiles.truncate(PROFILES);
        let profiles = words::first_within(profiles, turn.budget(Section::Profiles), |profile| {
            HEADING + words::tokens(&profile_line(profile))
        });
        let shown = select(fitting, newest, &people, &profiles);
        let names = names(turn, &shown);
        let shown = words::first_within(shown, turn.budget(Section::Facts), |fact| {
            HEADING + words::tokens(&line(turn, &names, fact))
        });
        self.0.note_shown(shown.iter());
        let text = render(turn, &person, &profiles, &shown);
        if text.is_empty() {
            return Ok(Fragment::default().noted(by_age));
        }
        Ok(Fragment::text(text.clone()).value("facts", text).noted(by_age))
    }
}

impl Facts {
    /// Facts that a search finds, each fact under the person that it is about.
    async fn recalled(&self, turn: &Turn<'_>, query: &RecallQuery) -> Result<Vec<Recalled>> {
        let mut found = turn.store.recall(query).await?;
        let (identity, world) = (&turn.agent.identity, turn.room.world_id);
        let is_by_name = |hit: &&mut Recalled| mentioned::is_by_name(identity, world, &hit.memory);
        let by_name: Vec<&mut Recalled> = found.iter_mut().filter(is_by_name).collect();
        if !by_name.is_empty() {
            let mentioned = self.0.mentioned(turn).await?;
            for hit in by_name {
                hit.memory.entity_id = mentioned.subject(&hit.memory);
            }
        }
        Ok(found)
    }
}

/// The ids under which facts about these people were stored while only their names were known.
fn ids_by_name(turn: &Turn<'_>, people: &[EntityId]) -> BTreeSet<EntityId> {
    let speaking = turn.merged.iter().chain(iter::once(turn.message));
    let speaking = speaking.filter_map(|said| Some((said.entity_id, speakers::name_in(said)?)));
    let of_room = turn.people.called().filter(|(person, _)| people.contains(person));
    let id = |name: &str| mentioned::id(&turn.agent.identity, turn.room.world_id, name);
    speaking.chain(of_room).map(|(_, name)| id(name)).collect()
}

fn query(turn: &Turn<'_>, person: &[EntityId], text: String, most: usize) -> RecallQuery {
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let visible = view::of_person(turn, person);
    RecallQuery::new(visible, text, most, turn.now()).kind(MemoryKind::Facts)
}

/// Facts that fit, then the newest of the speakers. Of what a profile says already only those that
/// fit best.
fn select(
    fitting: Vec<Recalled>,
    newest: Vec<Recalled>,
    speakers: &[EntityId],
    profiles: &[Derived],
) -> Vec<Memory> {
    let told: HashSet<MemoryId> =
        profiles.iter().flat_map(|profile| profile.sources.iter().copied()).collect();
    let mut shown: Vec<Memory> = Vec::new();
    let mut again = 0;
    for hit in fitting {
        let about = hit.memory.entity_id;
        let of_other = shown.iter().filter(|fact| fact.entity_id == about).count();
        let is_told = told.contains(&hit.memory.id);
        if shown.len() < FITTING
            && (speakers.contains(&about) || of_other < PER_OTHER)
            && (!is_told || again < TOLD)
        {
            again += usize::from(is_told);
            shown.push(hit.memory);
        }
    }
    for hit in newest {
        let is_new = !shown.iter().any(|fact| fact.id == hit.memory.id);
        if shown.len() < MOST && is_new && !told.contains(&hit.memory.id) {
            shown.push(hit.memory);
        }
    }
    shown
}

fn profile_line(profile: &Derived) -> String {
    words::quoted(&words::line(&profile.memory.content.text, profile::LONGEST))
}

/// Makes one list per person, the speakers first. What is known of linked entities stands under the
/// one that speaks.
fn render(turn: &Turn<'_>, person: &[EntityId], profiles: &[Derived], facts: &[Memory]) -> String {
    let names = names(turn, facts);
    let of = |fact: &Memory| match person {
        [speaker, linked @ ..] if linked.contains(&fact.entity_id) => *speaker,
        _ => fact.entity_id,
    };
    let mut subjects: Vec<EntityId> = Vec::new();
    let newest_first = std::iter::once(turn.message).chain(turn.merged.iter().rev());
    let speaking = newest_first.map(|message| message.entity_id);
    let profiled = profiles.iter().map(|profile| of(&profile.memory));
    for subject in speaking.chain(profiled).chain(facts.iter().map(of)) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let parts: Vec<String> = subjects
        .into_iter()
        .filter_map(|subject| {
            let profile =
                profiles.iter().filter(|profile| of(&profile.memory) == subject).map(profile_line);
            let facts = facts
                .iter()
                .filter(|fact| of(fact) == subject)
                .map(|fact| line(turn, &names, fact));
            let lines: Vec<String> = profile.chain(facts).collect();
            // An import may have facts about no person: they are the agent's.
            let heading = if subject == turn.agent.identity.entity() {
                "Else it is known:".to_owned()
            } else {
                format!("About {} it is known:", names.name(subject))
            };
            (!lines.is_empty()).then(|| words::ended(&format!("{heading} {}", lines.join(", "))))
        })
        .collect();
    parts.join("\n")
}

/// A fact with its date, and with its author unless it is the person's own statement.
fn line(turn: &Turn<'_>, names: &Speakers, fact: &Memory) -> String {
    let text = words::line(&fact.content.text, LONGEST);
    let date = date(turn, fact.created_at);
    let origin = Origin::of(fact);
    // Stored with the name in front, where the sentence has none: the list says whose it is.
    let named = format!("{}: ", plain(&origin.subject_name));
    let text = text.strip_prefix(&named).unwrap_or(&text);
    let key = fact.metadata.get("key").and_then(Value::as_str);
    let text = words::quoted(&key.map_or(Cow::Borrowed(text), |key| detail(key, text)));
    match origin.said_by {
        Some(_) if origin.is_own(fact.entity_id) => format!("{text} (said {date})"),
        Some(author) => {
            format!("{text} (hearsay from {}, {date})", names.name(author))
        }
        None => format!("{text} (hearsay, {date})"),
    }
}

/// A detail that was stored as `key: value`, as a clause: a form of its own is copied by weak models.
fn detail<'a>(key: &str, text: &'a str) -> Cow<'a, str> {
    match text.strip_prefix(key).and_then(|rest| rest.strip_prefix(": ")) {
        Some(value) => Cow::Owned(format!("{} is {value}", words::spoken(key))),
        None => Cow::Borrowed(text),
    }
}

/// The day, with the year if it is another one.
pub(crate) fn date(turn: &Turn<'_>, at: Timestamp) -> String {
    turn.agent.zone.local(at).date()
}

/// Names of the people of facts: those here as in the rest of the prompt, others by the name
/// that is known.
fn names(turn: &Turn<'_>, facts: &[Memory]) -> Speakers {
    let origins: Vec<(EntityId, Origin)> =
        facts.iter().map(|fact| (fact.entity_id, Origin::of(fact))).collect();
    let people = origins.iter().flat_map(|(subject, origin)| {
        let about = (*subject, Some(plain(&origin.subject_name)));
        let by = origin.said_by.map(|author| (author, Some(plain(&origin.said_by_name))));
        std::iter::once(about).chain(by)
    });
    Speakers::beside(turn, people)
}
