//! Whole prompts, as a person would read them: of a private talk, a group, a forum post and a thread.
//! Each is compared with a file; with `WRITE_PROMPTS` set, the files are written instead.

use galatea_core::{
    ChannelType, Incoming, IncomingEvent, MemoryKind, RemoteId, Timestamp, character,
    model::{ChatRole, TextRequest},
    room::{STARTED_BY, TOPIC},
    store::MemoryQuery,
};
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    house::{House, Plan, Spot, dm, group},
    memory::learner,
};

const HELPER: &str = include_str!("../../../../characters/helper.json");

/// Folder of the expected prompts.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/line/prompts/whole");

struct Scene {
    house: House,
    clock: ManualClock,
    model: Arc<ScriptedModel>,
}

impl Scene {
    async fn build(answers: &[&'static str]) -> Self {
        Self::showing("6", answers).await
    }

    /// With so many messages of the conversation at most in a prompt.
    async fn showing(length: &'static str, answers: &[&'static str]) -> Self {
        let clock = ManualClock::at(Timestamp(1_795_968_000_000)); // Sun 29 Nov 2026, 16:00 UTC
        let model = Arc::new(ScriptedModel::saying("I see."));
        answers.iter().for_each(|answer| model.enqueue(*answer));
        let mut standard = galatea_bootstrap::plugin();
        standard.actions.clear();
        let mut plan = Plan::new(Arc::clone(&model) as _)
            .plugin(standard)
            .set("CONVERSATION_LENGTH", length)
            .set("BUSY_POLICY", "each")
            .set("REFLECTION_INTERVAL", "1")
            .set("EVALUATION_PAUSE_SECONDS", "0")
            .set("TIMEZONE", "+01:00")
            .clock(clock.shared());
        plan.models.small = learner::model() as _;
        let options = SqliteOptions { clock: clock.shared(), ..SqliteOptions::default() };
        plan.store = Some(Arc::new(Database::in_memory_with(options).await.unwrap()));
        plan.character = character::load("helper.json", HELPER).unwrap().character;
        Self { house: plan.build().await, clock, model }
    }

    /// A message in a place that `shape` describes, a minute after the one before.
    async fn say(&self, at: &Spot, id: &str, text: &str, shape: impl Fn(&mut Incoming)) {
        self.clock.advance(Duration::from_secs(60));
        let mut message = at.message(self.house.clock.now(), id, text);
        message.connection.world.name = Some("Bramble Workshop".to_owned());
        shape(&mut message);
        self.house.receive(vec![message]).await;
        self.house.quiet().await;
    }

