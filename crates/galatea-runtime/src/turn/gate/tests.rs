//! Every rule of the gate, one case each.

use galatea_core::{
    Addressed, Character, Command, Content, Memory, MemoryKind, ParticipantState, Quote, QuoteKind,
    RemoteId, Settings, Source, Timestamp,
    content::AUTOMATIC_FORWARD,
    room::ChannelType,
    store::{Block, BlockKind, Envelope},
};
use std::time::Duration;
use uuid::Uuid;

use super::*;
use crate::config::Policy;

mod lists;

struct Setup {
    policy: Policy,
    character: Character,
    message: Memory,
    envelope: Envelope,
    kind: ChannelType,
    blocks: Vec<Block>,
    own_state: Option<ParticipantState>,
    more: More,
    public: bool,
    scripted: bool,
    hops: u32,
    now: Timestamp,
    ahead: Duration,
    received: Timestamp,
}

const SENT: i64 = 1_700_000_000_000;

fn setup(pairs: &[(&str, &str)], text: &str, kind: ChannelType) -> Setup {
    let settings = Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v)));
    let id = Uuid::from_u128(7);
    Setup {
        policy: Policy::from_settings(&settings, &Source::new("telegram")).unwrap(),
        character: Character {
            name: "Eliza".into(),
            username: Some("eliza_bot".into()),
            ..Character::default()
        },
        message: Memory {
            id: id.into(),
            kind: MemoryKind::Messages,
            agent_id: id.into(),
            entity_id: id.into(),
            room_id: id.into(),
            world_id: None,
            content: Content { source: Some("telegram".into()), ..Content::text(text) },
            metadata: serde_json::Map::new(),
            created_at: Timestamp(SENT),
        },
        envelope: Envelope {
            entity_remote: Some(RemoteId::new(42)),
            user_name: Some("Maria".into()),
            ..Envelope::default()
        },
        kind,
        blocks: Vec::new(),
        own_state: None,
        more: More::NotAsked,
        public: true,
        scripted: false,
        hops: 0,
        now: Timestamp(SENT + 1_000),
        ahead: Duration::ZERO,
        received: Timestamp(SENT + 500),
    }
}

impl Setup {
    fn evaluate(&self) -> Judged {
        evaluate(&Case {
            policy: &self.policy,
            character: &self.character,
            own_names: &[],
            message: &self.message,
            envelope: &self.envelope,
            room_kind: self.kind,
            room_remote: "-100-5",
            parent_remote: Some("-100"),
            world_remote: Some("-100"),
            blocks: &self.blocks,
            own_state: self.own_state,
            more: self.more,
            public: self.public,
            scripted: self.scripted,
            hops: self.hops,
            paired: false,
            received_at: self.received,
            now: self.now,
            ahead: self.ahead,
        })
    }

    fn skipped_by(&self) -> (String, Option<String>) {
        match self.evaluate() {
            Judged::Skip(v) | Judged::Expired(v) | Judged::Pair(v) => {
                (v.steps.last().unwrap().rule.to_string(), v.change.map(|c| c.setting))
            }
            other => panic!("expected silence, got {other:?}"),
        }
    }

    fn answered_by(&self) -> String {
        match self.evaluate() {
            Judged::Answer(v) => v.steps.last().unwrap().rule.to_string(),
            other => panic!("expected an answer, got {other:?}"),
        }
    }
}

#[test]
fn direct_messages_are_open_by_default() {
    assert_eq!(setup(&[], "hi", ChannelType::Dm).answered_by(), "dm-policy");
}

