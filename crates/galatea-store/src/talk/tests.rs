//! Rooms in memory: what is found, kept and dropped.

use galatea_core::{EntityId, MemoryId, Timestamp, store::RecallQuery};
use galatea_testkit::store_suite::fixtures::Scene;
use uuid::Uuid;

use super::{space::SLACK, *};
use crate::terms::{self, Asked};

mod kept;

fn id(seq: i64) -> MemoryId {
    MemoryId(Uuid::from_u128(u128::try_from(seq + 10).unwrap()))
}

fn message(seq: i64, at: i64, text: &str) -> Message {
    Message::new(seq, id(seq), EntityId(Uuid::from_u128(7)), at, text)
}

fn many(numbers: std::ops::Range<usize>) -> Vec<Message> {
    numbers.map(|n| i64::try_from(n).unwrap()).map(|n| message(n, n, "tea")).collect()
}

fn asking(scene: &Scene, text: &str) -> RecallQuery {
    RecallQuery::new(scene.visible(), text, 10, Timestamp(0)).kind(MemoryKind::Messages)
}

fn key_of(scene: &Scene) -> Key {
    (scene.agent, scene.room)
}

fn add(talks: &Talks, scene: &Scene, new: Vec<Message>) {
    talks.add_of(new.into_iter().map(|message| (key_of(scene), move || message)));
}

fn having(handle: &Handle, query: &RecallQuery) -> Vec<i64> {
    let (lists, numbers) = handle.talk().having(query, &terms::asked(&query.text));
    lists.into_iter().flatten().map(|(place, _)| numbers[place as usize]).collect()
}

#[test]
fn messages_are_found_by_their_words_the_newest_first() {
    let (talks, scene) = (Talks::of_one_process(), Scene::new());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    assert_eq!(handle.extent(), Extent::Unread);
    // Committed while the Room is read, which sees one of them.
    add(&talks, &scene, vec![message(3, 30, "more teas"), message(4, 5, "水曜日 late")]);
    talks.keep(&handle, vec![message(3, 30, "more teas"), message(1, 10, "tea")], MOST);
    add(&talks, &scene, vec![message(2, 20, "ΟΔΟΣ"), message(1, 10, "known")]);
    assert_eq!(handle.extent(), Extent::Whole);
    let found = |text: &str| having(&handle, &asking(&scene, text));
    assert_eq!(found("tea"), [3, 1]);
    assert_eq!(
        (found("水"), found("水曜"), found("曜"), found("月")),
        (vec![4], vec![4], vec![4], vec![])
    );
    assert_eq!(found("οδος"), [2]);
    let teas = asking(&scene, "teas");
    let (lists, numbers) = handle.talk().having(&teas, &terms::asked(&teas.text));
    assert_eq!(numbers, [4, 1, 2, 3], "in the order of their times");
    assert_eq!(lists, [[(3, true), (1, false)]], "the word itself, and its stem");
    let narrow = RecallQuery {
        since: Some(Timestamp(10)),
        before: Some(Timestamp(30)),
        ..asking(&scene, "tea")
    };
    assert_eq!(having(&handle, &narrow), [1]);
    let others = RecallQuery { people: vec![scene.person], ..asking(&scene, "tea") };
    assert_eq!(having(&handle, &others), [0; 0]);
}

#[test]
fn neighbours_are_those_by_time() {
    let (talks, scene) = (Talks::of_several_processes(Duration::MAX), Scene::new());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, vec![message(9, 10, ""), message(5, 20, ""), message(7, 20, "")], MOST);
    add(&talks, &scene, vec![message(8, 15, "")]);
    let beside = |seq| handle.talk().beside(seq);
    assert_eq!(beside(9), Some([None, Some(8)]));
    assert_eq!(beside(8), Some([Some(9), Some(5)]));
    assert_eq!(beside(7), Some([Some(5), None]));
    assert_eq!(beside(6), None);
    let large = talks.of(&asking(&Scene::new(), "tea")).unwrap();
    talks.keep(&large, many(1..MOST + 2), MOST);
    assert_eq!(large.extent(), Extent::Newest);
    assert_eq!(large.talk().beside(2), None, "an older one is not known");
    assert_eq!(large.talk().beside(3), Some([Some(2), Some(4)]));
}

