//! Decides whether to answer at all. A pure function; every step it takes is recorded, so that
//! `explain` can show it.

mod blocked;
mod case;
mod log;
mod name;

use galatea_core::{
    Decision, Error, ParticipantState, People, RemoteId, StepOutcome, Verdict, store::Envelope,
};
use std::time::Duration;

use self::{
    blocked::blocked,
    log::Log,
    name::{Called, called},
};
pub(crate) use self::{case::Case, log::Judged};
use super::act::pending::answer;
use crate::config::{DmPolicy, GroupPolicy, Policy};

/// Telegram keeps updates for at most 24 h (Bot API, getUpdates), so an older date is not a delayed
/// message but a clock that cannot be trusted.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Decides about one message.
pub(crate) fn evaluate(case: &Case<'_>) -> Judged {
    let mut log = Log(Verdict::default());
    let Case { policy, envelope, .. } = case;

    if envelope.from_self {
        return log.skip("own-message", "it is the agent's own message", None);
    }
    log.pass("own-message", "another person wrote it");
    if let Some((reason, setting, value)) = blocked(case) {
        return log.skip("blocked", reason, Some((&setting, &value)));
    }

    // Our own clock measures how long it waited here; the platform's only how long it was under
    // way.
    let on_its_way = Some(case.received_at.since(case.message.created_at))
        .filter(|delay| *delay <= LONGEST_DELAY)
        .unwrap_or_default();
    let set_forward = Some(case.ahead).filter(|ahead| *ahead <= LONGEST_DELAY).unwrap_or_default();
    let age = (case.now.since(case.received_at) + on_its_way).saturating_sub(set_forward);
    if age > case.message_ttl {
        log.0.decision = Decision::Expired;
        log.note(
            "age",
            StepOutcome::Skip,
            format!("it was {} minutes old when its turn came", age.as_secs() / 60),
        );
        log.change("MESSAGE_TTL_MINUTES", &(age.as_secs() / 60 + 1).to_string());
        return Judged::Expired(log.0);
    }

    if let Some(allowed) = &policy.allowed_rooms
        && !allowed
            .iter()
            .any(|id| id == case.room_remote || Some(id.as_str()) == case.parent_remote)
    {
        return log.skip(
            "allowed-rooms",
            "this room is not among the allowed ones",
            Some((&policy.allowed_rooms_setting, &with_room(allowed, case))),
        );
    }
    log.pass(
        "allowed-rooms",
        if policy.allowed_rooms.is_some() {
            "this room is allowed"
        } else {
            "every room is allowed"
        },
    );

    let here =
        |id: &&String| id.as_str() == case.room_remote || Some(id.as_str()) == case.parent_remote;
    if policy.listen_rooms.iter().any(|id| here(&id)) {
        let rest: Vec<&str> =
            policy.listen_rooms.iter().filter(|id| !here(id)).map(String::as_str).collect();
        return log.skip(
            "listen-rooms",
            "in this room the agent only listens",
            Some((&policy.listen_rooms_setting, &rest.join(","))),
        );
    }

    if let Some(users) = &policy.only_users
        && !named(users, envelope)
    {
        let with = format!("{users},{}", sender(case));
        return log.skip(
            "target-users",
            "the sender is not among the people to answer",
            Some((&policy.only_users_setting, &with)),
        );
    }

    if envelope.from_bot {
        if !policy.allow_bots {
            return log.skip(
                "bots",
                "a bot wrote it, and bots are not answered",
                Some((&policy.allow_bots_setting, "true")),
            );
        }
        if case.hops >= policy.bot_hop_limit {
            let more = (case.hops + 1).to_string();
            return log.skip(
                "bot-hops",
                format!("{} answers to bots in a row; a person has to speak first", case.hops),
                Some(("BOT_HOP_LIMIT", &more)),
            );
        }
        log.pass("bots", "a bot wrote it, and bots are answered here");
    }

    // Before muting, so that a muted room can be unmuted.
    let command = envelope
        .command
        .as_ref()
        .map(|command| command.name.as_str())
        .filter(|name| super::commands::is_known(name) && *name != "ask");
    let answers = answer(&case.message.content.text).is_some();
    if command.is_some() || answers {
        if case.room_kind.is_direct() {
            match direct(case, log) {
                Judged::Answer(verdict) => log = Log(verdict),
                refused => return refused,
            }
        }
        match command {
            Some(name) => log.note("command", StepOutcome::Answer, format!("/{name} is a command")),
            None => log.note(
                "confirmation",
                StepOutcome::Answer,
                "it answers whether an action is to be done",
            ),
        }
        log.0.decision = Decision::Command;
        return Judged::Command(log.0);
    }

    if case.own_state == Some(ParticipantState::Muted) {
        return log.skip("muted", "this room is muted", Some(("/unmute in that room", "")));
    }
    log.pass("muted", "this room is not muted");

    if !policy.auto_reply {
        return log.skip(
            "auto-reply",
            "answering is switched off for this platform",
            Some((&format!("{}_AUTO_REPLY", source(case)), "true")),
        );
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

/// What was to be answered, where it is known that nothing can be said there: no model is asked for
/// it.
pub(crate) fn barred(judged: Judged, why: impl FnOnce() -> Option<Error>) -> Judged {
    let (Judged::Answer(verdict) | Judged::Ask(verdict)) = &judged else { return judged };
    let Some(error) = why() else { return judged };
    let reason = [Some(error.message()), error.code(), error.fix()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ");
    Log(verdict.clone()).skip("can-speak", reason, None)
}

fn direct(case: &Case<'_>, mut log: Log) -> Judged {
    let policy = case.policy;
    match policy.dm {
        DmPolicy::Open => log.answer("dm-policy", "direct messages are open to everyone"),
        DmPolicy::Disabled => log.skip(
            "dm-policy",
            "direct messages are switched off",
            Some((&policy.dm_setting, "open")),
        ),
        DmPolicy::Allowlist if listed(case) => {
            log.answer("dm-policy", "the sender is on the allowlist")
        }
        DmPolicy::Allowlist => log.skip(
            "dm-policy",
            "the sender is not on the allowlist",
            Some((&policy.allow_from_setting, &sender(case))),
        ),
        DmPolicy::Pairing if case.paired || listed(case) => {
            log.answer("dm-policy", "the owner approved the sender")
        }
        DmPolicy::Pairing => {
            log.note(
                "dm-policy",
                StepOutcome::Skip,
                "the sender has to be approved by the owner first",
            );
            log.change(&policy.dm_setting, "open");
            Judged::Pair(log.0)
        }
    }
}

fn group(case: &Case<'_>, mut log: Log) -> Judged {
    let policy = case.policy;
    if policy.group == GroupPolicy::Disabled {
        return log.skip(
            "group-policy",
            "groups are switched off",
            Some((&policy.group_setting, "mention,reply,name")),
        );
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
    log.pass(
        "mention",
        if mention { "it does not mention the agent" } else { "mentions are not looked at" },
    );
    if reply && case.envelope.addressed.reply {
        return log.answer("reply", "it replies to the agent");
    }
    log.pass(
        "reply",
        if reply { "it does not reply to the agent" } else { "replies are not looked at" },
    );
    let called = if name { called(&case.message.content.text, case.character) } else { Called::No };
    if called == Called::Addressed || (called == Called::Contained && policy.name_anywhere) {
        return log.answer("name", "it calls the agent by name");
    }
    log.pass(
        "name",
        match called {
            Called::Contained => "it contains the agent's name without addressing it",
            _ if name => "it does not call the agent by name",
            _ => "names are not looked at",
        },
    );
    if case.own_state == Some(ParticipantState::Followed) {
        return log.answer("followed", "the agent follows this room");
    }
    if policy.off_by_default {
        return log.skip(
            "follow",
            "the agent does not follow this room",
            Some(("BOOTSTRAP_DEFLLMOFF", "false")),
        );
    }
    if policy.group == GroupPolicy::Ambient {
        log.note("ambient", StepOutcome::Note, "a model decides whether to join in");
        return Judged::Ask(log.0);
    }
    let change = if called == Called::Contained {
        (policy.name_setting.as_str(), "anywhere")
    } else {
        (policy.group_setting.as_str(), "always")
    };
    log.skip("group-policy", "the message does not address the agent", Some(change))
}

fn listed(case: &Case<'_>) -> bool {
    is_listed(case.policy, case.envelope)
}

/// Whether the speaker is on the allowlist.
pub(super) fn is_listed(policy: &Policy, envelope: &Envelope) -> bool {
    named(&policy.allow_from, envelope)
}

/// By id or handle.
fn named(list: &People, envelope: &Envelope) -> bool {
    list.names(envelope.entity_remote.as_ref().map(RemoteId::as_str), envelope.user_name.as_deref())
}

fn sender(case: &Case<'_>) -> String {
    case.envelope
        .entity_remote
        .as_ref()
        .map_or_else(|| String::from("the sender's id"), ToString::to_string)
}

fn source(case: &Case<'_>) -> String {
    case.message.content.source.as_deref().unwrap_or("PLATFORM").to_ascii_uppercase()
}

fn with_room(allowed: &[String], case: &Case<'_>) -> String {
    let mut all: Vec<&str> = allowed.iter().map(String::as_str).collect();
    all.push(case.room_remote);
    all.join(",")
}

#[cfg(test)]
mod tests;
