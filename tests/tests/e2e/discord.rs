//! Discord end to end: mention, direct message, reply, thread, command; failures of the API; ids as
//! elizaOS derives them.

use galatea_core::ids::AgentIdentity;
use galatea_testkit::{
    discord::{Channel, DiscordApi, Effect, ErrorBody, Fault, Guild, Options, Order, User},
    models::{OpenAiServer, Recorded, Reply},
    process::{Home, Program, Running},
};

use crate::stage::binary;

const KEY: &str = "sk-e2e-canary-key-0123456789";

pub(crate) struct Stage {
    pub(crate) discord: DiscordApi,
    pub(crate) model: OpenAiServer,
    pub(crate) home: Home,
    pub(crate) ann: User,
    pub(crate) guild: Guild,
}

/// The model answers question `Q7` with `A7`; of several questions in the conversation it answers
/// the last.
pub(crate) fn answer(request: &Recorded) -> Reply {
    let text = request.body.to_string();
    Reply::text(
        crate::stage::asked(&text)
            .max()
            .map_or("I did not catch that.".to_owned(), |n| format!("A{n}")),
    )
}

impl Stage {
    pub(crate) async fn set() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let discord = DiscordApi::with(options).await;
        let model = OpenAiServer::start(KEY).await.unwrap();
        model.answer_with(answer);
        let ann = discord.user("Ann", "ann_b");
        let guild = discord.guild("Garden", &[&ann]);
        Self { discord, model, home: Home::new(), ann, guild }
    }

    pub(crate) fn program(&self) -> Program {
        Program::new(binary(), &self.home)
            .env("DISCORD_API_TOKEN", self.discord.token())
            .env("DISCORD_API_ROOT", self.discord.url())
            .env("OPENAI_BASE_URL", self.model.base_url())
            .env("OPENAI_API_KEY", KEY)
            .env("BUSY_POLICY", "each")
            .env("SERVER_PORT", "0")
            .env("NO_COLOR", "1")
    }

    pub(crate) async fn start(&self) -> Running {
        self.run(self.program()).await
    }

    pub(crate) async fn run(&self, program: Program) -> Running {
        let before = self.discord.identified() + self.discord.resumed();
        let running = program.arg("start").spawn();
        running.wait_for_line("ready in").await;
        // Discord keeps no events for a bot before its first session.
        let connected = |d: &galatea_testkit::discord::Handle| {
            (d.connected() == 1 && d.identified() + d.resumed() > before).then_some(())
        };
        self.discord.wait_for("the session", connected).await;
        running
    }

    pub(crate) fn texts(&self, channel: &Channel) -> Vec<String> {
        self.discord.shown(channel.id).into_iter().map(|m| m.text).collect()
    }

    pub(crate) async fn wait_text(&self, channel: &Channel, last: &str) -> Vec<String> {
        let look = |_: &galatea_testkit::discord::Handle| {
            Some(self.texts(channel)).filter(|t| t.last().is_some_and(|t| t == last))
        };
        self.discord.wait_for(&format!("{last:?} in channel {}", channel.id), look).await
    }
}

#[tokio::test]
async fn mentions_replies_threads_and_direct_messages_are_answered() {
    let stage = Stage::set().await;
    let (general, direct) = (stage.guild.general(), stage.ann.direct());
    let _galatea = stage.start().await;
    stage.ann.says(&direct, "Q1: are you there?").send();
    assert_eq!(stage.wait_text(&direct, "A1").await, ["A1"]);
    stage.ann.says(&general, "Q2 to everyone").send();
    let asked = stage.ann.says(&general, &format!("{} Q3 to you", stage.discord.mention())).send();
    assert_eq!(
        stage.wait_text(&general, "A3").await,
        ["A3"],
        "turns of one room run in order, so an answer to Q2 would be there"
    );
    let shown = stage.discord.shown(general.id);
    assert!(
        shown[0].reply_to.is_none_or(|id| id == asked),
        "if it replies, it replies to the question"
    );
    stage.ann.says(&general, "Q4 as a reply").reply_to(shown[0].id).send();
    assert_eq!(stage.wait_text(&general, "A4").await, ["A3", "A4"]);
    let thread = stage.ann.opens_thread(&general, "Roses");
    stage.ann.says(&thread, &format!("{} Q5 in a thread", stage.discord.mention())).send();
    assert_eq!(stage.wait_text(&thread, "A5").await, ["A5"]);
    assert_eq!(stage.texts(&general), ["A3", "A4"]);
}

