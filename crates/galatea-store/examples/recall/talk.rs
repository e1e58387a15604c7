//! The talk that is measured: rooms of unequal size, people, and messages whose words have the
//! frequencies of a language. Every message follows from its number.

use galatea_core::{
    Account, AgentId, ChannelType, Content, Embedding, EntityId, Memory, MemoryId, MemoryKind,
    RemoteId, Result, Room, RoomId, Source, Timestamp, WorldId,
    store::{Envelope, InboxEntry},
};
use serde_json::{Map, json};
use std::ops::RangeInclusive;
use uuid::{Builder, Uuid};

use crate::random::{Random, Zipf};

pub(crate) const SOURCE: Source = Source::new("recall");
/// The model of the embeddings.
pub(crate) const MODEL: &str = "measured";
const ROOMS: usize = 200;
/// Messages of the largest room.
const LARGEST: usize = 50_000;
const PEOPLE: usize = 1_000;
const WORDS: usize = 20_000;
/// Words that one room uses more than others do.
const ROOM_WORDS: usize = 500;
const TOPICS: usize = 200;
const WIDTH: usize = 384;
/// Messages that a prompt shows (`CONVERSATION_LENGTH`). A turn looks for earlier ones.
const SHOWN: usize = 32;
const START: i64 = 1_735_689_600_000;
/// How many words a message has that [`Talk::known`] asks for.
const ASKED_FOR: RangeInclusive<usize> = 8..=24;
/// Milliseconds between two messages.
const PACE: i64 = 20_000;

/// Every second of the commonest words is a small word of English; the others are not, so a word
/// that half of all messages have is asked for as well.
const SMALL: [&str; 40] = [
    "the", "i", "to", "a", "and", "is", "it", "you", "that", "of", "in", "for", "on", "do", "was",
    "have", "with", "be", "so", "not", "this", "but", "we", "are", "my", "at", "what", "just",
    "if", "can", "they", "or", "as", "me", "there", "how", "will", "from", "when", "about",
];

fn id(stream: u64, number: usize) -> Uuid {
    let mut random = Random::of(stream, number as u64);
    let bytes = (u128::from(random.next()) << 64) | u128::from(random.next());
    Builder::from_random_bytes(bytes.to_be_bytes()).into_uuid()
}

/// A word, from its rank: two or three syllables, some with the ending of a plural.
fn word(rank: usize) -> String {
    const FIRST: &[u8] = b"bcdfghjklmnprstvwzqx";
    const THEN: &[u8] = b"aeiou";
    if rank < 2 * SMALL.len() && rank.is_multiple_of(2) {
        return SMALL[rank / 2].to_owned();
    }
    let plural = rank % 4 == 3;
    let mut rest = if plural { rank - 2 } else { rank };
    let mut out = String::new();
    for _ in 0..3 {
        out.push(char::from(FIRST[rest % FIRST.len()]));
        rest /= FIRST.len();
        out.push(char::from(THEN[rest % THEN.len()]));
        rest /= THEN.len();
    }
    out + if plural { "s" } else { "" }
}

struct Place {
    room: Room,
    people: Vec<usize>,
    words: Vec<usize>,
    topics: Vec<usize>,
    /// When the newest messages were written that a prompt shows.
    shown_since: Timestamp,
}

/// A question as a turn asks it.
pub(crate) struct Question<'a> {
    pub(crate) room: &'a Room,
    pub(crate) text: String,
    pub(crate) meaning: Embedding,
    pub(crate) before: Timestamp,
    pub(crate) now: Timestamp,
}

pub(crate) struct Talk {
    words: Vec<String>,
    frequency: Zipf,
    room_frequency: Zipf,
    places: Vec<Place>,
    topics: Vec<Vec<f32>>,
    /// The room of each message.
    order: Vec<u16>,
}

/// How many messages each room has.
fn sizes(messages: usize) -> Vec<usize> {
    let largest = LARGEST.min(messages / 2);
    let weights: Vec<f64> = (1..ROOMS).map(|n| 1.0 / (20 + n) as f64).collect();
    let all: f64 = weights.iter().sum();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "messages of a room"
    )]
    let others = weights.iter().map(|weight| (weight / all * (messages - largest) as f64) as usize);
    let mut sizes: Vec<usize> = std::iter::once(largest).chain(others).collect();
    // What rounding left.
    let sum: usize = sizes.iter().sum();
    sizes[ROOMS - 1] += messages - sum;
    sizes
}

