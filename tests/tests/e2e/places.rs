//! The example character in several chats: each answer appears in the right place, and every row
//! has the id that elizaOS would derive.

use std::path::Path;

use galatea_core::ids::string_to_uuid;
use galatea_testkit::{
    process::Running,
    telegram::{Chat, Shown},
};
use sqlx::{
    Row as _, SqlitePool, TypeInfo as _, ValueRef as _,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

use crate::stage::Stage;

const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../characters/helper.json");

async fn start(stage: &Stage) -> Running {
    let running = stage.program().args(["start", "--character", HELPER]).spawn();
    running.wait_for_line("ready in").await;
    running
}

/// Ids of elizaOS's `createUniqueUuid` for the agent Juniper
/// (8226d44c-1a1f-089f-a575-56c9ff3dd82b), computed without this program: SHA-1 of the
/// percent-encoded `base:agentId`, cut to 16 bytes, with its variant bits and version 0.
const VECTORS: &[(&str, &str)] = &[
    ("5000000001", "cff52309-3563-0861-b21b-06c80e7e3866"),
    ("-1001900000001", "f3f42325-dd59-052e-9789-f533b2d05636"),
    ("-1001900000002", "b589b0cd-c539-0e3a-b0de-61a5fb912f48"),
    ("5000000001:1", "539905d3-55a1-0861-9658-8c5ab6220c50"),
    ("1", "64fae0e0-b5d9-000b-a097-63e2aa47f3d1"),
];

/// elizaOS's `createUniqueUuid`: `base:agentId` through `stringToUuid`.
fn swizzled(base: &str) -> String {
    string_to_uuid(&format!("{base}:{}", string_to_uuid("Juniper")))
}

/// Database of a stopped program, read with SQLite itself instead of the program's code.
pub(crate) struct Database(SqlitePool);

impl Database {
    pub(crate) async fn open(home: &Path) -> Self {
        Self::open_in(&home.join(".galatea")).await
    }

    /// That of another data folder.
    pub(crate) async fn open_in(data: &Path) -> Self {
        let options = SqliteConnectOptions::new().filename(data.join("galatea.db")).read_only(true);
        Self(SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap())
    }

    /// Rows of a query whose columns are all ids or texts.
    pub(crate) async fn rows(&self, query: &'static str) -> Vec<Vec<String>> {
        let rows = sqlx::query(query).fetch_all(&self.0).await.unwrap();
        let cell = |row: &sqlx::sqlite::SqliteRow, n: usize| match row
            .try_get_raw(n)
            .unwrap()
            .type_info()
            .name()
        {
            "BLOB" => row.get::<Option<Vec<u8>>, _>(n).map(|id| hex(&id)).unwrap_or_default(),
            _ => row.get::<Option<String>, _>(n).unwrap_or_default(),
        };
        rows.iter().map(|row| (0..row.len()).map(|n| cell(row, n)).collect()).collect()
    }
}

fn hex(id: &[u8]) -> String {
    assert_eq!(id.len(), 16, "an id");
    let text: String = id.iter().map(|b| format!("{b:02x}")).collect();
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// The agent's only message with this text.
fn only_message(stage: &Stage, chat: &Chat, text: &str) -> Shown {
    stage
        .telegram
        .shown(chat.id)
        .into_iter()
        .find(|m| m.text == text)
        .unwrap_or_else(|| panic!("no {text} in {}", chat.id))
}

#[tokio::test]
async fn the_helper_answers_everyone_in_the_right_place_under_elizaos_ids() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let (ann, mention) = (&stage.ann, format!("@{}", stage.telegram.bot_username()));
    let group = stage.telegram.supergroup("Band", &[ann]);
    let forum = stage.telegram.forum("Forum", &[ann]);
    let topic = ann.opens_topic(&forum, "Cats");
    let galatea = start(&stage).await;
    let direct = ann.direct();

    let private = ann.says(&direct, "Q1: are you there?").send();
    stage.wait_text(&direct, "A1").await;
    let ignored = ann.says(&group, "Q2 to everyone").send();
    let mentioned = ann.says(&group, &format!("{mention} Q3 by mention")).send();
    stage.wait_text(&group, "A3").await;
    let replied =
        ann.says(&group, "Q4 as a reply").reply_to(only_message(&stage, &group, "A3").id).send();
    stage.wait_text(&group, "A4").await;
    let named = ann.says(&group, "Juniper, Q5 by name").send();
    stage.wait_text(&group, "A5").await;
    let topical = ann.says(&forum, &format!("{mention} Q6 about cats")).in_topic(topic).send();
    stage.wait_text(&forum, "A6").await;
    let general = ann.says(&forum, &format!("{mention} Q7 in General")).send();
    stage.wait_text(&forum, "A7").await;

    // Each answer is in its chat and topic and, where it replies, refers to its question.
    assert_eq!(stage.texts(&direct), ["A1"]);
    assert_eq!(
        stage.texts(&group),
        ["A3", "A4", "A5"],
        "messages that did not address the bot got no answer"
    );
    assert_eq!(stage.texts(&forum), ["A6", "A7"]);
    for (chat, text, thread, question) in [
        (&direct, "A1", None, private),
        (&group, "A3", None, mentioned),
        (&group, "A4", None, replied),
        (&group, "A5", None, named),
        (&forum, "A6", Some(topic), topical),
        (&forum, "A7", None, general),
    ] {
        let shown = only_message(&stage, chat, text);
        // Replies outside of forums carry a thread too, which is not a topic (Bot API,
        // Message.is_topic_message).
        assert_eq!(
            shown.thread.filter(|_| shown.json["is_topic_message"] == true),
            thread,
            "{text}"
        );
        assert!(
            shown.reply_to.is_none_or(|id| id == question),
            "{text} replies to {:?}",
            shown.reply_to
        );
    }
    for (chat, text) in [(&group, "A3"), (&group, "A4"), (&group, "A5"), (&forum, "A6")] {
        assert!(
            only_message(&stage, chat, text).reply_to.is_some(),
            "in a group {text} shows what it answers"
        );
    }
    why_not(&stage, &group, ignored).await;

    let mut galatea = galatea;
    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));
    check_ids(
        &stage,
        [&direct, &group, &forum],
        topic,
        [(&direct, private), (&group, ignored), (&group, replied), (&forum, topical)],
    )
    .await;
}