#[tokio::test]
async fn a_voice_message_is_heard() {
    let stage = Stage::set().await;
    stage.model.answer_with(|request| {
        if request.path.ends_with("/audio/transcriptions") {
            return Reply::text("where is the key");
        }
        let heard = request.body.to_string().contains("[voice message: where is the key]");
        Reply::text(if heard { "Under the mat." } else { "Pardon?" })
    });
    let program = stage.program().env("OPENAI_TRANSCRIPTION_MODEL", "gpt-transcribe");
    let _galatea = stage.run(program).await;
    let direct = stage.ann.direct();
    stage.ann.sends_voice(&direct, b"OggS voice", 3.25).send();
    assert_eq!(stage.wait_text(&direct, "Under the mat.").await, ["Under the mat."]);
    let requests = stage.model.requests();
    let sounds: Vec<_> =
        requests.iter().filter(|r| r.path.ends_with("/audio/transcriptions")).collect();
    assert_eq!(sounds.len(), 1, "it is transcribed once");
    assert_eq!(sounds[0].body["file"]["name"], "sound.ogg");
}

#[tokio::test]
async fn a_command_is_answered_in_its_place() {
    let stage = Stage::set().await;
    let general = stage.guild.general();
    let _galatea = stage.start().await;
    let ask = stage.ann.uses(&general, "ask", Some("Q1"));
    assert_eq!(stage.wait_text(&general, "A1").await, ["A1"]);
    assert_eq!(stage.discord.acknowledged(ask), Some(5));
    stage.ann.uses(&general, "help", None);
    let notice = stage
        .discord
        .wait_for("the help", |d| Some(d.whispered(general.id)).filter(|all| !all.is_empty()))
        .await;
    assert!(notice[0].contains("/ask"), "only who asked reads it: {notice:?}");
    assert_eq!(stage.discord.calls_of("PATCH /webhooks/{}/{}/messages/@original").len(), 2);
}

#[tokio::test]
async fn a_command_that_gets_no_answer_does_not_keep_people_waiting() {
    let stage = Stage::set().await;
    let (general, direct) = (stage.guild.general(), stage.ann.direct());
    let galatea = stage
        .run(
            stage
                .program()
                .env("DISCORD_DM_POLICY", "disabled")
                .env("DISCORD_LISTEN_CHANNEL_IDS", general.id.to_string()),
        )
        .await;
    let whispered = |channel: u64| {
        move |d: &galatea_testkit::discord::Handle| {
            Some(d.whispered(channel)).filter(|all| !all.is_empty())
        }
    };
    stage.ann.uses(&general, "ask", Some("Q1"));
    let notice = stage.discord.wait_for("the reason in the server", whispered(general.id)).await;
    assert_eq!(notice, ["I do not answer this: in this room the agent only listens."]);
    stage.ann.uses(&direct, "help", None);
    let notice = stage.discord.wait_for("the reason in private", whispered(direct.id)).await;
    assert_eq!(notice, ["I do not answer this: direct messages are switched off."]);
    assert_eq!((stage.discord.thinking(general.id), stage.discord.thinking(direct.id)), (0, 0));
    assert!(stage.texts(&general).is_empty() && stage.texts(&direct).is_empty());
    drop(galatea);
}

#[tokio::test]
async fn a_command_in_private_is_answered_in_its_place() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    let _galatea = stage.start().await;
    stage.ann.uses(&direct, "ask", Some("Q1"));
    assert_eq!(stage.wait_text(&direct, "A1").await, ["A1"]);
    assert_eq!(
        (
            stage.discord.thinking(direct.id),
            stage.discord.calls_of("POST /channels/{}/messages").len()
        ),
        (0, 0)
    );
}

#[tokio::test]
async fn where_it_only_listens_it_remembers_and_says_nothing() {
    let stage = Stage::set().await;
    let general = stage.guild.general();
    let thread = stage.ann.opens_thread(&general, "Roses");
    let mut galatea =
        stage.run(stage.program().env("DISCORD_LISTEN_CHANNEL_IDS", general.id.to_string())).await;
    stage.ann.says(&general, &format!("{} Q1", stage.discord.mention())).send();
    stage.ann.says(&thread, &format!("{} Q2", stage.discord.mention())).send();
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q3").send();
    stage.wait_text(&direct, "A3").await;
    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));
    let database = crate::places::Database::open(stage.home.path()).await;
    let rows =
        database.rows("SELECT state, verdict ->> '$.change.setting' FROM inbox ORDER BY seq").await;
    let silent: Vec<_> =
        rows.iter().filter(|row| row[0] == "skipped" && row[1] == "DISCORD_LISTEN_CHATS").collect();
    assert_eq!(silent.len(), 2, "the channel and its thread: {rows:?}");
    assert!(stage.texts(&general).is_empty() && stage.texts(&thread).is_empty());
    assert!(
        database
            .rows("SELECT content ->> '$.text' FROM memories")
            .await
            .concat()
            .iter()
            .any(|text| text.contains("Q1")),
        "it is remembered"
    );
}

