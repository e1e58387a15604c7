//! Which Rooms are kept in memory: after changes, after a while, and when space is short.

use super::*;

#[test]
fn a_room_is_read_again_after_a_change_of_its_messages_and_after_a_while() {
    let (scene, other) = (Scene::new(), Scene::new());
    let talks = Talks::of_several_processes(Duration::from_secs(300));
    let read = |scene: &Scene, seq| {
        let handle = talks.of(&asking(scene, "tea")).unwrap();
        talks.keep(&handle, vec![message(seq, 1, "tea")], MOST);
    };
    let extents =
        || [&scene, &other].map(|scene| talks.of(&asking(scene, "tea")).unwrap().extent());
    read(&scene, 1);
    read(&other, 2);
    talks.changed(&Changed::Nothing, None);
    talks.changed(&Changed::These(vec![id(3)]), None);
    assert_eq!(extents(), [Extent::Whole; 2]);
    talks.changed(&Changed::These(vec![id(3), id(2)]), None);
    assert_eq!(extents(), [Extent::Whole, Extent::Unread]);
    let reading = talks.of(&asking(&other, "tea")).unwrap();
    talks.changed(&Changed::These(vec![id(3), id(2)]), None);
    talks.keep(&reading, vec![message(2, 1, "what it said before")], MOST);
    assert_eq!(reading.extent(), Extent::Whole, "its own search goes on");
    assert_eq!(extents(), [Extent::Whole, Extent::Unread], "it may have been read before");
    talks.changed(&Changed::Any, None);
    assert_eq!(extents(), [Extent::Unread; 2]);
    let short = Talks::of_several_processes(Duration::ZERO);
    let handle = short.of(&asking(&scene, "tea")).unwrap();
    short.keep(&handle, Vec::new(), MOST);
    assert_eq!(short.of(&asking(&scene, "tea")).unwrap().extent(), Extent::Unread);
}

/// A change names the Rooms of the messages that it changes: none if it changes a piece of a document.
#[test]
fn a_change_concerns_the_rooms_of_its_messages_only() {
    let (scene, other) = (Scene::new(), Scene::new());
    let talks = Talks::of_one_process();
    let asked = &terms::asked("tea")[0];
    let handles = [&scene, &other].map(|scene| {
        let handle = talks.of(&asking(scene, "tea")).unwrap();
        talks.keep(&handle, many(1..MOST + 2), MOST);
        let version = handle.talk().version();
        handle.talk().keep_older(asked, &[(-1, true)], version);
        handle
    });
    let knows = || handles.each_ref().map(|handle| handle.talk().older(asked).is_some());
    // Neither is in memory.
    let gone = Changed::These(vec![id(9_000)]);
    talks.changed(&gone, Some(&HashSet::new()));
    assert_eq!(knows(), [true, true]);
    talks.changed(&gone, Some(&HashSet::from([key_of(&other)])));
    assert_eq!(knows(), [true, false]);
    talks.changed(&gone, None);
    assert_eq!(knows(), [false, false], "it may be a message of any Room");
    // A message that is in memory.
    let known = Changed::These(vec![id(9)]);
    talks.changed(&known, Some(&HashSet::from([key_of(&other)])));
    let extents = [&scene, &other].map(|scene| talks.of(&asking(scene, "tea")).unwrap().extent());
    assert_eq!(extents, [Extent::Newest, Extent::Unread]);
}

/// Rooms in use keep their space and may grow to twice of it. One that would need it is left out.
#[test]
fn a_room_is_left_out_while_all_are_in_use() {
    let (scene, other, third) = (Scene::new(), Scene::new(), Scene::new());
    let talks = Talks::of_one_process();
    let of = |scene: &Scene| talks.of(&asking(scene, "tea"));
    let large = |numbers: std::ops::Range<i64>| {
        let text = "x".repeat(1 << 20);
        numbers.map(|n| message(n, n, &text)).collect::<Vec<_>>()
    };
    talks.keep(&of(&scene).unwrap(), large(0..10), MOST);
    let handle = of(&other).unwrap();
    talks.keep(&handle, large(100..110), MOST);
    assert_eq!(handle.extent(), Extent::Whole, "its own search goes on");
    let extent = |scene: &Scene| of(scene).map(|handle| handle.extent());
    assert_eq!(extent(&scene), Some(Extent::Whole));
    assert_eq!(extent(&other), Some(Extent::Unread), "there is space for one of the two");
    talks.forget(&of(&other).unwrap());
    // It grows beyond what is kept of Rooms that are read.
    add(&talks, &scene, large(10..31));
    assert_eq!((extent(&scene), extent(&third)), (Some(Extent::Whole), None), "all is in use");
    assert_eq!(talks.of_or_alone(&asking(&third, "tea")).unwrap().extent(), Extent::Unread);
    assert_eq!(of(&scene).unwrap().talk().len(), 31);
    // 32 MiB are the most.
    add(&talks, &scene, large(31..33));
    assert_eq!((extent(&scene), extent(&third)), (Some(Extent::Unread), Some(Extent::Unread)));
    assert_eq!(talks.lock().bytes, 0);
}

#[test]
fn rooms_in_use_keep_their_space() {
    let mut state = State::default();
    let begun = Instant::now();
    let scenes = [(); 3].map(|()| Scene::new());
    for (scene, age) in scenes.iter().zip([30, 20, 10]) {
        let used = begun + Duration::from_secs(100 - age);
        let kept = Kept { talk: Arc::default(), bytes: 10, since: begun, used };
        state.rooms.insert(key_of(scene), kept);
        state.bytes += 10;
    }
    assert!(state.make_space(30, None));
    assert!(!state.make_space(20, Some(begun + Duration::from_secs(60))), "all are in use");
    assert_eq!(state.rooms.len(), 3);
    assert!(state.make_space(20, Some(begun + Duration::from_secs(75))));
    assert!(!state.rooms.contains_key(&key_of(&scenes[0])));
    assert!(state.make_space(5, None));
    assert_eq!((state.bytes, state.rooms.len()), (0, 0));
}
