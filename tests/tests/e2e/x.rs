//! X: the real program between a loopback X server, a loopback model, and Telegram beside it.

use galatea_core::{
    AgentIdentity, Clock as _, EntityId, MemoryId, Room, RoomId, SystemClock, Timestamp, WorldId,
    store::{EntityStore as _, MemoryStore as _, RoomStore as _, WorldStore as _},
};
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::{
    clock::ManualClock,
    models::Reply,
    process::{Program, Running},
    x::{Effect, Fault, Options, XApi},
};
use std::time::Duration;

use crate::stage::{KEY, Stage, binary};

pub(crate) fn with_x(program: Program, api: &XApi) -> Program {
    let keys = api.keys();
    program
        .env("TWITTER_API_KEY", keys.api_key)
        .env("TWITTER_API_SECRET_KEY", keys.api_secret)
        .env("TWITTER_ACCESS_TOKEN", keys.token)
        .env("TWITTER_ACCESS_TOKEN_SECRET", keys.token_secret)
        .env("TWITTER_API_ROOT", api.url())
        // Three seconds, the shortest interval X allows.
        .env("TWITTER_POLL_INTERVAL", "0.05")
}

pub(crate) async fn start(program: Program) -> Running {
    let running = program.arg("start").spawn();
    running.wait_for_line("ready in").await;
    running
}