#[tokio::test]
async fn the_setting_that_explain_names_changes_the_outcome() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let group = stage.telegram.supergroup("Band", &[&stage.ann]);
    let galatea = start(&stage).await;
    let ignored = stage.ann.says(&group, "Q1 to everyone").send();
    stage.ann.says(&group, "Juniper, Q2").send();
    assert_eq!(stage.wait_text(&group, "A2").await, ["A2"]);
    drop(galatea);
    let output =
        stage.program().args(["explain", "--json", &format!("{}:{ignored}", group.id)]).run().await;
    let output: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let change = &output["messages"][0]["change"];
    let running = stage
        .program()
        .env(change["setting"].as_str().unwrap(), change["value"].as_str().unwrap())
        .args(["start", "--character", HELPER])
        .spawn();
    running.wait_for_line("ready in").await;
    stage.ann.says(&group, "Q3 to everyone").send();
    stage.wait_text(&group, "A3").await;
}

/// `explain` names the rule and the setting, for the ids of chat and message and for a copied link;
/// and the setting works.
async fn why_not(stage: &Stage, group: &Chat, ignored: i64) {
    let internal = group.id.to_string().trim_start_matches("-100").to_owned();
    for what in [
        format!("{}:{ignored}", group.id),
        format!("https://t.me/c/{internal}/{ignored}"),
        format!("t.me/c/{internal}/{ignored}?single"),
    ] {
        let output = stage.program().args(["explain", &what]).run().await;
        assert_eq!(output.code, Some(0), "{what}: {}{}", output.stdout, output.stderr);
        for part in ["not answered", "To change it: GROUP_POLICY=", "Decided"] {
            assert!(output.stdout.contains(part), "{part:?} is missing:\n{}", output.stdout);
        }
        assert_eq!(
            output.stdout.matches("To change it").count(),
            1,
            "one setting:\n{}",
            output.stdout
        );
    }
    let json =
        stage.program().args(["explain", "--json", &format!("{}:{ignored}", group.id)]).run().await;
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let message = &json["messages"][0];
    assert_eq!(
        (json["schema"].as_str(), message["state"].as_str()),
        (Some("galatea.explain/1"), Some("skipped")),
        "{json}"
    );
    assert_eq!(message["change"]["setting"], "GROUP_POLICY");
}