#[test]
fn direct_message_policies() {
    assert_eq!(
        setup(&[("DM_POLICY", "disabled")], "hi", ChannelType::Dm).skipped_by(),
        ("dm-policy".into(), Some("DM_POLICY".into()))
    );
    assert_eq!(
        setup(&[("DM_POLICY", "allowlist")], "hi", ChannelType::Dm).skipped_by().1.as_deref(),
        Some("ALLOW_FROM")
    );
    for from in ["42", "@maria", "@MARIA", "[42]"] {
        assert_eq!(
            setup(&[("DM_POLICY", "allowlist"), ("ALLOW_FROM", from)], "hi", ChannelType::Dm)
                .answered_by(),
            "dm-policy"
        );
    }
    // An id is not a handle, and a handle without @ is neither.
    for from in ["maria", "@42", "421"] {
        assert_eq!(
            setup(
                &[("DM_POLICY", "allowlist"), ("TELEGRAM_ALLOW_FROM", from)],
                "hi",
                ChannelType::Dm
            )
            .skipped_by()
            .1
            .as_deref(),
            Some("TELEGRAM_ALLOW_FROM")
        );
    }
    let mut digits =
        setup(&[("DM_POLICY", "allowlist"), ("ALLOW_FROM", "4711")], "hi", ChannelType::Dm);
    digits.envelope.user_name = Some("4711".into());
    assert_eq!(digits.skipped_by().0, "dm-policy", "a user name made of digits is not an id");
    assert!(matches!(
        setup(&[("TELEGRAM_DM_POLICY", "pairing")], "hi", ChannelType::Dm).evaluate(),
        Judged::Pair(_)
    ));
}

#[test]
fn groups_answer_only_when_addressed() {
    assert_eq!(
        setup(&[], "nice weather", ChannelType::Group).skipped_by(),
        ("group-policy".into(), Some("GROUP_POLICY".into()))
    );
    assert_eq!(setup(&[], "Eliza, help", ChannelType::Group).answered_by(), "name");
    assert_eq!(setup(&[], "ask ELIZA_BOT!", ChannelType::Thread).answered_by(), "name");
    assert_eq!(setup(&[], "elizabeth is here", ChannelType::Group).skipped_by().0, "group-policy");
    let mut mention = setup(&[], "x", ChannelType::Group);
    mention.envelope.addressed = Addressed { mention: true, reply: false };
    assert_eq!(mention.answered_by(), "mention");
    let mut reply = setup(&[], "x", ChannelType::Group);
    reply.envelope.addressed = Addressed { mention: false, reply: true };
    assert_eq!(reply.answered_by(), "reply");
    reply.policy = Policy::from_settings(
        &Settings::from_pairs([("GROUP_POLICY", "mention")]),
        &Source::new("telegram"),
    )
    .unwrap();
    assert_eq!(reply.skipped_by().0, "group-policy");
}

/// Another's words address nobody, however they begin.
#[test]
fn what_is_passed_on_is_no_question() {
    let forwards: [fn(&mut Content); 3] = [
        |content| drop(content.extra.insert("forwardedFrom".into(), "Zoe".into())),
        |content| drop(content.extra.insert("forwarded".into(), true.into())),
        |content| content.quotes.push(Quote::new(QuoteKind::Forward, None, "Eliza, help")),
    ];
    for mark in forwards {
        for text in ["Eliza, help", "ask @eliza_bot!", ""] {
            let mut case = setup(&[], text, ChannelType::Group);
            case.envelope.addressed.mention = true;
            mark(&mut case.message.content);
            assert_eq!(case.skipped_by().0, "group-policy", "{text}");
            case.envelope.addressed.reply = true;
            assert_eq!(case.answered_by(), "reply", "the person replies to it");
        }
        let mut case = setup(&[], "Eliza, help", ChannelType::Dm);
        mark(&mut case.message.content);
        assert_eq!(case.answered_by(), "dm-policy");
        let mut case = setup(&[("GROUP_POLICY", "always")], "x", ChannelType::Group);
        mark(&mut case.message.content);
        assert_eq!(case.answered_by(), "group-policy");
    }
    for kind in [ChannelType::Group, ChannelType::Dm, ChannelType::Thread] {
        let mut case = setup(&[("GROUP_POLICY", "always")], "Eliza started a thread", kind);
        case.message.content.extra.insert(NOTICE.into(), true.into());
        assert_eq!(case.skipped_by(), ("notice".into(), None));
    }
    for policy in ["mention,reply,name", "always", "ambient"] {
        let mut case = setup(&[("GROUP_POLICY", policy)], "Eliza, help", ChannelType::Group);
        case.message.content.extra.insert(AUTOMATIC_FORWARD.into(), true.into());
        assert_eq!(case.skipped_by(), ("forwarded".into(), None), "{policy}");
    }
}

