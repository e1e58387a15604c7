//! Tests of which connectors an agent gets.

use super::{accounts::AccountSettings, *};
use galatea_core::{AgentIdentity, Host, Settings, SystemClock};
use std::sync::Arc;

fn host(name: &str) -> Host {
    Host {
        agent: AgentIdentity::new(None, name),
        agent_name: name.into(),
        data_dir: "/nowhere".into(),
        clock: Arc::new(SystemClock),
    }
}

#[test]
fn policies_of_other_programs_are_weaker_than_the_gates_own() {
    let settings = Settings::from_pairs([
        ("CHANNEL_IDS", "7"),
        ("DISCORD_SHOULD_IGNORE_DIRECT_MESSAGES", "true"),
        ("DISCORD_DM_POLICY", "open"),
    ]);
    let settings = with_policies(&settings).unwrap();
    assert_eq!(settings.raw("DISCORD_ALLOWED_CHATS").unwrap().text(), "7");
    assert_eq!(settings.raw("DISCORD_DM_POLICY").unwrap().text(), "open");
}

fn first_account(settings: &Settings) -> AccountSettings {
    AccountSettings { number: 1, settings: settings.clone() }
}

fn telegram() -> &'static Platform {
    PLATFORMS.iter().find(|p| p.source.as_str() == "telegram").unwrap()
}

fn off(built: Built) -> String {
    match built {
        Built::Off(why) => why,
        Built::On(connector) => panic!("{:?} is on", connector.info()),
    }
}

#[test]
fn off_names_what_is_missing() {
    let why = off(telegram()
        .connector(&first_account(&Settings::default()), &host("Ada"), &mut Taken::default())
        .unwrap());
    assert_eq!(why, "set TELEGRAM_BOT_TOKEN");
}

#[test]
fn a_shared_token_goes_to_the_first_agent_and_the_second_is_reported() {
    let settings = Settings::from_pairs([(
        "TELEGRAM_BOT_TOKEN",
        "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    )]);
    let mut taken = Taken::default();
    assert!(matches!(
        telegram().connector(&first_account(&settings), &host("Ada"), &mut taken).unwrap(),
        Built::On(_)
    ));
    let why =
        off(telegram().connector(&first_account(&settings), &host("Bob"), &mut taken).unwrap());
    assert!(why.contains("Ada's") && why.contains("Bob") && !why.contains("AAAA"), "{why}");
    let older = Settings::from_pairs([(
        "TELEGRAM_BOT_TOKEN",
        "123456789:CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC",
    )]);
    let why = off(telegram().connector(&first_account(&older), &host("Bob"), &mut taken).unwrap());
    assert!(why.contains("account 123456789 is Ada's"), "{why}");
    let own = Settings::from_pairs([(
        "TELEGRAM_BOT_TOKEN",
        "987654321:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB",
    )]);
    assert!(matches!(
        telegram().connector(&first_account(&own), &host("Cem"), &mut taken).unwrap(),
        Built::On(_)
    ));
}

#[test]
fn accounts_of_one_app_are_different_logins() {
    let x = PLATFORMS.iter().find(|p| p.source.as_str() == "x").unwrap();
    assert_eq!(
        off(x
            .connector(&first_account(&Settings::default()), &host("Ada"), &mut Taken::default())
            .unwrap()),
        "set TWITTER_API_KEY and 3 more"
    );
    let keys = |token: &str| {
        let token = token.to_owned();
        Settings::from_pairs([
            ("TWITTER_API_KEY", "k".to_owned()),
            ("TWITTER_API_SECRET_KEY", "s".to_owned()),
            ("TWITTER_ACCESS_TOKEN", token),
            ("TWITTER_ACCESS_TOKEN_SECRET", "t".to_owned()),
        ])
    };
    let mut taken = Taken::default();
    assert!(matches!(
        x.connector(&first_account(&keys("1-a")), &host("Ada"), &mut taken).unwrap(),
        Built::On(_)
    ));
    assert!(matches!(
        x.connector(&first_account(&keys("2-b")), &host("Bob"), &mut taken).unwrap(),
        Built::On(_)
    ));
    assert!(
        off(x.connector(&first_account(&keys("1-a")), &host("Cem"), &mut taken).unwrap())
            .contains("Ada's")
    );
}

#[test]
fn logins_with_a_browser_are_each_agents_own() {
    let x = PLATFORMS.iter().find(|p| p.source.as_str() == "x").unwrap();
    let settings =
        Settings::from_pairs([("TWITTER_CLIENT_ID", "app"), ("TWITTER_DRY_RUN_2", "true")]);
    let [first, second] = crate::platforms::accounts::of(x, &settings).try_into().ok().unwrap();
    let (folder, mut taken) = (tempfile::tempdir().unwrap(), Taken::default());
    let host = |name: &str| Host { data_dir: folder.path().to_owned(), ..host(name) };
    assert!(matches!(x.connector(&first, &host("Ada"), &mut taken).unwrap(), Built::On(_)));
    assert!(matches!(x.connector(&first, &host("Bob"), &mut taken).unwrap(), Built::On(_)));
    assert!(
        off(x.connector(&second, &host("Ada"), &mut taken).unwrap()).contains("is there already")
    );
}

#[test]
fn a_second_account_that_is_the_first_again_is_reported() {
    let (token, mut taken) = ("123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Taken::default());
    let settings = Settings::from_pairs([
        ("TELEGRAM_BOT_TOKEN", token),
        ("TELEGRAM_BOT_TOKEN_2", token),
        ("TELEGRAM_DM_POLICY_3", "open"),
    ]);
    let accounts = crate::platforms::accounts::of(telegram(), &settings);
    let mut built: Vec<_> = accounts
        .iter()
        .map(|a| telegram().connector(a, &host("Ada"), &mut taken).unwrap())
        .collect();
    assert_eq!(off(built.pop().unwrap()), "set TELEGRAM_BOT_TOKEN_3");
    let why = off(built.pop().unwrap());
    assert!(
        why.starts_with("TELEGRAM_BOT_TOKEN_2 is there already") && !why.contains("AAAA"),
        "{why}"
    );
    assert!(matches!(built.pop(), Some(Built::On(_))));
}

#[test]
fn every_agent_has_its_own_terminal() {
    let mut taken = Taken::default();
    let first = taken.own_terminal(&Settings::default(), &host("Ada"));
    let second = taken.own_terminal(&Settings::default(), &host("Bob"));
    assert!(first.raw("TERMINAL_SOCKET").is_none());
    let socket = second.raw("TERMINAL_SOCKET").unwrap().text();
    assert!(
        socket.starts_with("terminal-")
            && socket.ends_with(".sock")
            && socket.len() == "terminal-12345678.sock".len(),
        "{socket}"
    );
}

#[test]
fn an_agent_made_anew_keeps_its_login_and_one_that_is_gone_frees_it() {
    let settings = Settings::from_pairs([(
        "TELEGRAM_BOT_TOKEN",
        "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    )]);
    let mut taken = Taken::default();
    let connects = |taken: &mut Taken, name: &str| {
        let account = first_account(&settings);
        matches!(telegram().connector(&account, &host(name), taken).unwrap(), Built::On(_))
    };
    assert!(connects(&mut taken, "Ada") && !connects(&mut taken, "Ada"));
    taken.release_logins(host("Ada").agent.id());
    assert!(connects(&mut taken, "Ada") && !connects(&mut taken, "Bob"));
    taken.release(host("Ada").agent.id());
    assert!(connects(&mut taken, "Bob"));
}
