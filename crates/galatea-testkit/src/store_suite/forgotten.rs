//! A person who wrote much is forgotten: most of it in small commits, the rest with the turn.

use galatea_core::{
    ChannelType, DeliveryId, Derived, EntityId, Memory, MemoryId, MemoryKind, MemoryScope, RoomId,
    Store, Timestamp,
    store::{
        DerivedChange, InboxEntry, InboxState, NewDelivery, OutboxState, RequestedChange,
        Superseded, TurnRecord,
    },
};
use serde_json::json;
use std::sync::Arc;

use super::fixtures::{Scene, settlement};

/// Messages of the person. With an answer to each they are more than one commit takes.
const MESSAGES: i64 = 150;

fn fact(scene: Scene, text: &str, at: i64, sources: &[MemoryId]) -> Derived {
    let memory = Memory { kind: MemoryKind::Facts, ..scene.memory(text, at) };
    Derived::new(memory, MemoryScope::World, sources.to_vec())
}

/// Messages in a room that is named after the person, each with its answer, and what was sent or waits
/// to be sent.
async fn written(
    store: &Arc<dyn Store>,
    scene: Scene,
) -> (Vec<InboxEntry>, Vec<Memory>, Vec<DeliveryId>) {
    let mut connections = scene.connections();
    connections.rooms[0].kind = ChannelType::Dm;
    connections.rooms[0].name = Some("Pygmalion".to_owned());
    store.connect(connections).await.unwrap();
    let mut said: Vec<InboxEntry> =
        (0..MESSAGES).map(|n| scene.message(&format!("remark {n}"), n)).collect();
    for message in &mut said {
        message.envelope.user_name = Some("Pygmalion".to_owned());
        message.envelope.entity_remote = Some(galatea_core::RemoteId::new(4711));
    }
    store.ingest(Scene::batch(&said)).await.unwrap();
    let mut record = scene.turn(&said.iter().collect::<Vec<_>>());
    let answer = |n| {
        let mut answer = Memory { entity_id: scene.itself(), ..scene.memory("answer", 800 + n) };
        answer.metadata.insert("turn".into(), json!(record.turn));
        answer
    };
    let answers: Vec<Memory> = (0..MESSAGES).map(answer).collect();
    record.memories.clone_from(&answers);
    record.deliveries[0].memory = Some(answers[0].id);
    // Said without being remembered.
    record.deliveries.push(scene.delivery(record.turn, 1));
    let mut sent: Vec<DeliveryId> = record.deliveries.iter().map(|new| new.delivery.id).collect();
    let waits = NewDelivery { memory: Some(answers[1].id), ..scene.delivery(record.turn, 2) };
    record.deliveries.push(waits.clone());
    store.finish_turn(record).await.unwrap();
    for state in [OutboxState::Sending, OutboxState::Sent] {
        let settled = sent.iter().map(|id| settlement(*id, state)).collect();
        store.settle(settled).await.unwrap();
    }
    sent.push(waits.delivery.id);
    (said, answers, sent)
}

