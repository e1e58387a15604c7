//! Messages of the past that come after a person had something deleted here.

use galatea_core::{
    EntityId, Incoming, IncomingEvent, MemoryId, MemoryKind, RemoteId, Room, store::MemoryQuery,
};
use galatea_runtime::history::{History, Stored};

use super::stage::{Stage, club, private};
use crate::{
    house::{Spot, dm},
    platform::SOURCE,
};

/// A message of an export, under an id that the bot has not seen.
fn exported(stage: &Stage, at: &Spot, text: &str) -> Incoming {
    let mut message = stage.house.message(at, text);
    if let IncomingEvent::Message(message) = &mut message.event {
        message.id = RemoteId::new(format!("export:{}", message.id));
    }
    message
}

/// The same of the agent itself.
fn own(stage: &Stage, at: &Spot, text: &str) -> Incoming {
    let mut message = exported(stage, at, text);
    message.connection.entity = None;
    message
}

async fn history<'a>(stage: &'a Stage, room: Option<Room>) -> History<'a> {
    let (store, clock) = (&*stage.house.store, &*stage.house.clock);
    let identity = stage.house.identity.clone();
    History::of(store, identity, SOURCE, &[], clock).await.unwrap().within(room)
}

async fn texts(stage: &Stage) -> Vec<String> {
    let query = MemoryQuery::new(stage.house.agent, 1_000).kind(MemoryKind::Messages);
    let all = stage.house.store.memories(&query).await.unwrap();
    all.into_iter().rev().map(|memory| memory.content.text).collect()
}

async fn participants(stage: &Stage, at: &Spot) -> Vec<EntityId> {
    let all = stage.house.store.participants(stage.house.room(at)).await.unwrap();
    all.into_iter().map(|one| one.entity_id).collect()
}

async fn forget(stage: &Stage, person: usize) {
    assert!(stage.answer(&private(person), "/privacy forget me").await.starts_with("Done."));
    stage.house.quiet().await;
}

#[tokio::test]
async fn an_export_of_a_platform_does_not_bring_a_forgotten_person_back() {
    let stage = Stage::build(None).await;
    stage.say(&club(0), "Good morning").await;
    stage.say(&club(2), "My boat is leaking").await;
    forget(&stage, 2).await;
    let before = texts(&stage).await;

    let mut answer = own(&stage, &club(0), "Then mend the boat");
    let hers = exported(&stage, &club(2), "My boat is leaking");
    if let (IncomingEvent::Message(answer), IncomingEvent::Message(hers)) =
        (&mut answer.event, &hers.event)
    {
        answer.reply_to = Some(hers.id.clone());
    }
    let unnamed = {
        let mut message = exported(&stage, &dm("6001"), "I have no name");
        let entity = message.connection.entity.as_mut().unwrap();
        (entity.name, entity.user_name) = (None, None);
        message
    };
    let export = [
        hers,
        answer,
        exported(&stage, &private(2), "It leaks still"),
        own(&stage, &private(2), "You have a boat that leaks"),
        exported(&stage, &club(0), "Good evening"),
        own(&stage, &club(0), "Good night"),
        unnamed,
    ];
    let mut history = history(&stage, None).await;
    let new = ["Good evening", "Good night", "I have no name"].map(str::to_owned);
    for count in [3, 0] {
        let stored = history.store(&export, false).await.unwrap();
        assert_eq!(stored, Stored { new: count, differing: 0, deleted: 4 });
        assert_eq!(texts(&stage).await, [before.clone(), new.to_vec()].concat());
    }
    let person = stage.house.store.entities(&[stage.house.entity(&club(2))]).await.unwrap();
    assert!(person[0].names.is_empty() && person[0].metadata.is_empty(), "{person:?}");

    // The operator may restore them; then they are there already.
    let stored = history.store(&export, true).await.unwrap();
    assert_eq!(stored, Stored { new: 4, differing: 0, deleted: 0 });
    assert_eq!(history.store(&export, false).await.unwrap(), Stored::default());
}

