//! A lease has one owner at a time, and no commit succeeds under a lost one. A member stands for a
//! process. A store that cannot be shared grants every claim.

use galatea_core::{
    AgentId, Cursor, ErrorKind, Event, MemberId, RemoteId, RoomId, Source, Store,
    store::{
        ConnectorState, Fence, Group, InFlightRows, Ingest, Lease, Membership, OutboxState,
        Partition, ProcessRole, ROOM_PARTITIONS, Settlement, TurnRecord, room_partition,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::fixtures::{SOURCE, Scene, account, settlement};

/// Longer than any test runs.
const LONG: Duration = Duration::from_secs(600);

fn partitions(held: &[Lease]) -> BTreeSet<Partition> {
    held.iter().map(|lease| lease.part.clone()).collect()
}

fn fence(member: MemberId, lease: &Lease) -> Option<Fence> {
    Some(Fence { member, lease: lease.clone() })
}

/// Each partition has one owner, and a member gets no more partitions than it asks for.
pub async fn parts_are_shared_out(store: Arc<dyn Store>) {
    let (a, b, all) =
        (MemberId::fresh(), MemberId::fresh(), Partition::all_rooms(AgentId::fresh()));
    assert_eq!(store.claim(a, &[], 9, LONG).await.unwrap(), []);
    let alone = store.claim(a, &all, 64, LONG).await.unwrap();
    assert_eq!(alone.len(), 64);
    assert_eq!(
        store.claim(a, &all, 64, LONG).await.unwrap(),
        alone,
        "asking again changes nothing"
    );
    assert_eq!(store.renew(a, LONG).await.unwrap().len(), 64);
    if !store.is_shared() {
        assert_eq!(store.claim(b, &all, 32, LONG).await.unwrap().len(), 64);
        return;
    }
    assert_eq!(store.claim(b, &all, 32, LONG).await.unwrap(), []);
    assert_eq!(
        store.claim(a, &all, 32, LONG).await.unwrap().len(),
        64,
        "claiming fewer partitions releases none"
    );
    store.release(a, &all[..40]).await.unwrap();
    store.release(b, &all[40..]).await.unwrap();
    let theirs = store.claim(b, &all, 32, LONG).await.unwrap();
    assert_eq!(theirs.len(), 32);
    assert!(theirs.iter().all(|lease| lease.epoch == 2), "the second holder");
    let mine = store.claim(a, &all, 32, LONG).await.unwrap();
    assert_eq!(mine.len(), 32);
    assert!(partitions(&mine).is_disjoint(&partitions(&theirs)));

    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (store, account) = (Arc::clone(&store), [Partition("suite:one".to_owned())]);
            tokio::spawn(async move {
                store.claim(MemberId::fresh(), &account, 1, LONG).await.unwrap().len()
            })
        })
        .collect();
    let mut holders = 0;
    for task in tasks {
        holders += task.await.unwrap();
    }
    assert_eq!(holders, 1, "exactly one of many concurrent claims succeeds");
}

