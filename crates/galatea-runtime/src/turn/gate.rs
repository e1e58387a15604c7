//! Decides whether to answer at all. A pure function; every step it takes is recorded, so that
//! `explain` can show it.

mod addressed;
mod blocked;
mod case;
mod log;
mod name;
mod people;

use galatea_core::{Decision, Error, ParticipantState, StepOutcome, Verdict, content::NOTICE};
use std::{
    ops::ControlFlow::{self, Break, Continue},
    time::Duration,
};

pub(super) use self::people::is_listed;
use self::{
    addressed::{direct, group},
    log::Log,
    people::{named, sender},
};
pub(crate) use self::{case::Case, log::Judged};
use super::{act::pending::answer, more::More};
use crate::commands::{self, known};

/// Decides about one message: the first rule that has an answer ends it.
pub(crate) fn evaluate(case: &Case<'_>) -> Judged {
    let passed = IN_ORDER.iter().try_fold(Log(Verdict::default()), |log, rule| rule(case, log));
    match passed {
        Break(judged) => judged,
        Continue(log) if case.room_kind.is_direct() => direct(case, log),
        Continue(log) => group(case, log),
    }
}

/// Ends a message in a place where nothing can be said: no model is asked for
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

/// Lets a message pass, or decides about it.
type Rule = fn(&Case<'_>, Log) -> ControlFlow<Judged, Log>;

/// The rules that hold in every Room, each with a name that `explain` shows. Commands come before muting, so that a muted room can be unmuted.
const IN_ORDER: [Rule; 13] = [
    own_message,
    notice,
    blocked,
    age,
    allowed_rooms,
    listen_rooms,
    target_users,
    bots,
    command,
    muted,
    auto_reply,
    rest_of_an_answer,
    pressed_or_asked,
];

/// A clock that was set forward further than a day was wrong before, so its jump says nothing about
/// the age of messages.
const LONGEST_JUMP: Duration = Duration::from_secs(24 * 60 * 60);

fn own_message(case: &Case<'_>, mut log: Log) -> ControlFlow<Judged, Log> {
    if case.envelope.from_self {
        return Break(log.skip("own-message", "it is the agent's own message", None));
    }
    log.pass("own-message", "another person wrote it");
    Continue(log)
}

fn notice(case: &Case<'_>, log: Log) -> ControlFlow<Judged, Log> {
    if case.message.content.extra.get(NOTICE).is_some_and(|notice| *notice == true) {
        return Break(log.skip("notice", "it is a notice of the platform", None));
    }
    Continue(log)
}

fn blocked(case: &Case<'_>, log: Log) -> ControlFlow<Judged, Log> {
    match blocked::blocked(case) {
        Some((reason, setting, value)) => {
            Break(log.skip("blocked", reason, Some((&setting, &value))))
        }
        None => Continue(log),
    }
}

fn age(case: &Case<'_>, mut log: Log) -> ControlFlow<Judged, Log> {
    // Our own clock measures how long it waited here; the platform's only how long it was under
    // way. A delay that is impossible on this platform, and a date at or before 1970, are no age.
    let sent = case.message.created_at;
    let is_possible = |delay: &Duration| {
        sent.0 > 0 && case.policy.longest_delay.is_none_or(|most| *delay <= most)
    };
    let on_its_way = Some(case.received_at.since(sent)).filter(is_possible).unwrap_or_default();
    let set_forward = Some(case.ahead).filter(|ahead| *ahead <= LONGEST_JUMP).unwrap_or_default();
    let age = (case.now.since(case.received_at) + on_its_way).saturating_sub(set_forward);
    if age <= case.policy.message_ttl {
        return Continue(log);
    }
    let minutes = age.as_secs() / 60;
    log.0.decision = Decision::Expired;
    let why = format!("it was {minutes} minutes old when its turn came");
    log.note("age", StepOutcome::Skip, why);
    log.change(&case.policy.message_ttl_setting, &(minutes + 1).to_string());
    Break(Judged::Expired(log.0))
}

/// A thread is in a list if the Room that it belongs to is.
fn is_here(id: &str, case: &Case<'_>) -> bool {
    id == case.room_remote || Some(id) == case.parent_remote
}

fn allowed_rooms(case: &Case<'_>, mut log: Log) -> ControlFlow<Judged, Log> {
    let policy = case.policy;
    match &policy.allowed_rooms {
        None => log.pass("allowed-rooms", "every room is allowed"),
        Some(allowed) if allowed.iter().any(|id| is_here(id, case)) => {
            log.pass("allowed-rooms", "this room is allowed");
        }
        Some(allowed) => {
            let mut with: Vec<&str> = allowed.iter().map(String::as_str).collect();
            with.push(case.room_remote);
            return Break(log.skip(
                "allowed-rooms",
                "this room is not among the allowed ones",
                Some((&policy.allowed_rooms_setting, &with.join(","))),
            ));
        }
    }
    Continue(log)
}

fn listen_rooms(case: &Case<'_>, log: Log) -> ControlFlow<Judged, Log> {
    let policy = case.policy;
    let (here, rest): (Vec<&str>, Vec<&str>) =
        policy.listen_rooms.iter().map(String::as_str).partition(|id| is_here(id, case));
    if here.is_empty() {
        return Continue(log);
    }
    Break(log.skip(
        "listen-rooms",
        "in this room the agent only listens",
        Some((&policy.listen_rooms_setting, &rest.join(","))),
    ))
}

fn target_users(case: &Case<'_>, log: Log) -> ControlFlow<Judged, Log> {
    let policy = case.policy;
    match &policy.only_users {
        Some(users) if !named(users, case.envelope) => {
            let with = format!("{users},{}", sender(case));
            Break(log.skip(
                "target-users",
                "the sender is not among the people to answer",
                Some((&policy.only_users_setting, &with)),
            ))
        }
        _ => Continue(log),
    }
}

fn bots(case: &Case<'_>, mut log: Log) -> ControlFlow<Judged, Log> {
    let policy = case.policy;
    if !case.envelope.from_bot {
        return Continue(log);
    }
    if !policy.allow_bots {
        return Break(log.skip(
            "bots",
            "a bot wrote it, and bots are not answered",
            Some((&policy.allow_bots_setting, "true")),
        ));
    }
    if case.hops >= policy.bot_hop_limit {
        let more = (case.hops + 1).to_string();
        return Break(log.skip(
            "bot-hops",
            format!("{} answers to bots in a row; a person has to speak first", case.hops),
            Some(("BOT_HOP_LIMIT", &more)),
        ));
    }
    log.pass("bots", "a bot wrote it, and bots are answered here");
    Continue(log)
}

/// A command, or the answer to a question of ours. In direct messages those who may write may
/// command.
fn command(case: &Case<'_>, mut log: Log) -> ControlFlow<Judged, Log> {
    let command = case
        .envelope
        .command
        .as_ref()
        .map(|command| command.name.as_str())
        .filter(|name| known::is_known(name) && *name != "ask")
        .filter(|name| *name != commands::MORE || case.more != More::Asked);
    if command.is_none() && answer(&case.message.content.text).is_none() {
        return Continue(log);
    }
    if case.room_kind.is_direct() {
        match direct(case, log) {
            Judged::Answer(verdict) => log = Log(verdict),
            refused => return Break(refused),
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
    Break(Judged::Command(log.0))
}

fn muted(case: &Case<'_>, mut log: Log) -> ControlFlow<Judged, Log> {
    if case.own_state == Some(ParticipantState::Muted) {
        let unmute = Some(("/unmute in that room", ""));
        return Break(log.skip("muted", "this room is muted", unmute));
    }
    log.pass("muted", "this room is not muted");
    Continue(log)
}

fn auto_reply(case: &Case<'_>, log: Log) -> ControlFlow<Judged, Log> {
    let policy = case.policy;
    if !policy.auto_reply {
        let source = case.message.content.source.as_deref().unwrap_or("PLATFORM");
        return Break(log.skip(
            "auto-reply",
            "answering is switched off for this platform",
            Some((&format!("{}_AUTO_REPLY", source.to_ascii_uppercase()), "true")),
        ));
    }
    if case.scripted && case.public && !policy.script_in_public {
        return Break(log.skip(
            "offline-script",
            "no model is configured, and the offline script does not speak in public",
            Some(("OFFLINE_RESPONDER_PUBLIC", "true")),
        ));
    }
    Continue(log)
}

/// In groups the rest of an answer needs no address: the person was answered there. In direct messages
/// the policy decides as for any message.
fn rest_of_an_answer(case: &Case<'_>, log: Log) -> ControlFlow<Judged, Log> {
    match case.more {
        More::Asked if !case.room_kind.is_direct() => {
            Break(log.answer("more", "it asks for the rest of a long answer"))
        }
        More::OfAnother => Break(log.skip("more", "this button is for the person who asked", None)),
        More::Gone => Break(log.skip("more", "there is no more to read of that answer", None)),
        More::Asked | More::NotAsked => Continue(log),
    }
}

fn pressed_or_asked(case: &Case<'_>, log: Log) -> ControlFlow<Judged, Log> {
    if case.envelope.pressed.is_some() {
        return Break(log.answer("button", "a button of the agent was pressed"));
    }
    if case.envelope.command.as_ref().is_some_and(|c| c.name == "ask") {
        return Break(log.answer("command", "/ask asks for an answer"));
    }
    Continue(log)
}

pub(crate) mod judge;
#[cfg(test)]
mod tests;
pub(crate) mod twin;