async fn check_ids(stage: &Stage, chats: [&Chat; 3], topic: i64, messages: [(&Chat, i64); 4]) {
    let database = Database::open(stage.home.path()).await;
    let agent = string_to_uuid("Juniper");
    assert_eq!(agent, "8226d44c-1a1f-089f-a575-56c9ff3dd82b");
    for (base, id) in VECTORS {
        assert_eq!(swizzled(base), *id, "{base}");
    }
    assert_eq!(
        [stage.ann.id, chats[1].id, chats[2].id].map(|id| id.to_string()),
        [VECTORS[0].0, VECTORS[1].0, VECTORS[2].0],
        "the server's numbers"
    );
    assert_eq!(
        database.rows("SELECT id, name FROM agents").await,
        [[agent.clone(), "Juniper".to_owned()]]
    );
    let ann = swizzled(&stage.ann.id.to_string());
    let people = database.rows("SELECT id FROM entities").await;
    assert!(people.contains(&vec![ann.clone()]), "{people:?}");

    for chat in chats {
        let (id, remote) = (swizzled(&chat.id.to_string()), chat.id.to_string());
        let worlds = database.rows("SELECT id, remote FROM worlds WHERE source = 'telegram'").await;
        assert!(worlds.contains(&vec![id.clone(), remote.clone()]), "{worlds:?}");
        let rooms = database
            .rows("SELECT id, world_id, remote, parent_id FROM rooms WHERE source = 'telegram'")
            .await;
        assert!(rooms.contains(&vec![id.clone(), id.clone(), remote, String::new()]), "{rooms:?}");
    }
    // A topic is its own room, with its chat as parent, in its chat's world.
    let (forum, cats) = (chats[2].id.to_string(), format!("{}-{topic}", chats[2].id));
    let below = database
        .rows("SELECT id, world_id, remote, parent_id FROM rooms WHERE parent_id IS NOT NULL")
        .await;
    assert_eq!(below, [[swizzled(&cats), swizzled(&forum), cats.clone(), swizzled(&forum)]]);

    // Telegram numbers messages per chat. elizaOS hashes the number alone, so its ids collide; they
    // are kept beside ours.
    for (chat, message) in messages {
        let id = swizzled(&format!("{}:{message}", chat.id));
        let remote = format!("{}:{message}", chat.id);
        let stored = database
            .rows("SELECT id, legacy_id, entity_id, remote FROM inbox WHERE source = 'telegram'")
            .await;
        assert!(
            stored.contains(&vec![id.clone(), swizzled(&message.to_string()), ann.clone(), remote]),
            "{stored:?}"
        );
        let memories = database.rows("SELECT id, agent_id, entity_id FROM memories").await;
        assert!(memories.contains(&vec![id, agent.clone(), ann.clone()]), "{memories:?}");
    }
    // Every person is a participant of every room once.
    let participants = database.rows("SELECT room_id, entity_id FROM participants WHERE room_id IN (SELECT id FROM rooms WHERE source = 'telegram')").await;
    for room in [chats[0].id.to_string(), chats[1].id.to_string(), cats] {
        for who in [&ann, &agent] {
            let here = participants
                .iter()
                .filter(|row| **row == [swizzled(&room), (*who).clone()])
                .count();
            assert_eq!(here, 1, "{who} in {room}: {participants:?}");
        }
    }
}