/// A live member counts in each of its groups until its heartbeat expires.
pub async fn members_are_counted_by_group(store: Arc<dyn Store>) {
    let (a, b, late) = (MemberId::fresh(), MemberId::fresh(), MemberId::fresh());
    let group = |name: &str| Group(name.to_owned());
    let of = |names: &[&str]| Membership {
        groups: names.iter().map(|name| group(name)).collect(),
        role: ProcessRole::Worker,
        ..Membership::default()
    };
    let alive = |counts: &[(&str, usize)]| {
        counts.iter().map(|(name, count)| (group(name), *count)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(store.beat(a, &of(&["x", "y"]), LONG).await.unwrap(), alive(&[("x", 1), ("y", 1)]));
    if !store.is_shared() {
        return;
    }
    assert_eq!(
        store.beat(late, &of(&["y"]), Duration::ZERO).await.unwrap(),
        alive(&[("x", 1), ("y", 2)])
    );
    assert_eq!(
        store.beat(b, &of(&["y", "z"]), LONG).await.unwrap(),
        alive(&[("x", 1), ("y", 2), ("z", 1)])
    );
    assert_eq!(
        store.beat(a, &of(&["x"]), LONG).await.unwrap(),
        alive(&[("x", 1), ("y", 1), ("z", 1)]),
        "the latest heartbeat decides its groups"
    );
    let members = store.members().await.unwrap();
    assert!(members.iter().all(|member| member.membership.role == ProcessRole::Worker));
    assert_eq!(members.iter().find(|member| member.id == late).unwrap().left, Duration::ZERO);
}

/// A member receives the events of the others once and in order, from the moment it subscribes.
/// Events published just before that may arrive too.
pub async fn events_reach_the_others(store: Arc<dyn Store>) {
    let (here, there) = (MemberId::fresh(), MemberId::fresh());
    let event = || Event::AgentStarted { agent: AgentId::fresh() };
    let before = event();
    store.publish_events(there, std::slice::from_ref(&before)).await.unwrap();
    let (begin, none) = store.events_after(here, None, 10).await.unwrap();
    assert_eq!(none, []);
    let published: Vec<Event> = (0..5).map(|_| event()).collect();
    store.publish_events(there, &published[..3]).await.unwrap();
    store.publish_events(here, &[event()]).await.unwrap();
    store.publish_events(there, &published[3..]).await.unwrap();
    if !store.is_shared() {
        assert_eq!(store.events_after(here, Some(begin), 10).await.unwrap().1, []);
        return;
    }
    let (mut heard, mut at) = (Vec::new(), begin);
    while heard.len() < published.len() {
        let (next, events) = store.events_after(here, Some(at), 2).await.unwrap();
        heard.extend(events.into_iter().filter(|event| *event != before));
        at = next;
    }
    assert_eq!(heard, published);
    assert_eq!(store.events_after(here, Some(at), 10).await.unwrap(), (at, Vec::new()));
}

/// Another member may claim an expired lease; the old owner then fails to renew it.
pub async fn a_lease_ends_by_the_stores_clock(store: Arc<dyn Store>) {
    let (a, b, all) = (
        MemberId::fresh(),
        MemberId::fresh(),
        [
            Partition::rooms(AgentId::fresh(), 1),
            Partition::account(&SOURCE, Scene::new().agent, &account()),
        ],
    );
    assert_eq!(store.claim(a, &all, 2, Duration::ZERO).await.unwrap().len(), 2);
    if !store.is_shared() {
        assert_eq!(store.renew(a, LONG).await.unwrap().len(), 2);
        return;
    }
    let taken = store.claim(b, &all[..1], 1, LONG).await.unwrap();
    assert_eq!(taken, [Lease { part: all[0].clone(), epoch: 2 }]);
    assert_eq!(
        store.renew(a, LONG).await.unwrap(),
        [Lease { part: all[1].clone(), epoch: 1 }],
        "an expired lease that no member claimed can be renewed"
    );
    assert_eq!(store.claim(b, &all, 1, LONG).await.unwrap(), taken);
    let list = store.leases().await.unwrap();
    assert_eq!(
        list.iter().map(|l| (l.lease.part.clone(), l.member)).collect::<BTreeMap<_, _>>(),
        BTreeMap::from([(all[0].clone(), Some(b)), (all[1].clone(), Some(a))])
    );
    assert!(list.iter().all(|l| l.left > LONG / 2 && l.left <= LONG));
}

/// A worker whose lease was lost can finish no turn and move no cursor; the new owner can do both.
pub async fn a_process_that_lost_a_part_commits_nothing(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();
    let part = [Partition::rooms(scene.agent, room_partition(scene.room))];
    let (late, next) = (MemberId::fresh(), MemberId::fresh());
    let old = store.claim(late, &part, 1, LONG).await.unwrap().remove(0);
    let batch = |member, lease: &Lease, text: &str| {
        let cursor = Cursor { stream: "updates".to_owned(), position: text.to_owned() };
        let state = ConnectorState {
            agent: scene.agent,
            source: SOURCE,
            account: account(),
            key: "said".to_owned(),
            value: text.into(),
        };
        Ingest {
            state: vec![state],
            messages: vec![scene.message(text, 2)],
            cursor: Some((scene.agent, SOURCE, account(), cursor)),
            fence: fence(member, lease),
            ..Ingest::default()
        }
    };
    assert_eq!(store.ingest(batch(late, &old, "in time")).await.unwrap().new, [true]);
    let answer = |member, lease: &Lease| TurnRecord {
        fence: fence(member, lease),
        ..scene.turn(&[&message])
    };
    if !store.is_shared() {
        return store.finish_turn(answer(late, &old)).await.unwrap();
    }
    store.release(late, &part).await.unwrap();
    let new = store.claim(next, &part, 1, LONG).await.unwrap().remove(0);
    let refused = answer(late, &old);
    let beside = scene.message("beside", 3);
    let (turn, ingest, unfenced) = tokio::join!(
        store.finish_turn(refused.clone()),
        store.ingest(batch(late, &old, "too late")),
        store.ingest(Scene::batch(std::slice::from_ref(&beside)))
    );
    assert_eq!(
        (turn.unwrap_err().kind(), ingest.unwrap_err().kind()),
        (ErrorKind::Conflict, ErrorKind::Conflict)
    );
    assert_eq!(unfenced.unwrap().new, [true], "a commit beside it is not affected");
    assert_eq!(store.deliveries_of(refused.turn).await.unwrap(), []);
    assert_eq!(store.memory(refused.memories[0].id).await.unwrap(), None);
    let position = || async {
        store.cursor(scene.agent, &SOURCE, &account(), "updates").await.unwrap().unwrap().position
    };
    assert_eq!(position().await, "in time");
    let state = store.connector_state(scene.agent, &SOURCE, &account(), "said").await.unwrap();
    assert_eq!(state, Some("in time".into()), "a refused batch stores no connector state");
    for forged in [Fence { member: late, lease: new.clone() }, Fence { member: next, lease: old }] {
        let record = TurnRecord { fence: Some(forged), ..scene.turn(&[&message]) };
        assert_eq!(store.finish_turn(record).await.unwrap_err().kind(), ErrorKind::Conflict);
    }
    store.finish_turn(answer(next, &new)).await.unwrap();
    store.ingest(batch(next, &new, "taken over")).await.unwrap();
    assert_eq!(position().await, "taken over");
}

/// A process that lost an account cannot change the state of its deliveries, except to report that
/// one was sent.
pub async fn a_process_that_lost_an_account_settles_only_what_was_sent(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let part = [Partition::account(&SOURCE, scene.agent, &account())];
    let (late, next) = (MemberId::fresh(), MemberId::fresh());
    let old = store.claim(late, &part, 1, LONG).await.unwrap().remove(0);
    let delivery = scene.delivery(galatea_core::TurnId::fresh(), 0);
    let id = delivery.delivery.id;
    store.enqueue(vec![delivery], Vec::new()).await.unwrap();
    let settle = |member, lease: &Lease, state| {
        let settlement = Settlement { fence: fence(member, lease), ..settlement(id, state) };
        let store = Arc::clone(&store);
        async move {
            let refused = store.settle(vec![settlement]).await.unwrap();
            (store.outbox_item(id).await.unwrap().unwrap().state, refused == [id])
        }
    };
    assert_eq!(settle(late, &old, OutboxState::Sending).await, (OutboxState::Sending, false));
    if !store.is_shared() {
        return;
    }
    store.release(late, &part).await.unwrap();
    let new = store.claim(next, &part, 1, LONG).await.unwrap().remove(0);
    assert_eq!(
        settle(late, &old, OutboxState::Pending).await,
        (OutboxState::Sending, true),
        "the refused settlement is returned"
    );
    assert_eq!(settle(late, &old, OutboxState::Dead).await, (OutboxState::Sending, true));
    assert_eq!(settle(next, &new, OutboxState::Pending).await, (OutboxState::Pending, false));
    assert_eq!(settle(late, &old, OutboxState::Sent).await, (OutboxState::Sent, false));
}

/// Leaving releases all leases at once.
pub async fn leaving_gives_everything_back(store: Arc<dyn Store>) {
    let (a, b, all) =
        (MemberId::fresh(), MemberId::fresh(), Partition::all_rooms(AgentId::fresh()));
    store
        .beat(a, &Membership { name: "here".to_owned(), ..Membership::default() }, LONG)
        .await
        .unwrap();
    store.claim(a, &all, 64, LONG).await.unwrap();
    let members = store.members().await.unwrap();
    assert_eq!(
        members.iter().map(|m| (m.id, m.membership.name.as_str())).collect::<Vec<_>>(),
        [(a, "here")]
    );
    assert!(members[0].left > LONG / 2);
    store.leave(a).await.unwrap();
    assert_eq!(store.members().await.unwrap(), []);
    assert_eq!(store.renew(a, LONG).await.unwrap(), []);
    assert_eq!(store.claim(b, &all, 64, LONG).await.unwrap().len(), 64);
    assert!(store.leases().await.unwrap().iter().all(|lease| lease.member == Some(b)));
}

/// Unfinished messages are listed by the Room's partition, in the order of commit. A moved Room
/// takes its messages to its new partition.
pub async fn unfinished_is_listed_by_part(store: Arc<dyn Store>) {
    let scene = Scene::new();
    let places: Vec<Scene> = (0..40).map(|_| scene.other_room()).collect();
    let messages: Vec<_> = places.iter().map(|place| place.message("hello", 1)).collect();
    store.ingest(Scene::batch(&messages)).await.unwrap();
    let besides: Arc<std::sync::Mutex<InFlightRows>> = Arc::default();
    let in_parts = |parts: Vec<u16>, limit| {
        let (store, agent, besides) =
            (Arc::clone(&store), scene.agent, besides.lock().unwrap().clone());
        async move {
            store
                .unfinished_in_parts(agent, &parts, &[SOURCE], &besides, limit)
                .await
                .unwrap()
                .into_iter()
                .map(|i| i.entry.memory.id)
                .collect::<Vec<_>>()
        }
    };
    let all: Vec<u16> = (0..ROOM_PARTITIONS).collect();
    for parts in [all.clone(), all[..20].to_vec(), vec![room_partition(places[7].room)], Vec::new()]
    {
        let expected: Vec<_> = messages
            .iter()
            .filter(|m| parts.contains(&room_partition(m.memory.room_id)))
            .map(|m| m.memory.id)
            .collect();
        assert_eq!(in_parts(parts, 100).await, expected);
    }
    assert_eq!(in_parts(all.clone(), 3).await.len(), 3);
    besides.lock().unwrap().messages = messages[..38].iter().map(|m| m.memory.id).collect();
    assert_eq!(
        in_parts(all.clone(), 3).await,
        [messages[38].memory.id, messages[39].memory.id],
        "messages in flight are left out and do not count towards the limit"
    );
    *besides.lock().unwrap() = InFlightRows {
        messages: Vec::new(),
        rooms: places[1..].iter().map(|place| place.room).collect(),
    };
    assert_eq!(
        in_parts(all.clone(), 3).await,
        [messages[0].memory.id],
        "Rooms in flight are left out, too"
    );
    let nothing = InFlightRows::default();
    *besides.lock().unwrap() = InFlightRows::default();
    assert_eq!(
        store
            .unfinished_in_parts(scene.agent, &all, &[Source::new("elsewhere")], &nothing, 3)
            .await
            .unwrap(),
        []
    );
    assert_eq!(
        store.unfinished_in_parts(AgentId::fresh(), &all, &[SOURCE], &nothing, 3).await.unwrap(),
        []
    );
    let to = loop {
        let to = RoomId::fresh();
        if room_partition(to) != room_partition(places[0].room) {
            break to;
        }
    };
    store.move_room(places[0].room, to, &RemoteId::new("moved")).await.unwrap();
    assert!(in_parts(vec![room_partition(to)], 100).await.contains(&messages[0].memory.id));
    assert!(
        !in_parts(vec![room_partition(places[0].room)], 100).await.contains(&messages[0].memory.id)
    );
}

/// Messages whose turn has begun or finished are not counted as unstarted.
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
