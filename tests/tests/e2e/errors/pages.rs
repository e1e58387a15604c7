//! Platforms that refuse a login or cannot be asked. Each problem is that of an account of its own,
//! so one run of a command shows all; the first Telegram account works beside them.

use std::time::Duration;

use galatea_testkit::{
    discord::DiscordApi,
    port::RefusedPort,
    process::Finished,
    x::{Options, XApi},
};

use super::{Scene, findings, http, reports, something_else};

const PAGE: &str = "<html><head><title>canary-page</title></head><body>nginx</body></html>";

/// A problem of one account, as every command shows it.
struct Page {
    platform: &'static str,
    code: &'static str,
    /// Message and cause.
    told: [&'static str; 2],
    /// Setting and line.
    place: String,
    fix: &'static str,
}

impl Page {
    fn stands_in(&self, text: &str) {
        let place = format!("where: {}", self.place);
        assert!(text.contains(self.code), "{}:\n{text}", self.code);
        reports(text, &[self.told[0], "cause:", self.told[1], &place, "fix:", self.fix]);
    }
}

/// Adds a Telegram account for each answer of a server that is not the Bot API.
async fn telegram(scene: &mut Scene) -> Vec<Page> {
    let refused =
        "Telegram refused the bot token: it was revoked or replaced, or it belongs to no bot";
    let again = "copy the token again: @BotFather → /mybots → your bot → API Token";
    let garbage = "the answer is not the Telegram Bot API's";
    let json = "application/json";
    let answers = [
        (
            http(
                "404 Not Found",
                json,
                r#"{"ok":false,"error_code":404,"description":"Not Found"}"#,
            ),
            "GAL-TG-401",
            [refused, "getMe answered 404 Not Found"],
            again,
        ),
        (
            http(
                "500 Internal Server Error",
                json,
                r#"{"ok":false,"error_code":500,"description":"Internal Server Error"}"#,
            ),
            "GAL-TG-CONNECT",
            ["Telegram has a fault", "getMe answered 500 Internal Server Error"],
            "",
        ),
        (
            http("502 Bad Gateway", "text/html", PAGE),
            "GAL-TG-CONNECT",
            ["has a fault", "answered 502"],
            "",
        ),
        (
            http("200 OK", "text/html", PAGE),
            "GAL-TG-GARBAGE",
            [garbage, "getMe at 127.0.0.1"],
            "check TELEGRAM_API_ROOT",
        ),
        (
            http("403 Forbidden", "text/html", PAGE),
            "GAL-TG-GARBAGE",
            [garbage, "answered 403"],
            "check TELEGRAM_API_ROOT",
        ),
        (String::new(), "GAL-TG-CONNECT", ["Telegram cannot be reached", "getMe:"], ""),
    ];
    let mut pages = Vec::new();
    for (number, (answer, code, told, fix)) in (2..).zip(answers) {
        let token = format!("700000000{number}:AAother-canary-other-canary-other-x{number}");
        let login = scene.env(&format!("TELEGRAM_BOT_TOKEN_{number}"), &token);
        let address = something_else(answer).await;
        let root = scene.env(&format!("TELEGRAM_API_ROOT_{number}"), &address);
        let place = if code == "GAL-TG-401" { login } else { root };
        pages.push(Page { platform: "telegram", code, told, place, fix });
    }
    let wrong = "7000000009:AAwrong-canary-wrong-canary-wrong-xx";
    let place = scene.env("TELEGRAM_BOT_TOKEN_9", wrong);
    let told = [refused, "getMe answered 401 Unauthorized"];
    pages.push(Page { platform: "telegram", code: "GAL-TG-401", told, place, fix: again });
    pages
}

/// Adds Discord accounts: one with a refused token, one whose address is a page, one that nothing
/// listens at.
async fn discord(scene: &mut Scene, api: &DiscordApi, nowhere: &RefusedPort) -> Vec<Page> {
    // Tokens of three applications: an application is connected once.
    let token = |application: &str, end: &str| {
        format!("{application}.GcanAr.dc-wrong-canary-0123456789abcdefg{end}")
    };
    let login = scene.env("DISCORD_API_TOKEN", &token("MTEyMjMzNDQ1NTY2Nzc4ODk5", "hijkl"));
    scene.env("DISCORD_API_ROOT", api.url());
    scene.env("DISCORD_API_TOKEN_2", &token("MjEyMjMzNDQ1NTY2Nzc4ODk5", "mnopq"));
    let page = something_else(http("200 OK", "text/html", PAGE)).await;
    let root = scene.env("DISCORD_API_ROOT_2", &page);
    scene.env("DISCORD_API_TOKEN_3", &token("MzEyMjMzNDQ1NTY2Nzc4ODk5", "rstuv"));
    let unreachable = scene.env("DISCORD_API_ROOT_3", &nowhere.url());
    let page = |code, told, place, fix| Page { platform: "discord", code, told, place, fix };
    vec![
        page(
            "GAL-DC-4004",
            ["Discord rejected this token", "/@me answered 401: Unauthorized"],
            login,
            "Reset Token, then set DISCORD_API_TOKEN",
        ),
        page(
            "GAL-DC-GARBAGE",
            ["the answer is not the Discord API's", "answered 200 and something else"],
            root,
            "check DISCORD_API_ROOT",
        ),
        page(
            "GAL-DC-CONNECT",
            ["Discord cannot be reached", "/@me:"],
            unreachable,
            "check the network, the proxy variables and DISCORD_API_ROOT",
        ),
    ]
}

/// Adds X accounts: an app that is not enrolled, keys that do not match, a clock that is off, a page,
/// and an address that nothing listens at.
async fn x(scene: &mut Scene, api: &XApi, other: &XApi, nowhere: &RefusedPort) -> Vec<Page> {
    api.set_enrolled(false);
    let keys = api.keys();
    scene.env("TWITTER_API_KEY", &keys.api_key);
    scene.env("TWITTER_API_SECRET_KEY", &keys.api_secret);
    let enrol = scene.env("TWITTER_ACCESS_TOKEN", &keys.token);
    scene.env("TWITTER_ACCESS_TOKEN_SECRET", &keys.token_secret);
    scene.env("TWITTER_API_ROOT", api.url());
    scene.env("TWITTER_DRY_RUN", "false");
    let body =
        r#"{"title":"Unauthorized","type":"about:blank","status":401,"detail":"Unauthorized"}"#;
    let refusal = http("401 Unauthorized", "application/problem+json", body);
    // A time years after that of any machine that runs this test.
    let later = "Date: Fri, 01 Jan 2100 00:00:00 GMT\r\nConnection: close";
    let off = something_else(refusal.replacen("Connection: close", later, 1)).await;
    let page = something_else(http("200 OK", "text/html", PAGE)).await;
    let mut account = |number: u32, token: Option<String>, root: &str| {
        let invented = format!("{number}12233445566-keyCanaryCanaryCanaryCanaryCanaryCanary");
        let token = token.unwrap_or(invented);
        let login = scene.env(&format!("TWITTER_ACCESS_TOKEN_{number}"), &token);
        let secret = format!("wrong-canary-wrong-canary-wrong-canary-wrong{number}");
        scene.env(&format!("TWITTER_ACCESS_TOKEN_SECRET_{number}"), &secret);
        (login, scene.env(&format!("TWITTER_API_ROOT_{number}"), root))
    };
    let (mismatch, _) = account(2, Some(other.keys().token), other.url());
    let (clock, _) = account(3, None, &off);
    let (_, garbage) = account(4, None, &page);
    let (_, unreachable) = account(5, None, &nowhere.url());
    let page = |code, told, place, fix| Page { platform: "x", code, told, place, fix };
    vec![
        page(
            "GAL-X-403-ENROLL",
            ["the app is not enrolled for this API", "GET /2/users/me answered 403"],
            enrol,
            "console.x.com: move the app to a Pay-per-use project, environment Production",
        ),
        page(
            "GAL-X-401",
            [
                "X does not accept the keys: they do not match",
                "GET /2/users/me answered 401 Unauthorized",
            ],
            mismatch,
            "console.x.com → your app → Keys and tokens: generate them again",
        ),
        page(
            "GAL-X-401",
            ["this machine's clock is off by", "GET /2/users/me answered 401"],
            clock,
            "set this machine's clock",
        ),
        page(
            "GAL-X-GARBAGE",
            ["the answer is not the X API's", "GET /2/users/me at 127.0.0.1"],
            garbage,
            "check TWITTER_API_ROOT",
        ),
        page(
            "GAL-X-CONNECT",
            ["X cannot be reached", "GET /2/users/me:"],
            unreachable,
            "check the network, the proxy variables and TWITTER_API_ROOT",
        ),
    ]
}

/// Checks that `--json` has every page with its code and place.
fn are_found(pages: &[&Page], finished: &Finished) {
    let found = findings(finished);
    for page in pages {
        let is_told = found.iter().any(|finding| {
            finding["id"] == page.code
                && finding["origin"] == page.place
                && finding["severity"] == "error"
                && finding["subject"] == "connector"
        });
        assert!(is_told, "{} at {}:\n{}", page.code, page.place, finished.stdout);
    }
}

#[tokio::test]
async fn every_command_shows_each_problem_with_its_place_and_its_fix() {
    let mut scene = Scene::set().await;
    for secret in ["canary-page", "other-canary", "wrong-canary", "keyCanary"] {
        scene.canary(secret);
    }
    let (api, enrolled) = (DiscordApi::start().await, XApi::start().await);
    let mut options = Options::default();
    options.keys.token = "98765-testkitCanaryToken0123456789abcdef".to_owned();
    let other = XApi::with(options).await;
    let nowhere = RefusedPort::take();
    let mut pages = telegram(&mut scene).await;
    pages.extend(discord(&mut scene, &api, &nowhere).await);
    pages.extend(x(&mut scene, &enrolled, &other, &nowhere).await);

    for platform in ["telegram", "discord", "x"] {
        let check = scene.run(&["connector", "check", platform, "--yes"]).await;
        assert_eq!(check.code, Some(7), "{}{}", check.stdout, check.stderr);
        let own: Vec<&Page> = pages.iter().filter(|page| page.platform == platform).collect();
        own.iter().for_each(|page| page.stands_in(&check.stdout));
        are_found(&own, &scene.run(&["connector", "check", platform, "--yes", "--json"]).await);
    }
    let doctor = scene.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(7));
    // X is not asked without consent, since it costs money.
    let free = pages.iter().filter(|page| page.platform != "x");
    free.for_each(|page| page.stands_in(&doctor.stdout));

    let running = scene.start().await;
    let all = async {
        while running.stderr().matches("more:").count() < pages.len() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(60), all).await;
    assert!(told.is_ok(), "not every problem was reported:\n{}", running.output());
    let status = scene.run(&["status"]).await;
    assert_eq!(status.code, Some(1));
    assert!(status.stdout.contains("not ready"), "{}", status.stdout);
    pages.iter().for_each(|page| page.stands_in(&status.stdout));
    let direct = scene.stage.ann.direct();
    scene.stage.ann.says(&direct, "Q1").send();
    assert_eq!(scene.stage.wait_text(&direct, "A1").await, ["A1"], "the others go on");
    let said = scene.end(running).await.stderr;
    for page in &pages {
        assert!(said.contains(&format!("error[{}]", page.code)), "{said}");
        page.stands_in(&said);
    }
    assert_eq!(api.identified(), 0, "no session was begun with a refused token");
    let is_refused = |answer: &Option<(u16, serde_json::Value)>| {
        answer.as_ref().is_none_or(|(status, _)| *status == 401)
    };
    assert!(api.calls().iter().all(|call| is_refused(&call.answer)), "{}", api.story());
    assert!(api.calls().len() <= 6 && other.calls().len() <= 6, "no storm: {}", other.story());
}
