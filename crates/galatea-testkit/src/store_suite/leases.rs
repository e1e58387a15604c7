//! Leases: one holder at a time, and nothing from one that was late. Members stand for processes; a store that cannot be shared gives
//! everybody what they ask for.

use galatea_core::{
    Cursor, ErrorKind, MemberId, RemoteId, RoomId, Store,
    store::{Claimed, Fence, Ingest, Lease, Part, ROOM_PARTS, TurnRecord, room_part},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::fixtures::{SOURCE, Scene, account};

/// Longer than any test runs.
const LONG: Duration = Duration::from_secs(600);

fn parts(claimed: &Claimed) -> BTreeSet<Part> {
    claimed.held.iter().map(|lease| lease.part.clone()).collect()
}

fn fence(member: MemberId, lease: &Lease) -> Option<Fence> {
    Some(Fence { member, lease: lease.clone() })
}

/// The first takes all, the second what the first gives back, and together they hold each part once.
pub async fn parts_are_shared_out_fairly(store: Arc<dyn Store>) {
    let (a, b, all) = (MemberId::fresh(), MemberId::fresh(), Part::all_rooms());
    assert_eq!(store.claim(a, &[], LONG).await.unwrap(), Claimed::default());
    assert_eq!(store.beat(a, "a", LONG).await.unwrap(), 1);
    let alone = store.claim(a, &all, LONG).await.unwrap();
    assert_eq!((alone.held.len(), alone.share), (64, 64));
    assert_eq!(store.claim(a, &all, LONG).await.unwrap(), alone, "asking again changes nothing");
    assert_eq!(store.renew(a, LONG).await.unwrap().len(), 64);
    assert_eq!(store.beat(b, "b", LONG).await.unwrap(), 2);
    if !store.is_shared() {
        assert_eq!(store.claim(b, &all, LONG).await.unwrap().held.len(), 64);
        return;
    }
    assert_eq!(store.claim(b, &all, LONG).await.unwrap(), Claimed { held: Vec::new(), share: 32 });
    let more = store.claim(a, &all, LONG).await.unwrap();
    assert_eq!((more.held.len(), more.share), (64, 32));
    store.release(a, &all[..40]).await.unwrap();
    store.release(b, &all[40..]).await.unwrap();
    let theirs = store.claim(b, &all, LONG).await.unwrap();
    assert_eq!(theirs.held.len(), 32);
    assert!(theirs.held.iter().all(|lease| lease.epoch == 2), "the second holder");
    let mine = store.claim(a, &all, LONG).await.unwrap();
    assert_eq!(mine.held.len(), 32);
    assert!(parts(&mine).is_disjoint(&parts(&theirs)));

    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (store, account) = (Arc::clone(&store), [Part("suite:one".to_owned())]);
            tokio::spawn(async move { store.claim(MemberId::fresh(), &account, LONG).await.unwrap().held.len() })
        })
        .collect();
    let mut holders = 0;
    for task in tasks {
        holders += task.await.unwrap();
    }
    assert_eq!(holders, 1, "of many at the same moment one takes it");
}

/// What has ended may be taken; what was taken is lost, and its old holder is told.
pub async fn a_lease_ends_by_the_stores_clock(store: Arc<dyn Store>) {
    let (a, b, all) = (MemberId::fresh(), MemberId::fresh(), [Part::rooms(1), Part::account(&SOURCE, Scene::new().agent, &account())]);
    assert_eq!(store.claim(a, &all, Duration::ZERO).await.unwrap().held.len(), 2);
    if !store.is_shared() {
        assert_eq!(store.renew(a, LONG).await.unwrap().len(), 2);
        return;
    }
    let taken = store.claim(b, &all[..1], LONG).await.unwrap();
    assert_eq!(taken.held, [Lease { part: all[0].clone(), epoch: 2 }]);
    assert_eq!(store.renew(a, LONG).await.unwrap(), [Lease { part: all[1].clone(), epoch: 1 }], "nobody came for the other one");
    assert_eq!(store.claim(b, &all, LONG).await.unwrap().held, taken.held);
    let list = store.leases().await.unwrap();
    assert_eq!(list.iter().map(|l| (l.lease.part.clone(), l.member)).collect::<Vec<_>>(), [(all[0].clone(), Some(b)), (all[1].clone(), Some(a))]);
    assert!(list.iter().all(|l| l.left > LONG / 2 && l.left <= LONG));
}