#[test]
fn of_a_large_room_the_newest_are_kept_and_the_words_of_others() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(1..MOST + 2), MOST);
    assert_eq!(handle.extent(), Extent::Newest);
    let asked = terms::asked("tea kettle");
    let older = |word: usize| handle.talk().older(&asked[word]);
    assert_eq!(older(0), None);
    let version = handle.talk().version();
    let keep = |word: usize, having: &[(i64, bool)]| {
        handle.talk().keep_older(&asked[word], having, version);
    };
    keep(0, &[(5, true), (0, false), (-1, true)]);
    assert_eq!(older(0).unwrap(), [(0, false), (-1, true)], "the fifth is in memory");
    keep(1, &[(-1, true)]);
    let new = MOST + SLACK + 2;
    add(&talks, &scene, many(MOST + 1..new + 1));
    assert_eq!((handle.extent(), handle.talk().len()), (Extent::Newest, MOST));
    let gone = i64::try_from(SLACK + 2).unwrap();
    assert!(handle.talk().get(gone).is_none() && handle.talk().get(gone + 1).is_some());
    let tea = older(0).unwrap();
    assert_eq!((tea[0], tea[1], tea.len()), ((gone, true), (gone - 1, true), SLACK + 3));
    assert_eq!(older(1).unwrap(), [(-1, true)]);
    talks.changed(&Changed::These(vec![id(gone)]), None);
    assert_eq!((older(0), handle.extent()), (None, Extent::Newest));
    keep(0, &[(-1, true)]);
    assert_eq!(older(0), None, "it was read before the change");
    // One with an old time is not between those in memory.
    let late = message(9_999, 1, "kettle");
    let version = handle.talk().version();
    handle.talk().keep_older(&asked[1], &[(-1, true)], version);
    add(&talks, &scene, vec![late]);
    assert!(handle.talk().get(9_999).is_none());
    assert_eq!(older(1).unwrap(), [(9_999, true), (-1, true)]);
    assert!(!handle.fits(&RecallQuery { before: Some(Timestamp(1)), ..asking(&scene, "tea") }));
    assert!(handle.fits(&asking(&scene, "tea")));
    assert!(!handle.fits(&RecallQuery { since: Some(Timestamp(1)), ..asking(&scene, "tea") }));
}

#[test]
fn a_whole_room_is_known_by_its_words_however_many_messages_it_has() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    let whole =
        |text: &str, query: &RecallQuery| having_whole(&handle, query, &terms::asked(text)[..1]);
    let of = |text: &str| whole(text, &asking(&scene, text));
    talks.keep(&handle, vec![message(-2, -2, "two kettles"), message(-1, -1, "水曜日")], MOST);
    add(&talks, &scene, many(1..1_000));
    assert_eq!((handle.extent(), handle.talk().len()), (Extent::Whole, 1_001));
    let first = (1..1_000).find(|seq| handle.talk().get(*seq).is_some()).unwrap();
    assert!((1_000 - 32 - 125..=1_000 - 32).contains(&first), "{first}");
    for (said, having) in [("kettles", -2), ("kettle", -2), ("two", -2), ("水曜", -1), ("水", -1)]
    {
        assert_eq!(of(said), vec![having], "{said}");
    }
    for unsaid in ["bicycle", "木曜", "木"] {
        assert_eq!(of(unsaid), [0; 0], "{unsaid} was not said");
    }
    let teas = of("tea");
    assert_eq!((teas.len(), teas[0], teas[399]), (NEWEST, 999, 600), "the newest first");
    let early = RecallQuery { before: Some(Timestamp(3)), ..asking(&scene, "tea") };
    assert_eq!(whole("tea", &early), [2, 1]);
    assert!(handle.fits(&early));
    assert!(handle.talk().shown(&early, 2).is_some());
    assert_eq!(handle.talk().shown(&early, 3), None);
    let beside = |seq: i64| handle.talk().beside(seq);
    assert_eq!(beside(-2), Some([None, Some(-1)]));
    assert_eq!(beside(-1), Some([Some(-2), Some(1)]));
    assert_eq!(beside(first - 1), Some([Some(first - 2), Some(first)]), "the last in the index");
    assert_eq!(beside(first), Some([Some(first - 1), Some(first + 1)]), "the first that is not");
    add(&talks, &scene, vec![message(9_999, -3, "a bicycle")]);
    assert_eq!(of("bicycle"), [9_999], "one with an old time");
    assert_eq!(beside(-2), Some([Some(9_999), Some(-1)]));
    talks.changed(&Changed::These(vec![id(5_000)]), None);
    assert_eq!(talks.of(&asking(&scene, "tea")).unwrap().extent(), Extent::Whole);
    talks.changed(&Changed::These(vec![id(-1)]), None);
    assert_eq!(talks.of(&asking(&scene, "tea")).unwrap().extent(), Extent::Unread);
}

