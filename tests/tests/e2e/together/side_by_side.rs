//! Each question is answered in its own thread, topic or conversation, from that conversation only,
//! and stored under elizaOS's ids.

use galatea_core::ids::string_to_uuid;

use super::Everywhere;
use crate::places::Database;

/// Words used on one platform only, for the first and the second question.
const WORDS: [[&str; 2]; 3] =
    [["apricot", "avocado"], ["bilberry", "barberry"], ["cranberry", "currant"]];

/// elizaOS's `createUniqueUuid` for Eliza, as elizaOS itself computes it (npm core 1.7.2).
const VECTORS: [(&str, &str); 3] = [
    ("123456789012345678", "270b9075-fe57-01b4-838a-eadec6854efb"),
    ("987654321098765432", "eebe9cac-2d38-0aa5-b0c5-0b27dd97e45a"),
    ("-1001234567890-42", "5361d7bc-9206-07aa-ad53-421764a1e351"),
];

fn swizzled(base: impl std::fmt::Display) -> String {
    string_to_uuid(&format!("{base}:{}", string_to_uuid("Eliza")))
}

#[tokio::test]
async fn one_start_answers_everywhere_at_once_and_mixes_nothing() {
    let all = Everywhere::set().await;
    let (stage, general) = (&all.stage, all.guild.general());
    let forum = stage.telegram.forum("Forum", &[&stage.ann]);
    let topic = stage.ann.opens_topic(&forum, "Cats");
    let root = all.x.user("Bob", "bob_x").posts("The moon is cheese");
    let mut galatea = all.start().await;
    let thread = all.dora.opens_thread(&general, "Roses");
    let (on_telegram, on_discord) =
        (format!("@{}", stage.telegram.bot_username()), all.discord.mention());

    let mut asked = (0, 0, 0);
    let mut answer_on_x = root;
    for (n, [a, b, c]) in [0, 1].map(|n| (n, [WORDS[0][n], WORDS[1][n], WORDS[2][n]])) {
        // All three questions are asked before any is answered.
        asked = (
            stage.ann.says(&forum, &format!("{on_telegram} Q1{n} {a}")).in_topic(topic).send(),
            all.dora.says(&thread, &format!("{on_discord} Q2{n} {b}")).send(),
            all.xenia.replies(answer_on_x, &format!("@galatea_test Q3{n} {c}")),
        );
        let (first, second, third) = (format!("A1{n}"), format!("A2{n}"), format!("A3{n}"));
        (_, _, answer_on_x) = tokio::join!(
            stage.wait_text(&forum, &first),
            all.wait_discord(&thread, &second),
            all.wait_x(asked.2, &third)
        );
    }

    assert_eq!(stage.texts(&forum), ["A10", "A11"]);
    assert!(stage.telegram.shown(forum.id).iter().all(|m| m.thread == Some(topic)), "in the topic");
    let in_thread: Vec<_> = all.discord.shown(thread.id).into_iter().map(|m| m.text).collect();
    assert_eq!(
        (in_thread, all.discord.shown(general.id)),
        (vec!["A20".to_owned(), "A21".to_owned()], Vec::new()),
        "in the thread"
    );
    let posts: Vec<_> = all.x.shown().into_iter().map(|p| (p.text, p.conversation)).collect();
    assert_eq!(posts, [("A30".to_owned(), root), ("A31".to_owned(), root)], "in the conversation");

    for request in stage.model.requests().into_iter().filter(|r| !r.body.is_null()) {
        let prompt = request.body.to_string();
        let heard: Vec<usize> =
            (0..3).filter(|n| WORDS[*n].iter().any(|word| prompt.contains(word))).collect();
        assert_eq!(heard.len(), 1, "a prompt holds what one platform said: {heard:?}\n{prompt}");
    }
    for [first, second] in WORDS {
        let remembers = |r: &galatea_testkit::models::Recorded| {
            r.body.to_string().contains(first) && r.body.to_string().contains(second)
        };
        assert!(
            stage.model.requests().iter().any(remembers),
            "the second question is answered knowing the first: {first}"
        );
    }

    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));
    let telegram_room = format!("{}-{topic}", forum.id);
    let parent = (forum.id.to_string(), general.id.to_string());
    stored(
        &all,
        "telegram",
        &forum.id,
        &telegram_room,
        &parent.0,
        &stage.ann.id,
        &format!("{}:{}", forum.id, asked.0),
    )
    .await;
    stored(&all, "discord", &all.guild.id, &thread.id, &parent.1, &all.dora.id, &asked.1).await;
    stored(&all, "x", &all.xenia.id, &root, "", &all.xenia.id, &asked.2).await;
}

/// Checks that the rows of one platform have the ids that elizaOS derives from the platform's ids.
async fn stored(
    all: &Everywhere,
    source: &str,
    world: &dyn std::fmt::Display,
    room: &dyn std::fmt::Display,
    parent: &str,
    who: &dyn std::fmt::Display,
    message: &dyn std::fmt::Display,
) {
    for (base, id) in VECTORS {
        assert_eq!(swizzled(base), id);
    }
    let (world, room, who, message) =
        (swizzled(world), swizzled(room), swizzled(who), swizzled(message));
    let parent = if parent.is_empty() { String::new() } else { swizzled(parent) };
    let database = Database::open(all.stage.home.path()).await;
    let agent = string_to_uuid("Eliza");
    let worlds = database.rows("SELECT source, id FROM worlds").await;
    assert!(worlds.contains(&vec![source.to_owned(), world.clone()]), "{source}: {worlds:?}");
    let rooms = database.rows("SELECT source, id, world_id, parent_id FROM rooms").await;
    assert!(
        rooms.contains(&vec![source.to_owned(), room.clone(), world, parent]),
        "{source}: {rooms:?}"
    );
    let people = database.rows("SELECT id, agent_id FROM entities").await;
    assert!(people.contains(&vec![who.clone(), agent.clone()]), "{source}: {people:?}");
    let memories = database.rows("SELECT id, room_id, entity_id FROM memories").await;
    assert!(memories.contains(&vec![message, room.clone(), who.clone()]), "{source}: {memories:?}");
    let here = database.rows("SELECT room_id, entity_id FROM participants").await;
    for one in [who, agent] {
        assert_eq!(
            here.iter().filter(|row| **row == [room.clone(), one.clone()]).count(),
            1,
            "{source}: {here:?}"
        );
    }
}