/// What goes ahead: messages, answers, what was made of them and the words in the queues. What waits
/// and what others wrote stays, and the turn forgets the rest.
pub async fn most_of_a_person_goes_before_the_turn_that_forgets_them(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let (said, answers, sent) = written(&store, scene).await;
    let other = Scene { person: EntityId::fresh(), ..scene };
    let theirs = other.memory("of another", 3);
    store.save_memories(std::slice::from_ref(&theirs)).await.unwrap();
    let id = |n: usize| said[n].memory.id;
    // The person's words replaced another's, and later words of the person replaced these.
    let first = fact(other, "tea is green", 4, &[theirs.id]);
    let second = fact(other, "tea is black", 10, &[id(10)]);
    let third = fact(other, "tea is gone", 140, &[id(140)]);
    let by = |old: &Derived, new: &Derived| Superseded {
        id: old.memory.id,
        at: Timestamp(200),
        by: Some(new.memory.id),
    };
    let change = DerivedChange {
        new: vec![first.clone(), second.clone(), third.clone()],
        superseded: vec![by(&first, &second), by(&second, &third)],
        ..DerivedChange::default()
    };
    store.change_derived(scene.agent, &change).await.unwrap();
    let elsewhere = Scene { room: RoomId::fresh(), ..scene };
    store.connect(elsewhere.connections()).await.unwrap();
    let mut waits = elsewhere.message("waits", 500);
    waits.envelope.entity_remote = Some(galatea_core::RemoteId::new(4711));
    store.ingest(Scene::batch(std::slice::from_ref(&waits))).await.unwrap();

    let stranger = Scene::new().person;
    assert_eq!(store.forget_ahead(scene.agent, stranger).await.unwrap(), 0);
    let gone = store.forget_ahead(scene.agent, scene.person).await.unwrap();
    assert_eq!(gone, 2 * u64::try_from(MESSAGES).unwrap());
    let left = async |id| store.memory(id).await.unwrap().is_some();
    for (message, answer) in said.iter().zip(&answers) {
        assert!(!left(message.memory.id).await && !left(answer.id).await);
        let row = store.inbox_item(message.memory.id).await.unwrap().unwrap();
        let envelope = row.entry.envelope;
        assert_eq!((row.state, envelope.user_name), (InboxState::Done, None));
        assert_eq!(envelope.entity_remote, None);
    }
    for id in sent {
        let row = store.outbox_item(id).await.unwrap().unwrap();
        assert!(row.delivery.body.0.is_null() && row.state != OutboxState::Pending, "{row:?}");
    }
    // An import of an earlier export does not bring them back.
    let deleted = [answers[0].id, third.memory.id, theirs.id, waits.memory.id];
    assert_eq!(store.deleted(&deleted).await.unwrap().len(), 2);
    assert!(left(theirs.id).await && left(waits.memory.id).await);
    assert!(!left(second.memory.id).await && !left(third.memory.id).await);
    let held = store.derived(scene.agent, &[first.memory.id]).await.unwrap();
    assert_eq!(
        (held[0].valid_until, held[0].superseded_by),
        (None, None),
        "as if all went at once"
    );
    let person = async || store.entities(&[scene.person]).await.unwrap().remove(0);
    assert!(!person().await.names.is_empty(), "the turn has not come yet");
    let waiting = store.inbox_item(waits.memory.id).await.unwrap().unwrap();
    assert_eq!(waiting.state, InboxState::New);
    assert_eq!(store.forget_ahead(scene.agent, scene.person).await.unwrap(), 0, "little is left");

    let command = elsewhere.message("forget me", 900);
    store.ingest(Scene::batch(std::slice::from_ref(&command))).await.unwrap();
    let approved = format!("pairing:approved:{}", scene.person);
    let name = json!({ "at": 1, "name": "Pygmalion" });
    store.cache(scene.agent, &approved, &name, None).await.unwrap();
    let effects = vec![RequestedChange::ForgetPerson { entity: scene.person }];
    store.finish_turn(TurnRecord { effects, ..elsewhere.turn(&[&command]) }).await.unwrap();
    let kept = store.cached(scene.agent, &approved, Timestamp(0)).await.unwrap();
    assert_eq!(kept, Some(json!({})), "still admitted, without a name");
    assert!(
        !left(waits.memory.id).await && left(theirs.id).await && person().await.names.is_empty()
    );
    let waiting = store.inbox_item(waits.memory.id).await.unwrap().unwrap();
    assert_eq!(waiting.state, InboxState::Skipped);
    assert_eq!(waiting.entry.envelope.entity_remote, None);
    let room = store.room(scene.room).await.unwrap().unwrap();
    assert_eq!(room.name, room.remote.as_str(), "it was named after the person");
}

/// Imported messages have no inbox rows: answers are found by the message that they name, results
/// of actions by the turn of such an answer, and the rest by the person's direct Rooms.
pub async fn imported_answers_to_a_person_are_forgotten(store: Arc<dyn Store>) {
    let group = Scene::new();
    let direct = Scene { room: RoomId::fresh(), ..group };
    let other = Scene { person: EntityId::fresh(), ..group };
    let mut connections = direct.connections();
    connections.rooms[0].kind = ChannelType::Dm;
    // An import has no list of participants.
    connections.participants.clear();
    for part in [group.connections(), other.connections(), connections] {
        store.connect(part).await.unwrap();
    }
    let answer = |scene: Scene, at, to: Option<&Memory>, turn: &str| {
        let mut memory = Memory { entity_id: scene.itself(), ..scene.memory("as you said", at) };
        memory.content.in_reply_to = to.map(|question| question.id);
        // PostgreSQL cannot look into JSON with this.
        memory.content.extra.insert("odd".into(), json!("\u{0}"));
        memory.metadata.insert("turn".into(), json!(turn));
        memory
    };
    let question = group.memory("I am Vexbarrow", 10);
    let kept = other.memory("and I am Ann", 11);
    // Clocks differ: this answer is older than its question.
    let replies = [answer(group, 5, Some(&question), "t1"), answer(group, 12, Some(&kept), "t2")];
    let result =
        |at, turn| Memory { kind: MemoryKind::ActionResult, ..answer(group, at, None, turn) };
    let results = [result(3, "t1"), result(4, "t2")];
    // A text that the turn of an answer sent elsewhere names no message.
    let elsewhere = Memory { room_id: RoomId::fresh(), ..answer(group, 6, None, "t1") };
    let unasked = answer(group, 14, None, "t3");
    let greeting = answer(direct, 1, None, "t4");
    let document = Memory { kind: MemoryKind::Documents, ..greeting.clone() };
    let document = Memory { id: MemoryId::fresh(), ..document };
    // Enough that most goes ahead.
    let said: Vec<Memory> = (0..MESSAGES).map(|n| direct.memory("remark", 100 + n)).collect();
    let mut all = vec![question.clone(), kept.clone(), unasked.clone(), greeting.clone()];
    all.extend(replies.iter().chain(&results).chain(&said).cloned());
    all.extend([document.clone(), elsewhere.clone()]);
    store.save_memories(&all).await.unwrap();

    let ahead = store.forget_ahead(group.agent, group.person).await.unwrap();
    assert_eq!(ahead, u64::try_from(MESSAGES).unwrap() + 5);
    let left = async |memory: &Memory| store.memory(memory.id).await.unwrap().is_some();
    for gone in [&question, &replies[0], &results[0], &greeting, &said[0], &elsewhere] {
        assert!(!left(gone).await, "{gone:?}");
    }
    for of_others in [&kept, &replies[1], &results[1], &unasked, &document] {
        assert!(left(of_others).await, "{of_others:?}");
    }
    // A message comes into the direct Room when the person's own messages are gone.
    let late = answer(direct, 900, None, "t5");
    store.save_memories(std::slice::from_ref(&late)).await.unwrap();
    let command = group.message("forget me", 950);
    store.ingest(Scene::batch(std::slice::from_ref(&command))).await.unwrap();
    let effects = vec![RequestedChange::ForgetPerson { entity: group.person }];
    store.finish_turn(TurnRecord { effects, ..group.turn(&[&command]) }).await.unwrap();
    assert_eq!(store.deleted(&[late.id]).await.unwrap(), [late.id]);
    assert!(!left(&late).await && left(&kept).await && left(&replies[1]).await);
}