#[test]
fn a_room_becomes_whole_when_its_older_messages_were_read() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(PAGE..PAGE + MOST + 1), MOST);
    // What its older messages say is unknown.
    assert_eq!(handle.talk().older(&terms::asked("bicycle")[0]), None);
    for (read, extent) in [(1..PAGE + 1, Extent::Newest), (0..1, Extent::Whole)] {
        assert_eq!(handle.extent(), Extent::Newest);
        let unread = handle.talk().next_unread().unwrap();
        let mut read = handle.analysed(many(read));
        read.reverse();
        handle.talk().keep_read(unread, read);
        assert_eq!(handle.extent(), extent);
    }
    assert_eq!(handle.talk().len(), PAGE + MOST + 1);
    assert!(handle.talk().next_unread().is_none());
    // The next ones send the others into the index.
    add(&talks, &scene, many(9_000..9_001));
    assert_eq!(handle.talk().len(), PAGE + MOST + 2);
    let is_kept = |seq: i64| handle.talk().get(seq).is_some();
    assert!(!is_kept(1) && is_kept(9_000));
}

#[test]
fn pages_wait_until_no_search_comes_but_not_for_long() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(1..FIRST + 1), FIRST);
    assert_eq!(handle.talk().reading_due(true), None, "it is known whole");
    let scene = Scene::new();
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(PAGE..PAGE + FIRST + 1), FIRST);
    assert_eq!(handle.extent(), Extent::Newest);
    let due = |can_wait| handle.talk().reading_due(can_wait).unwrap();
    assert_eq!(due(false), Due::Now);
    let searches: Vec<_> = (0..40).map(|_| due(true)).collect();
    assert!(searches[..31].iter().all(|due| *due == Due::Quiet), "{searches:?}");
    assert!(searches[31..].iter().all(|due| *due == Due::Now), "{searches:?}");
    // One page waits at a time, and a Room that is dropped does not.
    let waiting = handle.wait().unwrap();
    assert!(handle.wait().is_none());
    drop(waiting);
    let waiting = handle.wait().unwrap();
    talks.forget(&handle);
    assert!(waiting.room().is_some());
    drop(handle);
    assert!(waiting.room().is_none());
}

/// Of a Room that was just read, older messages join those that are kept one by one first.
#[test]
fn the_newest_messages_are_kept_one_by_one() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(1_000..1_000 + FIRST + 1), FIRST);
    let next = || handle.talk().next_unread().unwrap();
    let read = |numbers| {
        let mut read = handle.analysed(many(numbers));
        read.reverse();
        read
    };
    let unread = next();
    assert_eq!((unread.before, unread.most), ((1_000, 1_000), MOST - FIRST - 1));
    let page = || read(1_000 - unread.most..1_000);
    // One that is older than these is stored meanwhile: the page does not have it.
    add(&talks, &scene, vec![message(5_000, 999, "late")]);
    handle.talk().keep_read(unread, page());
    assert_eq!(handle.talk().len(), FIRST + 1);
    let again = next();
    handle.talk().keep_read(again, page());
    assert_eq!((handle.extent(), handle.talk().len()), (Extent::Newest, MOST));
    let oldest = 1_000 - i64::try_from(unread.most).unwrap();
    assert_eq!(having(&handle, &asking(&scene, "tea")).last(), Some(&oldest));
    let rest = next();
    assert_eq!((rest.before, rest.most), ((oldest, oldest), PAGE), "the others are not");
    // A Room whose other messages are few is known whole then.
    let scene = Scene::new();
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(1_000..1_000 + FIRST + 1), FIRST);
    let unread = handle.talk().next_unread().unwrap();
    handle.talk().keep_read(unread, read(900..1_000));
    assert_eq!((handle.extent(), handle.talk().len()), (Extent::Whole, FIRST + 101));
    assert!(handle.talk().next_unread().is_none());
}

#[test]
fn terms_that_were_read_before_a_change_are_left_out() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(PAGE..PAGE + MOST + 1), MOST);
    let next = || handle.talk().next_unread().unwrap();
    let unread = next();
    let rooms = [key_of(&scene)].into();
    talks.changed(&Changed::These(vec![id(3)]), Some(&rooms));
    // Another search reads on from the same message.
    let again = next();
    assert_eq!(again.before, unread.before);
    let mut read = handle.analysed(many(1..PAGE + 1));
    read.reverse();
    handle.talk().keep_read(unread, read.clone());
    assert_eq!(next().before, unread.before);
    handle.talk().keep_read(again, read);
    assert_ne!(next().before, unread.before);
}