#[test]
fn the_rest_of_an_answer_needs_no_address_and_obeys_the_other_rules() {
    let asking = |pairs: &[(&str, &str)], kind| {
        let mut case = setup(pairs, "more", kind);
        case.more = More::Asked;
        case
    };
    assert_eq!(asking(&[], ChannelType::Group).answered_by(), "more");
    assert_eq!(asking(&[], ChannelType::Dm).answered_by(), "dm-policy");
    let closed = [("DM_POLICY", "disabled")];
    assert_eq!(asking(&closed, ChannelType::Dm).skipped_by().0, "dm-policy");
    let blocked = [("TELEGRAM_BLOCK_PEOPLE", "42")];
    assert_eq!(asking(&blocked, ChannelType::Group).skipped_by().0, "blocked");
    let mut muted = asking(&[], ChannelType::Group);
    muted.own_state = Some(ParticipantState::Muted);
    assert_eq!(muted.skipped_by().0, "muted");
    let command = |more| {
        let mut case = asking(&[], ChannelType::Group);
        case.more = more;
        case.envelope.command = Some(Command { name: "more".into(), args: String::new() });
        case
    };
    assert_eq!(command(More::Asked).answered_by(), "more");
    assert!(matches!(command(More::NotAsked).evaluate(), Judged::Command(_)), "it says so");
    for (more, why) in [(More::OfAnother, "person who asked"), (More::Gone, "no more")] {
        let mut case = asking(&[], ChannelType::Group);
        case.more = more;
        case.envelope.pressed = Some("more:x".into());
        let Judged::Skip(verdict) = case.evaluate() else { panic!("answered") };
        assert!(verdict.steps.last().unwrap().reason.contains(why), "{verdict:?}");
    }
}

#[test]
fn other_group_policies() {
    assert_eq!(
        setup(&[("GROUP_POLICY", "always")], "x", ChannelType::Group).answered_by(),
        "group-policy"
    );
    assert!(matches!(
        setup(&[("GROUP_POLICY", "ambient")], "x", ChannelType::Group).evaluate(),
        Judged::Ask(_)
    ));
    assert_eq!(
        setup(&[("GROUP_POLICY", "disabled")], "Eliza", ChannelType::Group).skipped_by().0,
        "group-policy"
    );
    assert_eq!(
        setup(&[("ALWAYS_RESPOND_CHANNELS", "GROUP")], "x", ChannelType::Group).answered_by(),
        "always-respond"
    );
    assert_eq!(
        setup(&[("ALWAYS_RESPOND_SOURCES", "gram")], "x", ChannelType::Group).answered_by(),
        "always-respond"
    );
    assert_eq!(
        setup(
            &[("BOOTSTRAP_DEFLLMOFF", "true"), ("GROUP_POLICY", "ambient")],
            "x",
            ChannelType::Group
        )
        .skipped_by()
        .0,
        "follow"
    );
}

#[test]
fn followed_and_muted_rooms() {
    let mut room = setup(&[], "x", ChannelType::Group);
    room.own_state = Some(ParticipantState::Followed);
    assert_eq!(room.answered_by(), "followed");
    room.own_state = Some(ParticipantState::Muted);
    assert_eq!(room.skipped_by().0, "muted");
    room.envelope.command = Some(Command { name: "unmute".into(), args: String::new() });
    assert!(matches!(room.evaluate(), Judged::Command(_)), "a muted room can be unmuted");
}

#[test]
fn own_messages_and_bots() {
    let mut own = setup(&[], "x", ChannelType::Dm);
    own.envelope.from_self = true;
    assert_eq!(own.skipped_by(), ("own-message".into(), None));
    let mut bot = setup(&[], "x", ChannelType::Dm);
    bot.envelope.from_bot = true;
    assert_eq!(bot.skipped_by(), ("bots".into(), Some("ALLOW_BOTS".into())));
    let mut chatty = setup(&[("TELEGRAM_ALLOW_BOTS", "true")], "x", ChannelType::Dm);
    chatty.envelope.from_bot = true;
    assert_eq!(chatty.answered_by(), "dm-policy");
    chatty.hops = 3;
    assert_eq!(chatty.skipped_by().0, "bot-hops");
}