/// A worker that slept past its lease finishes no turn and moves no cursor; the one that took over does both.
pub async fn whoever_lost_a_part_commits_nothing(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let part = [Part::rooms(room_part(scene.room))];
    let (late, next) = (MemberId::fresh(), MemberId::fresh());
    let old = store.claim(late, &part, LONG).await.unwrap().held.remove(0);
    let batch = |member, lease: &Lease, text: &str| {
        let cursor = Cursor { stream: "updates".to_owned(), position: text.to_owned() };
        Ingest {
            messages: vec![scene.message(text, 2)],
            cursor: Some((scene.agent, SOURCE, account(), cursor)),
            fence: fence(member, lease),
            ..Ingest::default()
        }
    };
    assert_eq!(store.ingest(batch(late, &old, "in time")).await.unwrap(), [true]);
    let answer = |member, lease: &Lease| TurnRecord { fence: fence(member, lease), ..scene.turn(&[&message]) };
    if !store.is_shared() {
        return store.finish_turn(answer(late, &old)).await.unwrap();
    }
    store.release(late, &part).await.unwrap();
    let new = store.claim(next, &part, LONG).await.unwrap().held.remove(0);
    let refused = answer(late, &old);
    let beside = scene.message("beside", 3);
    let (turn, ingest, unfenced) = tokio::join!(
        store.finish_turn(refused.clone()),
        store.ingest(batch(late, &old, "too late")),
        store.ingest(Scene::batch(std::slice::from_ref(&beside)))
    );
    assert_eq!((turn.unwrap_err().kind(), ingest.unwrap_err().kind()), (ErrorKind::Conflict, ErrorKind::Conflict));
    assert_eq!(unfenced.unwrap(), [true], "what is committed beside it stands");
    assert_eq!(store.deliveries_of(refused.turn).await.unwrap(), []);
    assert_eq!(store.memory(refused.memories[0].id).await.unwrap(), None);
    let position = || async { store.cursor(scene.agent, &SOURCE, &account(), "updates").await.unwrap().unwrap().position };
    assert_eq!(position().await, "in time");
    for forged in [Fence { member: late, lease: new.clone() }, Fence { member: next, lease: old }] {
        let record = TurnRecord { fence: Some(forged), ..scene.turn(&[&message]) };
        assert_eq!(store.finish_turn(record).await.unwrap_err().kind(), ErrorKind::Conflict);
    }
    store.finish_turn(answer(next, &new)).await.unwrap();
    store.ingest(batch(next, &new, "taken over")).await.unwrap();
    assert_eq!(position().await, "taken over");
}

/// At once, not when the lease ends.
pub async fn leaving_gives_everything_back(store: Arc<dyn Store>) {
    let (a, b, all) = (MemberId::fresh(), MemberId::fresh(), Part::all_rooms());
    store.beat(a, "here", LONG).await.unwrap();
    store.claim(a, &all, LONG).await.unwrap();
    let members = store.members().await.unwrap();
    assert_eq!(members.iter().map(|m| (m.id, m.name.as_str())).collect::<Vec<_>>(), [(a, "here")]);
    assert!(members[0].left > LONG / 2);
    store.leave(a).await.unwrap();
    assert_eq!(store.members().await.unwrap(), []);
    assert_eq!(store.renew(a, LONG).await.unwrap(), []);
    assert_eq!(store.claim(b, &all, LONG).await.unwrap().held.len(), 64);
    assert!(store.leases().await.unwrap().iter().all(|lease| lease.member == Some(b)));
}

/// By the Room's part, in the order of commit; a Room that moves takes its rows to its new part.
pub async fn unfinished_is_listed_by_part(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let places: Vec<Scene> = (0..40).map(|_| scene.other_room()).collect();
    let messages: Vec<_> = places.iter().map(|place| place.message("hello", 1)).collect();
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let in_parts = |parts: Vec<u16>, limit| {
        let store = Arc::clone(&store);
        async move { store.unfinished_in_parts(&parts, limit).await.unwrap().into_iter().map(|i| i.entry.memory.id).collect::<Vec<_>>() }
    };
    let all: Vec<u16> = (0..ROOM_PARTS).collect();
    for parts in [all.clone(), all[..20].to_vec(), vec![room_part(places[7].room)], Vec::new()] {
        let expected: Vec<_> = messages.iter().filter(|m| parts.contains(&room_part(m.memory.room_id))).map(|m| m.memory.id).collect();
        assert_eq!(in_parts(parts, 100).await, expected);
    }
    assert_eq!(in_parts(all, 3).await.len(), 3);
    let to = loop {
        let to = RoomId::fresh();
        if room_part(to) != room_part(places[0].room) {
            break to;
        }
    };
    store.move_room(places[0].room, to, &RemoteId::new("moved")).await.unwrap();
    assert!(in_parts(vec![room_part(to)], 100).await.contains(&messages[0].memory.id));
    assert!(!in_parts(vec![room_part(places[0].room)], 100).await.contains(&messages[0].memory.id));
}

/// Begun and finished ones do not count.
pub async fn the_oldest_unstarted_message_is_known(store: Arc<dyn Store>) {
    let scene = Scene::new();
    assert_eq!(store.oldest_unstarted().await.unwrap(), None);
    let messages = [scene.message("a", 1), scene.message("b", 2), scene.message("c", 3)];
    for message in &messages {
        store.ingest(Scene::batch(std::slice::from_ref(message))).await.unwrap();
    }
    let mut received = Vec::new();
    for message in &messages {
        received.push(store.inbox_item(message.memory.id).await.unwrap().unwrap().received_at);
    }
    assert_eq!(store.oldest_unstarted().await.unwrap(), Some(received[0]));
    store.begin_turn(&[messages[0].memory.id]).await.unwrap();
    store.finish_turn(scene.turn(&[&messages[1]])).await.unwrap();
    assert_eq!(store.oldest_unstarted().await.unwrap(), Some(received[2]));
    store.begin_turn(&[messages[2].memory.id]).await.unwrap();
    assert_eq!(store.oldest_unstarted().await.unwrap(), None);
}