/// A direct room of several people is a group: what the agent said to the others stays, and so does
/// the room's name.
pub async fn one_of_several_people_in_a_direct_room_is_forgotten(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let other = Scene { person: EntityId::fresh(), ..scene };
    for part in [scene, other] {
        let mut connections = part.connections();
        connections.rooms[0].kind = ChannelType::Dm;
        connections.rooms[0].name = Some("bees".to_owned());
        store.connect(connections).await.unwrap();
    }
    let questions = [scene.memory("I am Vexbarrow", 10), other.memory("I am Ann", 11)];
    let answers = questions.each_ref().map(|question| {
        let mut answer = Memory { entity_id: scene.itself(), ..scene.memory("as you said", 12) };
        answer.content.in_reply_to = Some(question.id);
        answer
    });
    store.save_memories(&[questions.clone(), answers.clone()].concat()).await.unwrap();
    forget(&store, scene).await;
    let left = async |memory: &Memory| store.memory(memory.id).await.unwrap().is_some();
    assert!(!left(&questions[0]).await && !left(&answers[0]).await);
    assert!(left(&questions[1]).await && left(&answers[1]).await, "it is Ann's");
    assert_eq!(store.room(scene.room).await.unwrap().unwrap().name, "bees");
}

/// The person of a scene says that they want to be forgotten.
async fn forget(store: &Arc<dyn Store>, scene: Scene) {
    let command = scene.message("forget me", 950);
    store.ingest(Scene::batch(std::slice::from_ref(&command))).await.unwrap();
    let effects = vec![RequestedChange::ForgetPerson { entity: scene.person }];
    store.finish_turn(TurnRecord { effects, ..scene.turn(&[&command]) }).await.unwrap();
}

/// A memory answers its own `inReplyTo`, whatever else its JSON contains.
pub async fn answers_are_found_in_any_json(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let other = Scene { person: EntityId::fresh(), ..scene };
    for part in [scene, other] {
        store.connect(part.connections()).await.unwrap();
    }
    let (mine, theirs) = (scene.memory("I am Vexbarrow", 10), other.memory("I am Ann", 11));
    let answer = |to: &Memory, extra: serde_json::Value| {
        let mut answer = Memory { entity_id: scene.itself(), ..scene.memory("as you said", 12) };
        answer.content.in_reply_to = Some(to.id);
        answer.content.extra.insert("a".into(), extra);
        answer.metadata.insert("turn".into(), json!(to.id));
        answer
    };
    let named = |id: MemoryId| json!({ "inReplyTo": id });
    let malformed = named(mine.id).to_string().replace('-', "_");
    let to_me = [
        answer(&mine, named(theirs.id)),
        answer(&mine, json!("u0000")),
        answer(&mine, json!("\\u0000")),
        answer(&mine, json!(malformed)),
    ];
    let mut of_my_turn = Memory { entity_id: scene.itself(), ..scene.memory("done", 13) };
    of_my_turn.metadata = to_me[0].metadata.clone();
    of_my_turn.metadata.insert("a".into(), json!("u0000 \u{0}"));
    let to_them = [answer(&theirs, named(mine.id)), answer(&theirs, json!(0))];
    let mut odd = scene.memory("no id", 14);
    odd.entity_id = scene.itself();
    let text = "01234567-----------------------------";
    odd.content.extra.insert("a".into(), json!({ "inReplyTo": &text[..36], "b": "\u{0}" }));
    let mut all = vec![mine, theirs, of_my_turn.clone(), odd.clone()];
    all.extend(to_me.iter().chain(&to_them).cloned());
    store.save_memories(&all).await.unwrap();
    forget(&store, scene).await;
    let left = async |memory: &Memory| store.memory(memory.id).await.unwrap().is_some();
    for gone in to_me.iter().chain([&of_my_turn]) {
        assert!(!left(gone).await, "{gone:?}");
    }
    for kept in to_them.iter().chain([&odd]) {
        assert!(left(kept).await, "{kept:?}");
    }
}
