//! Gate: answer at all? A pure function; every step it takes is recorded, so that `explain` can tell.

use galatea_core::{Character, Decision, Memory, ParticipantState, Timestamp, Verdict, room::ChannelType, store::Envelope, verdict::Change};
use std::{borrow::Cow, time::Duration};

use crate::config::{DmPolicy, GroupPolicy, Policy};

/// Everything the gate looks at.
pub(crate) struct Case<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) character: &'a Character,
    pub(crate) message: &'a Memory,
    pub(crate) envelope: &'a Envelope,
    pub(crate) room_kind: ChannelType,
    pub(crate) room_remote: &'a str,
    /// The platform id of the Room this one is a thread of.
    pub(crate) parent_remote: Option<&'a str>,
    pub(crate) own_state: Option<ParticipantState>,
    /// Strangers see what is said here.
    pub(crate) public: bool,
    /// The model is the offline script.
    pub(crate) scripted: bool,
    /// Answers to bots in a row in this room.
    pub(crate) hops: u32,
    /// The owner approved this person (pairing).
    pub(crate) paired: bool,
    pub(crate) received_at: Timestamp,
    pub(crate) now: Timestamp,
    /// How far our clock was set forward lately: platforms do not know of it.
    pub(crate) ahead: Duration,
    pub(crate) message_ttl: Duration,
}

/// What the gate says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judged {
    /// Answer.
    Answer(Verdict),
    /// Stay silent.
    Skip(Verdict),
    /// Run the command.
    Command(Verdict),
    /// Too old.
    Expired(Verdict),
    /// A model has to decide (ambient groups).
    Ask(Verdict),
    /// A stranger gets a pairing code.
    Pair(Verdict),
}

