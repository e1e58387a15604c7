//! Decides if a message is for the agent: in direct messages by who wrote it, in groups by how it
//! addresses the agent.

use galatea_core::{Content, ParticipantState, QuoteKind, StepOutcome, content::AUTOMATIC_FORWARD};

use super::{
    case::Case,
    log::{Judged, Log},
    name::{Called, called},
    people::{listed, sender},
};
use crate::config::{DmPolicy, GroupPolicy};

/// Authors of the words that a message passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forward {
    /// A person forwarded them.
    ByPerson,
    /// The platform copied a post of a channel into the group that discusses it.
    Automatic,
}

/// Kind of a message that passes on other words than its author's.
fn forward(content: &Content) -> Option<Forward> {
    let marked = |key: &str| content.extra.get(key).is_some_and(|value| *value != false);
    if marked(AUTOMATIC_FORWARD) {
        return Some(Forward::Automatic);
    }
    let forwarded = marked("forwarded")
        || marked("forwardedFrom")
        || content.quotes.iter().any(|quote| quote.kind == QuoteKind::Forward);
    forwarded.then_some(Forward::ByPerson)
}

/// In a direct message the policy for its sender decides.
pub(super) fn direct(case: &Case<'_>, mut log: Log) -> Judged {
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

/// In a group: mention, reply or name, or whatever else the group policy takes.
pub(super) fn group(case: &Case<'_>, mut log: Log) -> Judged {
    let policy = case.policy;
    let forward = forward(&case.message.content);
    if forward == Some(Forward::Automatic) {
        return log.skip(
            "forwarded",
            "the platform passed on a post of the group's channel; it is no question",
            None,
        );
    }
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
    // Names and mentions in another's words address nobody.
    let (mention, name) = (mention && forward.is_none(), name && forward.is_none());
    if forward.is_some() {
        log.pass("forwarded", "it passes on another's words, so names in it are not looked at");
    }
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
    let called = if name {
        called(&case.message.content.text, case.character, case.own_names)
    } else {
        Called::No
    };
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