#[test]
fn the_script_is_silent_in_public_unless_opted_in() {
    let mut script = setup(&[], "x", ChannelType::Dm);
    script.scripted = true;
    assert_eq!(
        script.skipped_by(),
        ("offline-script".into(), Some("OFFLINE_RESPONDER_PUBLIC".into()))
    );
    script.public = false;
    assert_eq!(script.answered_by(), "dm-policy");
    let mut opted = setup(&[("OFFLINE_RESPONDER_PUBLIC", "true")], "x", ChannelType::Dm);
    opted.scripted = true;
    assert_eq!(opted.answered_by(), "dm-policy");
}

#[test]
fn old_messages_expire_unless_their_date_is_nonsense() {
    let mut old = setup(&[], "x", ChannelType::Dm);
    old.now = Timestamp(SENT + 2 * 3_600_000);
    assert!(matches!(old.evaluate(), Judged::Expired(_)));
    let hour = Duration::from_secs(3600);
    let ahead = Setup {
        now: Timestamp(SENT + 3_600_000 + 1_000),
        received: Timestamp(SENT + 3_600_500),
        ahead: hour,
        ..setup(&[], "x", ChannelType::Dm)
    };
    assert_eq!(
        ahead.answered_by(),
        "dm-policy",
        "our clock was set an hour forward; it is a second old"
    );
    let jumped = Setup {
        now: Timestamp(SENT + 3 * 3_600_000),
        received: Timestamp(SENT + 3_600_500),
        ahead: hour,
        ..setup(&[], "x", ChannelType::Dm)
    };
    assert!(matches!(jumped.evaluate(), Judged::Expired(_)), "two hours by any clock");
    let mut nonsense = setup(&[], "x", ChannelType::Dm);
    nonsense.message.created_at = Timestamp(0);
    assert_eq!(nonsense.answered_by(), "dm-policy");
}

/// X lists mentions of many days, so an old one is old; Telegram keeps updates for a day, so an older
/// date is a wrong clock.
#[test]
fn a_mention_of_days_ago_expires_where_the_platform_keeps_it_so_long() {
    for (source, hours, expires) in [
        ("x", 23, false),
        ("x", 25, true),
        ("x", 24 * 40, true),
        ("discord", 25, false),
        ("telegram", 2, true),
        ("telegram", 25, false),
    ] {
        let mut late = setup(&[], "hello", ChannelType::Dm);
        late.policy = Policy::from_settings(&Settings::default(), &Source::new(source)).unwrap();
        late.received = Timestamp(SENT + hours * 3_600_000);
        late.now = late.received;
        assert_eq!(matches!(late.evaluate(), Judged::Expired(_)), expires, "{source} {hours} h");
    }
}

#[test]
fn ask_and_buttons_are_answered_anywhere() {
    let mut ask = setup(&[], "x", ChannelType::Group);
    ask.envelope.command = Some(Command { name: "ask".into(), args: "why".into() });
    assert_eq!(ask.answered_by(), "command");
    let mut press = setup(&[], "x", ChannelType::Group);
    press.envelope.pressed = Some("1".into());
    assert_eq!(press.answered_by(), "button");
}

#[test]
fn a_message_that_merely_contains_the_name_is_not_addressed() {
    let contains = setup(&[], "I met Eliza in May", ChannelType::Group);
    assert_eq!(contains.skipped_by(), ("group-policy".into(), Some("NAME_RULE".into())));
    assert_eq!(
        setup(&[("NAME_RULE", "anywhere")], "I met Eliza in May", ChannelType::Group).answered_by(),
        "name"
    );
    assert_eq!(
        setup(&[("TELEGRAM_NAME_RULE", "anywhere")], "I met Eliza in May", ChannelType::Group)
            .answered_by(),
        "name"
    );
    assert_eq!(setup(&[], "so, eliza, what now", ChannelType::Group).answered_by(), "name");
}