/// A room whose messages are too long for an index is searched one by one, up to some number.
#[test]
fn a_room_of_long_messages_has_no_index() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    let text: String = (0..2_000).map(|n| format!("w{n} ")).collect();
    let long =
        |numbers: std::ops::Range<i64>| numbers.map(|n| message(n, n, &text)).collect::<Vec<_>>();
    talks.keep(&handle, long(0..200), MOST);
    assert_eq!((handle.extent(), handle.talk().len()), (Extent::Whole, 200));
    assert!(handle.talk().get(0).is_some());
    // One whose index becomes too large is read again.
    let other = Scene::new();
    let handle = talks.of(&asking(&other, "tea")).unwrap();
    talks.keep(&handle, long(0..0), MOST);
    add(&talks, &other, long(0..160));
    assert!(handle.talk().get(0).is_none(), "in the index");
    assert_eq!(handle.extent(), Extent::Whole);
    add(&talks, &other, long(160..320));
    assert_eq!(handle.extent(), Extent::Newest);
    assert_eq!(talks.of(&asking(&other, "tea")).unwrap().extent(), Extent::Unread);
    // The same where old messages are added.
    let handle = talks.of(&asking(&other, "tea")).unwrap();
    talks.keep(&handle, long(1_000..1_160), MOST);
    assert!(handle.talk().get(1_000).is_none(), "in the index");
    add(&talks, &other, long(0..10));
    assert_eq!((handle.extent(), handle.talk().get(5).is_none()), (Extent::Newest, true));
    assert_eq!(talks.of(&asking(&other, "tea")).unwrap().extent(), Extent::Unread);
}

/// PostgreSQL may give a message again that was read with the Room.
#[test]
fn a_message_at_the_border_of_the_index_is_there_once() {
    let (scene, talks) = (Scene::new(), Talks::of_several_processes(Duration::MAX));
    let query = asking(&scene, "tea");
    let handle = talks.of(&query).unwrap();
    // All at one time: the first ones are in the index.
    let teas =
        |numbers: std::ops::Range<i64>| numbers.map(|n| message(n, 7, "tea")).collect::<Vec<_>>();
    talks.keep(&handle, teas(1..300), MOST);
    let is_kept = |seq: i64| handle.talk().get(seq).is_some();
    assert!(!is_kept(100) && is_kept(299));
    let bytes = talks.bytes();
    add(&talks, &scene, teas(100..101));
    add(&talks, &scene, teas(0..1));
    assert!(!is_kept(100) && !is_kept(0));
    assert!(talks.bytes() > bytes, "the older one is counted");
    let found = having_whole(&handle, &query, &terms::asked(&query.text));
    assert_eq!(found, (0..300).rev().collect::<Vec<i64>>());
    assert_eq!(handle.talk().len(), 300);
    assert_eq!(handle.talk().beside(0), Some([None, Some(1)]));
}

fn having_whole(handle: &Handle, query: &RecallQuery, asked: &[Asked]) -> Vec<i64> {
    let mut talk = handle.talk();
    let lists = talk.whole(query, asked);
    lists.into_iter().flatten().filter_map(|(place, _)| talk.number(place as usize)).collect()
}

#[test]
fn words_of_older_messages_take_bounded_space() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let handle = talks.of(&asking(&scene, "tea")).unwrap();
    talks.keep(&handle, many(1..MOST + 2), MOST);
    let asked = |n: usize| terms::asked(&format!("word{n}")).swap_remove(0);
    let list: Vec<(i64, bool)> = (0..400).map(|n| (-n, true)).collect();
    for n in 0..40 {
        let version = handle.talk().version();
        handle.talk().keep_older(&asked(n), &list, version);
    }
    let known = (0..40).filter(|n| handle.talk().older(&asked(*n)).is_some()).count();
    assert_eq!(known, 20, "they were forgotten once");
}

#[test]
fn only_a_search_of_a_rooms_messages_has_a_talk() {
    let (scene, talks) = (Scene::new(), Talks::of_one_process());
    let asked = |query: &RecallQuery| talks.of(query).is_some();
    assert!(asked(&asking(&scene, "tea")));
    assert!(!asked(&asking(&scene, "")));
    assert!(!asked(&asking(&scene, "tea").kind(MemoryKind::Facts)));
    assert!(!asked(&RecallQuery { room: Some(Scene::new().room), ..asking(&scene, "tea") }));
    let operator = galatea_core::Visibility::operator(scene.agent);
    assert!(!asked(&RecallQuery { visible: operator, ..asking(&scene, "tea") }));
}

#[test]
fn a_text_is_taken_out_of_a_content() {
    assert_eq!(text_of(r#"{"source":"x","text":"a\u0000b \"c\""}"#), "a\0b \"c\"");
    assert_eq!((text_of("{}"), text_of("[")), (String::new(), String::new()));
}