#[tokio::test]
async fn a_mention_is_answered_in_its_conversation_under_elizaos_ids() {
    let (stage, api) = (Stage::set().await, XApi::start().await);
    let (ann, bob) = (api.user("Ann", "ann_x"), api.user("Bob", "bob_x"));
    let root = bob.posts("The moon is cheese");
    let mut galatea = start(with_x(stage.program(), &api).env("TWITTER_DRY_RUN", "false")).await;
    let asked = ann.replies(root, "@galatea_test Q7");
    let shown = api.wait_shown(1).await;
    assert_eq!(
        (shown[0].text.as_str(), shown[0].reply_to, shown[0].conversation),
        ("A7", Some(asked), root)
    );
    let output = with_x(stage.program(), &api)
        .args(["explain".to_owned(), format!("https://x.com/ann_x/status/{asked}")])
        .run()
        .await;
    assert!(
        output.code == Some(0) && output.stdout.contains("it mentions the agent"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    galatea.terminate();
    let finished = galatea.finish().await;
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(api.secrets().iter().all(|secret| !said.contains(secret)), "a secret is shown");

    let store =
        Database::sqlite(stage.home.path().join(".galatea/galatea.db"), SqliteOptions::default())
            .await
            .unwrap();
    let agent = AgentIdentity::new(None, "Eliza");
    let id = |base: &str| agent.swizzle(base);
    let room: Room = store.room(RoomId(id(&root.to_string()))).await.unwrap().unwrap();
    assert_eq!(
        (room.world_id, room.remote.0),
        (WorldId(id(&ann.id.to_string())), root.to_string())
    );
    assert!(store.world(room.world_id).await.unwrap().is_some());
    assert_eq!(
        store.entities(&[EntityId(id(&ann.id.to_string()))]).await.unwrap()[0].names[0],
        "Ann"
    );
    assert!(
        store
            .memory(MemoryId(id(&asked.to_string())))
            .await
            .unwrap()
            .unwrap()
            .content
            .text
            .contains("Q7")
    );
}

/// The program last looked thirty hours ago. What was asked meanwhile is answered, as far as it is not
/// older than a day.
#[tokio::test]
async fn mentions_made_during_an_outage_are_answered_within_a_day() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let (stage, before) = (Stage::set().await, XApi::start().await);
    let mut galatea = start(with_x(stage.program(), &before).env("TWITTER_DRY_RUN", "false")).await;
    before.user("Ann", "ann_x").posts("@galatea_test Q1");
    before.wait_shown(1).await;
    galatea.terminate();
    galatea.finish().await;

    let now = SystemClock.now();
    let looked = id_at(now.0 - 30 * 3_600_000);
    let file = stage.home.path().join(".galatea/galatea.db");
    let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    let moved = sqlx::query("UPDATE cursors SET position = $1 WHERE source = 'x'").bind(looked);
    assert_eq!(moved.execute(&pool).await.unwrap().rows_affected(), 1);
    pool.close().await;

    let clock = ManualClock::at(Timestamp(now.0 - 23 * 3_600_000));
    let options = Options { clock: clock.shared(), ..Options::default() };
    let api = XApi::with(options).await;
    let (ann, bob) = (api.user("Ann", "ann_x"), api.user("Bob", "bob_x"));
    let mut asked = Vec::new();
    for (n, person, pause) in [(2, &ann, 14), (3, &bob, 8), (4, &ann, 1)] {
        asked.push((person.posts(&format!("@galatea_test Q{n}")), format!("A{n}")));
        clock.advance(HOUR * pause);
    }
    let _galatea = start(with_x(stage.program(), &api).env("TWITTER_DRY_RUN", "false")).await;
    let shown = api.wait_shown(asked.len()).await;
    let mut answers: Vec<(u64, String)> =
        shown.into_iter().map(|post| (post.reply_to.unwrap(), post.text)).collect();
    answers.sort();
    assert_eq!(answers, asked);
}

/// The smallest id of a post made at this time, in Unix milliseconds (X, "Snowflake").
fn id_at(at: i64) -> String {
    ((at - 1_288_834_974_657) << 22).to_string()
}

#[tokio::test]
async fn a_hanging_x_times_out_while_telegram_goes_on() {
    let (stage, api) = (Stage::set().await, XApi::start().await);
    api.fault(Fault::new(Effect::Hang).on("GET /2/users/:id/mentions").times(1));
    let galatea = start(with_x(stage.program(), &api).env("TWITTER_DRY_RUN", "false")).await;
    api.wait_for("the hanging look", |h| {
        (!h.calls_of("GET /2/users/:id/mentions").is_empty()).then_some(())
    })
    .await;
    stage.ann.says(&stage.ann.direct(), "Q1").send();
    stage.wait_text(&stage.ann.direct(), "A1").await;
    let asked = api.user("Bob", "bob_x").posts("@galatea_test Q2");
    galatea.wait_for_line("GAL-X-TIMEOUT").await;
    let shown = api.wait_shown(1).await;
    assert_eq!((shown[0].text.as_str(), shown[0].reply_to), ("A2", Some(asked)));
}

#[tokio::test]
async fn the_poster_writes_posts_and_a_dry_run_makes_none() {
    let (stage, api) = (Stage::set().await, XApi::start().await);
    stage
        .model
        .answer_with(|_| Reply::text("Fog until ten. You hear the curlews decide where to stand."));
    let poster = concat!(env!("CARGO_MANIFEST_DIR"), "/../../characters/poster.json");
    let program = with_x(Program::new(binary(), &stage.home), &api)
        .env("OPENAI_BASE_URL", stage.model.base_url())
        .env("OPENAI_API_KEY", KEY)
        .env("SERVER_PORT", "0")
        .env("NO_COLOR", "1")
        .env("TWITTER_POST_IMMEDIATELY", "true");
    let galatea = program.arg("start").args(["--character", poster]).spawn();
    let said = galatea.wait_for_line("this would be posted on X").await;
    assert!(said.contains("weight\":58"), "{said} {}", galatea.output());
    galatea.wait_for_line("DRY RUN").await;
    assert!(api.shown().is_empty() && api.calls_of("POST /2/tweets").is_empty());
}

#[tokio::test]
async fn a_person_logs_in_through_the_program_and_it_answers() {
    let (stage, port) = (Stage::set().await, galatea_testkit::port::free_port());
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let api = XApi::with(galatea_testkit::x::Options {
        redirect: redirect.clone(),
        ..Default::default()
    })
    .await;
    let program = stage
        .program()
        .env("TWITTER_CLIENT_ID", "testkitClient")
        .env("TWITTER_REDIRECT_URI", &redirect)
        .env("TWITTER_API_ROOT", api.url())
        .env("TWITTER_POLL_INTERVAL", "0.05")
        .env("TWITTER_DRY_RUN", "false");
    let mut login = program.clone().args(["connector", "login", "x"]).spawn();
    let page = login.wait_for_line("https://x.com/i/oauth2/authorize").await;
    login.wait_for_line("Waiting for the browser").await;
    let forged = reqwest::get(format!("{redirect}?state=forged&code=forged")).await.unwrap();
    assert!(forged.status().is_success());
    login.wait_for_line("GAL-X-LOGIN").await;
    reqwest::get(api.allow(page.trim())).await.unwrap();
    let finished = login.finish().await;
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(finished.code == Some(0) && said.contains("@galatea_test"), "{said}");
    assert!(api.secrets().iter().all(|secret| !said.contains(secret)), "a secret is shown");

    let unasked = program.clone().args(["connector", "check", "x"]).run().await;
    assert!(
        unasked.stdout.contains("This makes one paid read (about $0.01)."),
        "{}",
        unasked.stdout
    );
    assert_eq!(api.calls_of("GET /2/users/me").len(), 1, "only the login asked");
    let checked = program.clone().args(["connector", "check", "x", "--yes"]).run().await;
    assert!(
        checked.code == Some(0) && checked.stdout.contains("keys sign correctly: @galatea_test"),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    assert!(
        checked
            .stdout
            .contains("cap $1.00/day: mention read $0.001*, post $0.015, with link $0.20"),
        "{}",
        checked.stdout
    );

    let _galatea = start(program).await;
    let asked = api.user("Ann", "ann_x").posts("@galatea_test Q3");
    assert_eq!(api.wait_shown(1).await[0].reply_to, Some(asked));
}
