//! Rules by lists of rooms and people.

use super::*;

#[test]
fn allowed_rooms_match_the_room_or_its_parent() {
    assert_eq!(
        setup(&[("TELEGRAM_ALLOWED_CHATS", "[-999]")], "x", ChannelType::Dm).skipped_by(),
        ("allowed-rooms".into(), Some("TELEGRAM_ALLOWED_CHATS".into()))
    );
    assert_eq!(
        setup(&[("TELEGRAM_ALLOWED_CHATS", "[-100]")], "x", ChannelType::Dm).answered_by(),
        "dm-policy"
    );
    assert_eq!(
        setup(&[("TELEGRAM_ALLOWED_CHATS", "-100-5")], "x", ChannelType::Dm).answered_by(),
        "dm-policy"
    );
}

#[test]
fn only_the_people_named_are_answered() {
    let of = |who: &str| setup(&[("TELEGRAM_TARGET_USERS", who)], "x", ChannelType::Dm);
    assert_eq!(
        of("someone-else").skipped_by(),
        ("target-users".into(), Some("TELEGRAM_TARGET_USERS".into()))
    );
    let sender = of("").envelope.user_name.clone().unwrap();
    assert_eq!(of(&format!("bob, @{}", sender.to_uppercase())).answered_by(), "dm-policy");
    assert_eq!(of("").answered_by(), "dm-policy");
}

#[test]
fn who_is_blocked_by_settings_is_not_answered() {
    for (name, value) in [
        ("BLOCK_PEOPLE", "42"),
        ("TELEGRAM_BLOCK_PEOPLE", "@MARIA"),
        ("BLOCK_ROOMS", "-100-5"),
        ("BLOCK_ROOMS", "-100"),
        ("BLOCK_WORLDS", "[-100]"),
    ] {
        let blocked = setup(&[(name, value)], "hi", ChannelType::Dm);
        assert_eq!(blocked.skipped_by(), ("blocked".into(), Some(name.into())), "{name}={value}");
    }
    let mut digits = setup(&[("BLOCK_PEOPLE", "42,7")], "hi", ChannelType::Dm);
    digits.envelope.entity_remote = Some(RemoteId::new(1));
    digits.envelope.user_name = Some("42".into());
    assert_eq!(digits.answered_by(), "dm-policy", "a handle made of digits is not an id");
    let mut command = setup(&[("BLOCK_PEOPLE", "42")], "/help", ChannelType::Dm);
    command.envelope.command = Some(Command { name: "help".into(), args: String::new() });
    assert_eq!(command.skipped_by().0, "blocked");
}

#[test]
fn the_block_list_says_how_to_end_it() {
    let mut blocked = setup(&[], "hi", ChannelType::Dm);
    let entry = |kind, remote: &str| Block {
        agent: Uuid::from_u128(7).into(),
        source: Source::new("telegram"),
        kind,
        remote: RemoteId::new(remote),
        reason: "spam".into(),
        at: Timestamp(0),
    };
    blocked.blocks = vec![entry(BlockKind::Person, "7"), entry(BlockKind::Person, "@maria")];
    assert_eq!(
        blocked.skipped_by(),
        ("blocked".into(), Some("galatea block rm telegram person @maria".into()))
    );
    blocked.blocks = vec![
        Block { source: Source::new("discord"), ..entry(BlockKind::Person, "42") },
        entry(BlockKind::World, "-99"),
    ];
    assert_eq!(blocked.answered_by(), "dm-policy");
}