#[tokio::test]
async fn a_forgotten_person_does_not_come_back_as_the_name_of_a_room() {
    let stage = Stage::build(None).await;
    stage.say(&club(2), "My boat is leaking").await;
    stage.answer(&club(2).mentioning(), "/privacy forget me").await;
    stage.house.quiet().await;
    let direct = private(2);
    assert_eq!(stage.house.store.room(stage.house.room(&direct)).await.unwrap(), None);
    let export = [own(&stage, &direct, "Hello Bob"), exported(&stage, &direct, "It leaks still")];
    let stored = history(&stage, None).await.store(&export, false).await.unwrap();
    assert_eq!((stored.new, stored.deleted), (0, 2));
    assert_eq!(stage.house.store.room(stage.house.room(&direct)).await.unwrap(), None);
}

#[tokio::test]
async fn a_person_is_forgotten_in_a_direct_room_into_which_others_were_imported() {
    let stage = Stage::build(None).await;
    stage.say(&private(2), "My boat is leaking").await;
    let direct = stage.house.store.room(stage.house.room(&private(2))).await.unwrap().unwrap();
    // A chat log, and an export of the chat by another account than the agent's.
    let log = ["log/Bob", "log/Ann"].map(|person| {
        let at = Spot { room: "import/log", kind: galatea_core::ChannelType::Group, ..dm(person) };
        exported(&stage, &at, "Said elsewhere")
    });
    let stored = history(&stage, Some(direct)).await.store(&log, false).await.unwrap();
    assert_eq!(stored.new, 2);
    let other = Spot { person: "7001", ..private(2) };
    let export = [exported(&stage, &other, "Hi Bob"), exported(&stage, &private(2), "Hi")];
    history(&stage, None).await.store(&export, false).await.unwrap();
    let people = participants(&stage, &private(2)).await;
    assert_eq!(people.len(), 2, "Bob and the agent: {people:?}");

    forget(&stage, 2).await;
    let room = stage.house.store.room(stage.house.room(&private(2))).await.unwrap().unwrap();
    assert_eq!(room.name, room.remote.as_str(), "it was named after the person");

    // Where no author has the room's id, all of them take part in it.
    let several = ["8001", "8002"].map(|person| {
        exported(&stage, &Spot { room: "8000", world: "8000", ..dm(person) }, "We are three")
    });
    history(&stage, None).await.store(&several, false).await.unwrap();
    let at = Spot { room: "8000", ..dm("8001") };
    assert_eq!(participants(&stage, &at).await.len(), 3);
}

/// A dump of elizaOS has a message of a supergroup under its number alone.
#[tokio::test]
async fn a_message_that_a_dump_has_is_stored_once() {
    let stage = Stage::build(None).await;
    let mut known = stage.house.message(&club(0), "Good morning");
    if let IncomingEvent::Message(message) = &mut known.event {
        message.id = RemoteId::new("7");
    }
    let seventh = |at: &Spot, text: &str| {
        let mut message = exported(&stage, at, text);
        if let IncomingEvent::Message(message) = &mut message.event {
            message.legacy_id = Some(RemoteId::new("7"));
        }
        message
    };
    let mut history = history(&stage, None).await;
    history.store(&[known], false).await.unwrap();
    let same = [seventh(&club(0), "*Good* morning")];
    assert_eq!(history.store(&same, false).await.unwrap(), Stored::default());
    // The same number in another Room or of another author is another message.
    let elsewhere = Spot { room: "-600", world: "-600", ..club(0) };
    let others = [seventh(&elsewhere, "Good morning"), seventh(&club(1), "Good morning")];
    assert_eq!(history.store(&others, false).await.unwrap().new, 2);
    let seven = stage.house.identity.swizzle("7");
    stage.house.store.delete_memories(stage.house.agent, &[MemoryId(seven)]).await.unwrap();
    let later = Spot { room: "-700", world: "-700", ..club(0) };
    let stored = history.store(&[seventh(&later, "Good night")], false).await.unwrap();
    assert_eq!((stored.new, stored.deleted), (1, 0));
}
