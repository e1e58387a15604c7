//! `galatea init --yes` connects every platform: it reads secrets from standard input and checks
//! them with the platform before it writes anything.

use galatea_testkit::{
    discord::DiscordApi,
    process::{Finished, Home, Program},
    x::XApi,
};

use crate::stage::binary;

async fn init(
    home: &Home,
    discord: &DiscordApi,
    x: &XApi,
    args: &[&str],
    secrets: &[String],
) -> Finished {
    let mut running = Program::new(binary(), home)
        .env("DISCORD_API_ROOT", discord.url())
        .env("TWITTER_API_ROOT", x.url())
        .env("NO_COLOR", "1")
        .args(["init", "--yes", "--name", "Juno", "--model", "offline"])
        .args(args.iter().copied())
        .spawn();
    for secret in secrets {
        running.write_line(secret).await;
    }
    running.close_stdin();
    running.finish().await
}

fn keys(x: &XApi) -> Vec<String> {
    let keys = x.keys();
    vec![keys.api_key, keys.api_secret, keys.token, keys.token_secret]
}

#[tokio::test]
async fn discord_and_x_are_connected_and_written_down() {
    let (home, discord, x) = (Home::new(), DiscordApi::start().await, XApi::start().await);
    let secrets: Vec<String> = [discord.token()].into_iter().chain(keys(&x)).collect();
    let finished =
        init(&home, &discord, &x, &["--connect", "x", "--connect", "Discord"], &secrets).await;
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(0), "{said}");
    let written = home.read(".env").unwrap();
    let names = [
        "DISCORD_API_TOKEN",
        "TWITTER_API_KEY",
        "TWITTER_API_SECRET_KEY",
        "TWITTER_ACCESS_TOKEN",
        "TWITTER_ACCESS_TOKEN_SECRET",
    ];
    for (name, secret) in names.iter().zip(&secrets) {
        assert!(written.contains(&format!("{name}={secret}\n")), "{name} is not in .env: {said}");
        assert!(!said.contains(secret.as_str()), "{name} is shown");
    }
    assert!(
        said.contains("token valid") && said.contains("invite it:"),
        "Discord was asked: {said}"
    );
    assert!(
        said.contains("not asked whether it works") && x.calls().is_empty(),
        "a paid check of X was made without consent: {said}"
    );
    assert!(home.read("characters/juno.json").is_some(), "{said}");
}

#[tokio::test]
async fn a_refused_or_invalid_token_is_reported_and_nothing_is_written() {
    let (home, discord, x) = (Home::new(), DiscordApi::start().await, XApi::start().await);
    let good = discord.token();
    let (head, _) = good.rsplit_once('.').unwrap();
    for (wrong, code) in [
        (format!("{head}.wrong-canary-0123456789abcdefghijklmno"), "GAL-DC-4004"),
        ("112233445566778899".to_owned(), "GAL-DC-TOKEN"),
    ] {
        let finished =
            init(&home, &discord, &x, &["--connect", "discord"], std::slice::from_ref(&wrong))
                .await;
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(
            finished.code == Some(4) && said.contains(code) && !said.contains("wrong-canary"),
            "{:?} {said}",
            finished.code
        );
        assert_eq!(home.read(".env"), None, "{said}");
    }
    let finished = init(&home, &discord, &x, &["--connect", "irc"], &[]).await;
    assert!(
        finished.code == Some(2) && finished.stderr.contains("telegram, discord, x"),
        "{}",
        finished.stderr
    );
    let finished = init(&home, &discord, &x, &["--connect", "x"], &keys(&x)[..3]).await;
    assert!(
        finished.code == Some(2)
            && finished.stderr.contains("TWITTER_ACCESS_TOKEN_SECRET for X is missing"),
        "{}",
        finished.stderr
    );
}