impl Talk {
    pub(crate) fn new(messages: usize) -> Self {
        let mut order: Vec<u16> = sizes(messages)
            .into_iter()
            .zip(0..)
            .flat_map(|(size, room)| std::iter::repeat_n(room, size))
            .collect();
        let mut random = Random::of(1, 0);
        for n in (1..order.len()).rev() {
            order.swap(n, random.below(n + 1));
        }
        let agent = AgentId(id(2, 0));
        let place = |n: usize| {
            let mut random = Random::of(3, n as u64);
            let people = if n == 0 { PEOPLE } else { 3 + random.below(60) };
            let room = Room {
                id: RoomId(id(4, n)),
                agent_id: agent,
                world_id: WorldId(id(5, n / 5)),
                parent_id: None,
                source: SOURCE,
                account: Account("1".to_owned()),
                remote: RemoteId::new(format!("room{n}")),
                kind: ChannelType::Group,
                name: format!("room {n}"),
                metadata: Map::new(),
            };
            let shown = order.iter().enumerate().rev().filter(|(_, room)| usize::from(**room) == n);
            let oldest = shown.map(|(number, _)| number).take(SHOWN).last().unwrap_or(0);
            Place {
                room,
                people: (0..people).map(|_| random.below(PEOPLE)).collect(),
                words: (0..ROOM_WORDS).map(|_| 100 + random.below(WORDS - 100)).collect(),
                topics: (0..5).map(|_| random.below(TOPICS)).collect(),
                shown_since: at(oldest),
            }
        };
        let places = (0..ROOMS).map(place).collect();
        let centre = |n| {
            let mut random = Random::of(6, n);
            (0..WIDTH).map(|_| random.number()).collect()
        };
        Self {
            words: (0..WORDS).map(word).collect(),
            frequency: Zipf::new(WORDS),
            room_frequency: Zipf::new(ROOM_WORDS),
            places,
            topics: (0..TOPICS as u64).map(centre).collect(),
            order,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn agent(&self) -> AgentId {
        self.places[0].room.agent_id
    }

    fn sentence(&self, place: &Place, random: &mut Random, words: usize) -> String {
        let mut out = String::new();
        for n in 0..words {
            let rank = if random.below(3) == 0 {
                place.words[self.room_frequency.rank(random)]
            } else {
                self.frequency.rank(random)
            };
            if n > 0 {
                out.push(' ');
            }
            out.push_str(&self.words[rank]);
        }
        out
    }

    /// Around a topic of the room, some of everything: two of a topic have a similarity of about a
    /// half.
    fn meant(&self, place: &Place, random: &mut Random) -> Result<Embedding> {
        let topic = match random.below(4) {
            0 => random.below(TOPICS),
            n => place.topics[(n + random.below(3)) % place.topics.len()],
        };
        Embedding::new(self.topics[topic].iter().map(|n| n + random.number()).collect())
    }

    /// The message of a number, and its embedding.
    pub(crate) fn message(&self, number: usize) -> Result<(InboxEntry, Embedding)> {
        let place = &self.places[usize::from(self.order[number])];
        let mut random = Random::of(7, number as u64);
        let person = place.people[random.below(place.people.len())];
        // Twelve words in the mean; one in fifty has eight times as many.
        let long = if random.below(50) == 0 { 8 } else { 1 };
        let words = (3 + random.below(10) + random.below(10)) * long;
        let text = self.sentence(place, &mut random, words);
        let mut metadata = Map::new();
        for (key, value) in [
            ("entityName", json!(format!("Person {person}"))),
            ("entityUserName", json!(format!("person{person}"))),
            ("type", json!("message")),
            ("sourceId", json!(number.to_string())),
        ] {
            metadata.insert(key.to_owned(), value);
        }
        let memory = Memory {
            id: MemoryId(id(8, number)),
            kind: MemoryKind::Messages,
            agent_id: place.room.agent_id,
            entity_id: EntityId(id(9, person)),
            room_id: place.room.id,
            world_id: Some(place.room.world_id),
            content: Content { source: Some(SOURCE.to_string()), ..Content::text(text) },
            metadata,
            created_at: at(number),
        };
        let entry = InboxEntry {
            memory,
            legacy_id: None,
            source: SOURCE,
            account: place.room.account.clone(),
            room_remote: place.room.remote.clone(),
            remote: RemoteId::new(number),
            envelope: Envelope::default(),
        };
        Ok((entry, self.meant(place, &mut random)?))
    }

    /// A question made of half the words of one message that a prompt no longer shows, and that
    /// message. None if the message that was drawn is shown, short or long.
    pub(crate) fn known(&self, number: usize) -> Result<Option<(Question<'_>, MemoryId)>> {
        let mut random = Random::of(11, number as u64);
        let drawn = random.below(self.order.len());
        let place = &self.places[usize::from(self.order[drawn])];
        let memory = self.message(drawn)?.0.memory;
        let mut words: Vec<&str> = memory.content.text.split(' ').collect();
        if at(drawn) >= place.shown_since || !ASKED_FOR.contains(&words.len()) {
            return Ok(None);
        }
        for _ in 0..words.len() / 2 {
            words.swap_remove(random.below(words.len()));
        }
        let question = Question {
            room: &place.room,
            text: words.join(" "),
            meaning: self.meant(place, &mut random)?,
            before: place.shown_since,
            now: at(self.order.len()),
        };
        Ok(Some((question, memory.id)))
    }

    /// The question of a number, in a room drawn by its size.
    pub(crate) fn question(&self, number: usize) -> Result<Question<'_>> {
        let mut random = Random::of(10, number as u64);
        let place = &self.places[usize::from(self.order[random.below(self.order.len())])];
        let words = 5 + random.below(4);
        let mut text = self.sentence(place, &mut random, words);
        text.push('?');
        Ok(Question {
            room: &place.room,
            text,
            meaning: self.meant(place, &mut random)?,
            before: place.shown_since,
            now: at(self.order.len()),
        })
    }
}

fn at(number: usize) -> Timestamp {
    Timestamp(START + PACE * i64::try_from(number).unwrap_or(i64::MAX / PACE))
}