/// Telegram keeps updates for at most 24 h (Bot API, getUpdates), so an older date is not a delayed message but a clock
/// that cannot be trusted.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Decides about one message.
pub(crate) fn judge(case: &Case<'_>) -> Judged {
    let mut log = Log(Verdict::default());
    let Case { policy, envelope, .. } = case;

    if envelope.from_self {
        return log.skip("own-message", "it is the agent's own message", None);
    }
    log.pass("own-message", "somebody else wrote it");

    // Our own clock tells how long it waited here; the platform's only how long it was on its way.
    let on_its_way = Some(case.received_at.since(case.message.created_at)).filter(|delay| *delay <= LONGEST_DELAY).unwrap_or_default();
    let set_forward = Some(case.ahead).filter(|ahead| *ahead <= LONGEST_DELAY).unwrap_or_default();
    let age = (case.now.since(case.received_at) + on_its_way).saturating_sub(set_forward);
    if age > case.message_ttl {
        log.0.decision = Decision::Expired;
        log.note("age", "skip", format!("it was {} minutes old when its turn came", age.as_secs() / 60));
        log.change("MESSAGE_TTL_MINUTES", &(age.as_secs() / 60 + 1).to_string());
        return Judged::Expired(log.0);
    }

    if let Some(allowed) = &policy.allowed_rooms
        && !allowed.iter().any(|id| id == case.room_remote || Some(id.as_str()) == case.parent_remote)
    {
        return log.skip("allowed-rooms", "this room is not among the allowed ones", Some((&policy.allowed_rooms_setting, &with_room(allowed, case))));
    }
    log.pass("allowed-rooms", if policy.allowed_rooms.is_some() { "this room is allowed" } else { "every room is allowed" });

    let here = |id: &&String| id.as_str() == case.room_remote || Some(id.as_str()) == case.parent_remote;
    if policy.listen_rooms.iter().any(|id| here(&id)) {
        let rest: Vec<&str> = policy.listen_rooms.iter().filter(|id| !here(id)).map(String::as_str).collect();
        return log.skip("listen-rooms", "in this room the agent only listens", Some((&policy.listen_rooms_setting, &rest.join(","))));
    }

    if let Some(users) = &policy.only_users
        && !named(users, envelope)
    {
        let with = users.iter().map(String::as_str).chain(envelope.user_name.as_deref()).collect::<Vec<_>>().join(",");
        return log.skip("target-users", "the sender is not among the people to answer", Some((&policy.only_users_setting, &with)));
    }

    if envelope.from_bot {
        if !policy.allow_bots {
            return log.skip("bots", "a bot wrote it, and bots are not answered", Some((&policy.allow_bots_setting, "true")));
        }
        if case.hops >= policy.bot_hop_limit {
            let more = (case.hops + 1).to_string();
            return log.skip("bot-hops", format!("{} answers to bots in a row; a person has to speak first", case.hops), Some(("BOT_HOP_LIMIT", &more)));
        }
        log.pass("bots", "a bot wrote it, and bots are answered here");
    }

    // Before muting, so that a muted room can be unmuted.
    if let Some(command) = &envelope.command
        && super::commands::is_known(&command.name)
        && command.name != "ask"
    {
        if case.room_kind.is_direct() {
            match direct(case, log) {
                Judged::Answer(verdict) => log = Log(verdict),
                refused => return refused,
            }
        }
        log.note("command", "answer", format!("/{} is a command", command.name));
        log.0.decision = Decision::Command;
        return Judged::Command(log.0);
    }

    if case.own_state == Some(ParticipantState::Muted) {
        return log.skip("muted", "this room is muted", Some(("/unmute in that room", "")));
    }
    log.pass("muted", "this room is not muted");

    if !policy.auto_reply {
        return log.skip("auto-reply", "answering is switched off for this platform", Some((&format!("{}_AUTO_REPLY", source(case)), "true")));
    }

    if case.scripted && case.public && !policy.script_in_public {
        return log.skip(
            "offline-script",
            "no model is configured, and the offline script does not speak in public",
            Some(("OFFLINE_RESPONDER_PUBLIC", "true")),
        );
    }

    if envelope.pressed.is_some() {
        return log.answer("button", "a button of the agent was pressed");
    }
    if envelope.command.as_ref().is_some_and(|c| c.name == "ask") {
        return log.answer("command", "/ask asks for an answer");
    }
    if case.room_kind.is_direct() { direct(case, log) } else { group(case, log) }
}

fn direct(case: &Case<'_>, mut log: Log) -> Judged {
    let policy = case.policy;
    match policy.dm {
        DmPolicy::Open => log.answer("dm-policy", "direct messages are open to everybody"),
        DmPolicy::Disabled => log.skip("dm-policy", "direct messages are switched off", Some((&policy.dm_setting, "open"))),
        DmPolicy::Allowlist if listed(case) => log.answer("dm-policy", "the sender is on the allowlist"),
        DmPolicy::Allowlist => log.skip("dm-policy", "the sender is not on the allowlist", Some(("ALLOW_FROM", &sender(case)))),
        DmPolicy::Pairing if case.paired || listed(case) => log.answer("dm-policy", "the owner approved the sender"),
        DmPolicy::Pairing => {
            log.note("dm-policy", "skip", "the sender has to be approved by the owner first");
            log.change(&policy.dm_setting, "open");
            Judged::Pair(log.0)
        }
    }
}

