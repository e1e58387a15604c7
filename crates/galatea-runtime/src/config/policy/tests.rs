//! Tests of how a policy is read from the settings.

use super::*;

const TELEGRAM: Source = Source::new("telegram");

#[test]
fn platform_names_beat_general_ones() {
    let settings = Settings::from_pairs([
        ("DM_POLICY", "disabled"),
        ("TELEGRAM_DM_POLICY", "allowlist"),
        ("TELEGRAM_ALLOW_FROM", "@Maria, 42"),
    ]);
    let policy = Policy::from_settings(&settings, &TELEGRAM).unwrap();
    assert_eq!(policy.dm, DmPolicy::Allowlist);
    assert_eq!(policy.allow_from.to_string(), "@maria,42");
    assert_eq!(policy.allow_from_setting, "TELEGRAM_ALLOW_FROM");
    assert_eq!(
        Policy::from_settings(&settings, &Source::new("discord")).unwrap().dm,
        DmPolicy::Disabled
    );
}

/// On Discord, 50,000 characters would arrive as 25 messages at once.
#[test]
fn an_answer_is_a_few_messages_where_strangers_read_along() {
    let parts = |settings: &[(&str, &str)], source| {
        Policy::from_settings(&Settings::from_pairs(settings.iter().copied()), &source)
            .unwrap()
            .parts
    };
    let most = |parts: Parts| {
        [(4_096, true), (2_000, true), (280, true), (100_000, false)]
            .map(|(text, public)| parts.on(text, public))
    };
    assert_eq!(most(parts(&[], TELEGRAM)), [Some(2), Some(4), Some(4), None]);
    let own = [("ANSWER_PARTS", "none"), ("TELEGRAM_ANSWER_PARTS", "3")];
    assert_eq!(most(parts(&own, TELEGRAM)), [Some(3); 4]);
    assert_eq!(most(parts(&own, Source::new("discord"))), [None; 4]);
}

#[test]
fn the_length_of_an_answer_is_set_for_all_platforms_or_for_one() {
    let settings = Settings::from_pairs([("ANSWER_TOKENS", "300"), ("X_ANSWER_TOKENS", "120")]);
    let of = |settings: &Settings, source| {
        Policy::from_settings(settings, &source).unwrap().answer_tokens
    };
    assert_eq!(of(&settings, TELEGRAM), Some(300));
    assert_eq!(of(&settings, Source::new("x")), Some(120));
    assert_eq!(of(&Settings::from_pairs([("A", "b")]), TELEGRAM), None);
    for wrong in ["0", "many", "-1"] {
        let settings = Settings::from_pairs([("ANSWER_TOKENS", wrong)]);
        assert!(Policy::from_settings(&settings, &TELEGRAM).is_err(), "{wrong}");
    }
}

#[test]
fn elizaos_names_work() {
    let settings = Settings::from_pairs([
        ("TELEGRAM_GROUP_RESPONSE_POLICY", "mention_only"),
        ("TELEGRAM_ALLOWED_CHATS", "[\"-1\", -2]"),
        ("SHOULD_RESPOND_BYPASS_TYPES", "group"),
        ("SHOULD_RESPOND_BYPASS_SOURCES", "tele"),
    ]);
    let policy = Policy::from_settings(&settings, &TELEGRAM).unwrap();
    assert_eq!(policy.group, GroupPolicy::Addressed { mention: true, reply: true, name: false });
    assert_eq!(policy.allowed_rooms.unwrap(), ["-1", "-2"]);
    assert_eq!(policy.always_types, [ChannelType::Group]);
    assert!(policy.always_source);
}

#[test]
fn wrong_values_name_their_place() {
    for (name, value) in [
        ("GROUP_POLICY", "sometimes"),
        ("TELEGRAM_DM_POLICY", "x"),
        ("TELEGRAM_AUTO_REPLY", "maybe"),
        ("TELEGRAM_ALLOWED_CHATS", "[1"),
    ] {
        let error =
            Policy::from_settings(&Settings::from_pairs([(name, value)]), &TELEGRAM).unwrap_err();
        assert!(
            error.to_string().contains(name) && error.to_string().contains("environment"),
            "{error}"
        );
    }
}

#[test]
fn a_question_on_x_may_be_a_day_old_and_a_setting_rules() {
    let ttl = |pairs: &[(&str, &str)], source: &'static str| {
        let settings = Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v)));
        let policy = Policy::from_settings(&settings, &Source::new(source)).unwrap();
        (policy.message_ttl.as_secs() / 60, policy.message_ttl_setting)
    };
    let pair = |minutes, setting: &str| (minutes, setting.to_owned());
    assert_eq!(ttl(&[], "x"), pair(1_440, "X_MESSAGE_TTL_MINUTES"));
    assert_eq!(ttl(&[], "telegram"), pair(60, "MESSAGE_TTL_MINUTES"));
    let general = [("MESSAGE_TTL_MINUTES", "30")];
    assert_eq!(ttl(&general, "x"), pair(30, "MESSAGE_TTL_MINUTES"));
    assert_eq!(ttl(&general, "telegram"), pair(30, "MESSAGE_TTL_MINUTES"));
    let own = [("MESSAGE_TTL_MINUTES", "30"), ("X_MESSAGE_TTL_MINUTES", "600")];
    assert_eq!(ttl(&own, "x"), pair(600, "X_MESSAGE_TTL_MINUTES"));
    assert_eq!(ttl(&own, "discord"), pair(30, "MESSAGE_TTL_MINUTES"));
    for (name, value) in [("MESSAGE_TTL_MINUTES", "0"), ("X_MESSAGE_TTL_MINUTES", "a day")] {
        let settings = Settings::from_pairs([(name, value)]);
        let error = Policy::from_settings(&settings, &Source::new("x")).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}