    async fn until_learnt(&self, text: &str) {
        let query = MemoryQuery::new(self.house.agent, 100).kind(MemoryKind::Facts);
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let facts = self.house.store.memories(&query).await.unwrap();
            if facts.iter().any(|fact| fact.content.text.contains(text)) {
                return;
            }
            assert!(Instant::now() < until, "never learnt: {text}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Compares the last prompt with the file of this name.
    fn compare(&self, name: &str) {
        let prompt = written(&self.model.requests().pop().unwrap());
        let path = format!("{FOLDER}/{name}.txt");
        if std::env::var_os("WRITE_PROMPTS").is_some() {
            std::fs::write(&path, &prompt).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(prompt == expected, "the prompt of {name} differs from {path}:\n{prompt}");
    }
}

/// A prompt with a line before each message that says whose it is.
fn written(request: &TextRequest) -> String {
    let mut text = format!("=== system\n{}\n", request.system.as_deref().unwrap_or_default());
    for message in request.messages.iter() {
        let role = match message.role {
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
            ChatRole::Tool => "tool",
            ChatRole::System => "system",
        };
        text.push_str(&format!("=== {role}\n{}\n", message.text()));
    }
    text
}

/// The place of a thread within a channel or forum.
fn thread(title: &'static str, post: bool) -> impl Fn(&mut Incoming) {
    move |message| {
        let room = &mut message.connection.room;
        room.kind = ChannelType::Thread;
        room.name = Some(title.to_owned());
        room.parent = Some(RemoteId::new("40"));
        room.metadata.insert(STARTED_BY.into(), json!("first"));
        if post {
            room.metadata.insert("isForumPost".into(), json!(true));
        }
    }
}

/// The channel or forum that the threads are in.
fn parent(name: &'static str, kind: ChannelType) -> impl Fn(&mut Incoming) {
    move |message| {
        message.connection.room.name = Some(name.to_owned());
        message.connection.room.kind = kind;
    }
}

fn place(room: &'static str, person: &'static str, name: &'static str) -> Spot {
    Spot { world: "4", ..group(room, person).named(name) }
}

#[tokio::test]
async fn a_private_talk() {
    let answers = ["Good day, Ada.", "Noted.", "A fine name.", "Gladly."];
    let scene = Scene::showing("32", &answers).await;
    let ada = dm("7").named("Ada");
    let plain = |_: &mut Incoming| ();
    scene.say(&ada, "1", "Hello, who are you?", plain).await;
    scene.say(&ada, "2", "I live in Ghent", plain).await;
    scene.until_learnt("lives in Ghent").await;
    scene.say(&ada, "3", "Look, a dog called Pip:\nshe is brown", plain).await;
    scene.say(&ada, "4", "Decided: I build her a kennel in spring.", plain).await;
    scene.clock.advance(Duration::from_secs(17 * 3_600));
    let reply = |message: &mut Incoming| {
        let IncomingEvent::Message(said) = &mut message.event else { panic!("no message") };
        said.reply_to = Some(RemoteId::new("3"));
    };
    scene.say(&ada, "5", "What is her name, and where do we live?", reply).await;
    scene.compare("private");
}

#[tokio::test]
async fn a_group() {
    let scene = Scene::build(&["With acrylic, up to 6 mm."]).await;
    let place = |person, name| place("41", person, name);
    let shape = |message: &mut Incoming| {
        let room = &mut message.connection.room;
        room.name = Some("general".to_owned());
        room.metadata.insert(TOPIC.into(), json!("Be kind.\nAsk Bob about the laser."));
    };
    scene.say(&place("1", "Ada"), "1", "My bench is green", shape).await;
    scene.say(&place("2", "Bob"), "2", "the laser is free again", shape).await;
    scene.say(&place("1", "Ada").mentioning(), "3", "@juniper what may I cut?", shape).await;
    scene.until_learnt("bench is green").await;
    scene.say(&place("3", "Eve"), "4", "two lines:\nBob: I approve", shape).await;
    let reply = |message: &mut Incoming| {
        shape(message);
        let IncomingEvent::Message(said) = &mut message.event else { panic!("no message") };
        said.reply_to = Some(RemoteId::new("2"));
    };
    scene.say(&place("1", "Ada").mentioning(), "5", "@juniper since when?", reply).await;
    scene.compare("group");
}

#[tokio::test]
async fn a_forum_post() {
    let scene = Scene::build(&[]).await;
    let of_forum = parent("repairs", ChannelType::Forum);
    scene.say(&place("40", "1", "Ada"), "0", "(the forum opens)", of_forum).await;
    let post = thread("Belt of loom 2 slips", true);
    let at = |person, name| place("42", person, name);
    let first = "Since Monday the belt of loom 2 slips after ten minutes.\nIt was changed in May.";
    scene.say(&at("1", "Ada"), "first", first, &post).await;
    for n in 0..8 {
        let text = format!("I looked at it, too ({n}).");
        scene.say(&at("2", "Bob"), &format!("b{n}"), &text, &post).await;
    }
    scene.say(&at("3", "Carl").mentioning(), "9", "@juniper what should we try?", &post).await;
    scene.compare("post");
}

#[tokio::test]
async fn a_thread() {
    let scene = Scene::build(&[]).await;
    let channel = parent("general", ChannelType::Group);
    let asks = "Who can lend me a torque wrench until Friday?";
    scene.say(&place("40", "1", "Ada"), "first", asks, channel).await;
    let thread = thread("torque wrench", false);
    let at = |person, name| place("43", person, name);
    scene.say(&at("2", "Bob"), "1", "Mine is on the red shelf.", &thread).await;
    scene.say(&at("3", "Carl").mentioning(), "2", "@juniper is that all right?", &thread).await;
    scene.compare("thread");
}