fn group(case: &Case<'_>, mut log: Log) -> Judged {
    let policy = case.policy;
    if policy.group == GroupPolicy::Disabled {
        return log.skip("group-policy", "groups are switched off", Some((&policy.group_setting, "mention,reply,name")));
    }
    if policy.always_types.contains(&case.room_kind) {
        return log.answer("always-respond", "rooms of this type always get an answer");
    }
    if policy.always_source {
        return log.answer("always-respond", "this platform always gets an answer");
    }
    if policy.group == GroupPolicy::Always {
        return log.answer("group-policy", "every message in groups is answered");
    }
    let (mention, reply, name) = match policy.group {
        GroupPolicy::Addressed { mention, reply, name } => (mention, reply, name),
        _ => (true, true, true),
    };
    if mention && case.envelope.addressed.mention {
        return log.answer("mention", "it mentions the agent");
    }
    log.pass("mention", if mention { "it does not mention the agent" } else { "mentions are not looked at" });
    if reply && case.envelope.addressed.reply {
        return log.answer("reply", "it replies to the agent");
    }
    log.pass("reply", if reply { "it does not reply to the agent" } else { "replies are not looked at" });
    if name && calls(&case.message.content.text, case.character) {
        return log.answer("name", "it calls the agent by name");
    }
    log.pass("name", if name { "it does not call the agent by name" } else { "names are not looked at" });
    if case.own_state == Some(ParticipantState::Followed) {
        return log.answer("followed", "the agent follows this room");
    }
    if policy.off_by_default {
        return log.skip("follow", "the agent does not follow this room", Some(("BOOTSTRAP_DEFLLMOFF", "false")));
    }
    if policy.group == GroupPolicy::Ambient {
        log.note("ambient", "note", "a model decides whether to join in");
        return Judged::Ask(log.0);
    }
    log.skip("group-policy", "nobody addressed the agent", Some((&policy.group_setting, "always")))
}

/// The agent's name or handle as words of their own, in any case. One-letter names would match everywhere and are left out.
fn calls(text: &str, character: &Character) -> bool {
    let text = text.to_lowercase();
    [Some(&character.name), character.username.as_ref()]
        .into_iter()
        .flatten()
        .map(|name| name.trim().to_lowercase())
        .filter(|name| name.chars().count() > 1)
        .any(|name| {
            text.match_indices(&name).any(|(at, found)| {
                let before = text[..at].chars().next_back();
                let after = text[at + found.len()..].chars().next();
                !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
            })
        })
}

fn listed(case: &Case<'_>) -> bool {
    named(&case.policy.allow_from, case.envelope)
}

/// By id or handle.
fn named(list: &[String], envelope: &Envelope) -> bool {
    list.iter().any(|listed| {
        envelope.entity_remote.as_ref().is_some_and(|id| id.as_str() == listed)
            || envelope.user_name.as_ref().is_some_and(|name| name.to_lowercase() == *listed)
    })
}

fn sender(case: &Case<'_>) -> String {
    case.envelope.entity_remote.as_ref().map_or_else(|| String::from("the sender's id"), ToString::to_string)
}

fn source(case: &Case<'_>) -> String {
    case.message.content.source.as_deref().unwrap_or("PLATFORM").to_ascii_uppercase()
}

fn with_room(allowed: &[String], case: &Case<'_>) -> String {
    let mut all: Vec<&str> = allowed.iter().map(String::as_str).collect();
    all.push(case.room_remote);
    all.join(",")
}

struct Log(Verdict);

impl Log {
    fn note(&mut self, rule: &'static str, outcome: &'static str, reason: impl Into<Cow<'static, str>>) {
        self.0.step(rule, outcome, reason);
    }

    fn pass(&mut self, rule: &'static str, reason: impl Into<Cow<'static, str>>) {
        self.note(rule, "pass", reason);
    }

    fn change(&mut self, setting: &str, value: &str) {
        self.0.change = Some(Change { setting: setting.to_owned(), value: value.to_owned() });
    }

    fn answer(mut self, rule: &'static str, reason: impl Into<Cow<'static, str>>) -> Judged {
        self.note(rule, "answer", reason);
        self.0.decision = Decision::Answer;
        Judged::Answer(self.0)
    }

    fn skip(mut self, rule: &'static str, reason: impl Into<Cow<'static, str>>, change: Option<(&str, &str)>) -> Judged {
        self.note(rule, "skip", reason);
        if let Some((setting, value)) = change {
            self.change(setting, value);
        }
        self.0.decision = Decision::Skip;
        Judged::Skip(self.0)
    }
}

#[cfg(test)]
mod tests;