#[tokio::test]
async fn its_own_words_are_remembered_once() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    // Discord sends a bot its own messages, too.
    stage.discord.wait_acknowledged().await;
    stage.ann.says(&direct, "Q2").send();
    stage.wait_text(&direct, "A2").await;
    let read = stage.model.last().unwrap().body["messages"].to_string();
    assert_eq!(read.matches("A1").count(), 1, "{read}");
}

#[tokio::test]
async fn long_answers_and_code_arrive_whole() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let lines: Vec<String> = (0..300).map(|n| format!("let line_{n} = {n}; // line")).collect();
    let words: Vec<String> = (0..1_200).map(|n| format!("word{n}")).collect();
    let long = format!("{}\n\n```rust\n{}\n```\n\nThe end.", words.join(" "), lines.join("\n"));
    assert!(long.len() > 9_800 + 6_000);
    stage.model.answer_with(move |_| Reply::text(long.clone()));
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "tell me everything").send();
    let done = |_: &galatea_testkit::discord::Handle| {
        Some(stage.discord.shown(direct.id))
            .filter(|all| all.last().is_some_and(|m| m.text.ends_with("The end.")))
    };
    let all = stage.discord.wait_for("the end", done).await;
    let heard: Vec<_> = all
        .iter()
        .flat_map(|m| m.text.split_whitespace())
        .filter(|w| w.starts_with("word"))
        .map(str::to_owned)
        .collect();
    assert_eq!(heard, words);
    let code: Vec<_> = all
        .iter()
        .flat_map(|m| &m.code)
        .flat_map(|c| c.lines())
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect();
    assert_eq!(code, lines);
}

/// With this fault on the first send, Q1 and Q2 are each answered once and in order.
async fn survives(effect: Effect) {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.discord.fault(Fault::new(effect).on("POST /channels/{}/messages"));
    stage.ann.says(&direct, "Q1").send();
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
}

#[tokio::test]
async fn a_rate_limit_is_waited_for() {
    survives(Effect::RateLimited(std::time::Duration::from_secs(2))).await;
}

#[tokio::test]
async fn done_but_500_is_not_said_twice() {
    survives(Effect::ApplyThenError(500)).await;
}

#[tokio::test]
async fn a_lost_response_is_not_said_twice() {
    survives(Effect::LoseResponse).await;
}

#[tokio::test]
async fn a_server_error_is_tried_again() {
    survives(Effect::ServerError(502, ErrorBody::Html)).await;
}

#[tokio::test]
async fn a_lost_connection_loses_nothing() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    for (n, order) in [Order::Reconnect, Order::Drop, Order::Close(4000)].into_iter().enumerate() {
        stage.discord.order(order);
        stage.ann.says(&direct, &format!("Q{n}")).send();
        let expect: Vec<String> = (0..=n).map(|n| format!("A{n}")).collect();
        assert_eq!(stage.wait_text(&direct, &format!("A{n}")).await, expect);
    }
    assert_eq!(stage.discord.identified(), 1);
}

#[tokio::test]
async fn after_a_kill_the_session_goes_on() {
    let stage = Stage::set().await;
    let galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    drop(galatea);
    stage.ann.says(&direct, "Q2 while the bot is away").send();
    let _again = stage.start().await;
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
    assert_eq!((stage.discord.identified(), stage.discord.resumed()), (1, 1));
}

#[tokio::test]
async fn ids_are_elizaos() {
    let stage = Stage::set().await;
    let general = stage.guild.general();
    let galatea = stage.start().await;
    let asked = stage.ann.says(&general, &format!("{} Q1", stage.discord.mention())).send();
    stage.wait_text(&general, "A1").await;
    drop(galatea);
    let eliza = AgentIdentity::new(None, "Eliza");
    let file = stage.home.path().join(".galatea/galatea.db");
    let pool =
        sqlx::SqlitePool::connect(&format!("sqlite://{}?mode=ro", file.display())).await.unwrap();
    for (table, remote) in [
        ("worlds", stage.guild.id),
        ("rooms", general.id),
        ("entities", stage.ann.id),
        ("memories", asked),
    ] {
        let id = eliza.swizzle(&remote.to_string());
        let query = format!("SELECT count(*) FROM {table} WHERE id = ?1 OR id = ?2");
        let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
            .bind(id.as_bytes().to_vec())
            .bind(id.to_string())
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(found, 1, "{table}");
    }
}
