//! Two accounts of one agent hear a group. A question that is for neither in particular is answered by
//! one of them: by the account that goes first, unless it has not heard the question in time.
//!
//! Both decide by what is stored of both copies, so they agree in any process and after a restart.

use galatea_core::{
    EntityId, MemoryKind, Result, StepOutcome, Timestamp,
    store::{InboxItem, InboxState, MemoryQuery},
};
use std::time::Duration;

use crate::turn::{context::TurnPlace, engine::Engine, gate::Judged, message::Waiting};

/// Time by which the first account may store its copy later than the other. Platforms send an event
/// to all connections within a second.
const TOGETHER: Duration = Duration::from_secs(2);
/// Time after which a copy that was stored in time may become visible: a commit is under way.
const COMMIT: Duration = Duration::from_millis(500);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Copies of one second that are looked at: dates of Telegram have seconds.
const COPIES: u32 = 20;

/// Treatment of its copy of a message by another account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Theirs {
    /// It answers it, or has.
    Answers,
    /// It leaves it to us.
    Leaves,
    /// Not known yet.
    Open,
}

/// Leaves an unaddressed question of a group to another account of the agent, where that answers it.
///
/// # Errors
/// Those of the store.
pub(crate) async fn leave_to_other(
    engine: &Engine,
    place: &TurnPlace,
    first: &Waiting,
    judged: Judged,
) -> Result<Judged> {
    let (Judged::Answer(verdict) | Judged::Ask(verdict)) = &judged else { return Ok(judged) };
    let (entry, room) = (&first.entry, &place.info.room);
    let for_nobody = entry.envelope.addressed.is_unaddressed() && entry.envelope.pressed.is_none();
    if room.kind.is_direct() || !for_nobody || verdict.steps.iter().any(|step| step.rule == "more")
    {
        return Ok(judged);
    }
    let others = engine.directory.accounts.others(&room.source, &room.account);
    if others.is_empty() {
        return Ok(judged);
    }
    // Both copies by the store's time: the other account reads it there, too.
    let stored = engine.store.inbox_item(entry.memory.id).await?;
    let received = stored.map_or(first.received_at, |item| item.received_at);
    for (other, goes_first) in others {
        let there = engine.directory.accounts.room(&room.source, &other, &room.remote);
        if engine.store.room(there).await?.is_none() {
            continue;
        }
        let until = received.plus(TOGETHER + COMMIT);
        let theirs = loop {
            let copy = copy(engine, first, there).await?;
            let theirs = theirs(copy.as_ref(), received, goes_first);
            if theirs != Theirs::Open {
                break theirs;
            }
            if engine.clock.now() >= until {
                // A copy that waits is answered by its account; without one, nobody else will.
                break if copy.is_some() { Theirs::Answers } else { Theirs::Leaves };
            }
            engine.clock.sleep(PAUSE).await;
        };
        if theirs == Theirs::Answers {
            let mut verdict = verdict.clone();
            verdict.decision = galatea_core::Decision::Skip;
            let why = format!("the agent's other account {other} answers it");
            verdict.step("accounts", StepOutcome::Skip, why);
            return Ok(Judged::Skip(verdict));
        }
    }
    Ok(judged)
}

/// By the stored copies of both: ours came at `ours`.
fn theirs(copy: Option<&InboxItem>, ours: Timestamp, goes_first: bool) -> Theirs {
    let Some(copy) = copy else {
        // We answer; the first account, which may come late, finds that we do.
        return if goes_first { Theirs::Open } else { Theirs::Leaves };
    };
    if goes_first {
        let in_time = copy.received_at <= ours.plus(TOGETHER);
        return match copy.state {
            _ if !in_time => Theirs::Leaves,
            InboxState::New => Theirs::Open,
            InboxState::Done => Theirs::Answers,
            InboxState::Skipped | InboxState::Expired | InboxState::Dead => Theirs::Leaves,
        };
    }
    let late = ours > copy.received_at.plus(TOGETHER);
    if late && matches!(copy.state, InboxState::New | InboxState::Done) {
        Theirs::Answers
    } else {
        Theirs::Leaves
    }
}

/// The other account's copy of a message: of the same person, time and words. Their ids differ where a
/// platform counts messages per account.
async fn copy(
    engine: &Engine,
    first: &Waiting,
    there: galatea_core::RoomId,
) -> Result<Option<InboxItem>> {
    let memory = &first.entry.memory;
    let entity: EntityId = memory.entity_id;
    let query = MemoryQuery {
        entity: Some(entity),
        since: Some(memory.created_at),
        before: Some(Timestamp(memory.created_at.0.saturating_add(1))),
        ..MemoryQuery::new(memory.agent_id, COPIES).room(there).kind(MemoryKind::Messages)
    };
    let copies = engine.store.memories(&query).await?;
    let Some(copy) = copies.iter().find(|copy| copy.content.text == memory.content.text) else {
        return Ok(None);
    };
    engine.store.inbox_item(copy.id).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every order of arrival and state, exactly one of both answers.
    #[test]
    fn both_agree_on_who_answers() {
        let item = |at: i64, state: InboxState| {
            let mut item: InboxItem = serde_json::from_value(serde_json::json!({
                "memory": galatea_core::Memory {
                    id: uuid::Uuid::nil().into(), kind: MemoryKind::Messages, agent_id: uuid::Uuid::nil().into(),
                    entity_id: uuid::Uuid::nil().into(), room_id: uuid::Uuid::nil().into(), world_id: None,
                    content: galatea_core::Content::default(), metadata: serde_json::Map::new(), created_at: Timestamp(0),
                },
                "legacyId": null, "source": "stage", "account": "1", "roomRemote": "5", "remote": "7",
                "envelope": galatea_core::store::Envelope::default(), "state": state, "attempts": 0, "turn": null,
                "verdict": null, "receivedAt": at, "finishedAt": null,
            }))
            .unwrap();
            item.state = state;
            item
        };
        for first_at in [0, 1_000, 2_000, 2_001, 60_000] {
            for second_at in [0, 1, 1_000, 2_001, 60_000] {
                // Neither is done: what each does about the other's waiting copy.
                let second_leaves =
                    theirs(Some(&item(first_at, InboxState::New)), Timestamp(second_at), true);
                let first_leaves =
                    theirs(Some(&item(second_at, InboxState::New)), Timestamp(first_at), false);
                let first_answers = first_leaves == Theirs::Leaves;
                // Open and a copy that stays means that the first account answers.
                let second_answers = second_leaves == Theirs::Leaves;
                assert_ne!(first_answers, second_answers, "{first_at} {second_at}");
                // After a restart, one of them done.
                let done = |at| item(at, InboxState::Done);
                if first_answers {
                    assert_eq!(
                        theirs(Some(&done(first_at)), Timestamp(second_at), true),
                        Theirs::Answers
                    );
                } else {
                    assert_eq!(
                        theirs(Some(&done(second_at)), Timestamp(first_at), false),
                        Theirs::Answers
                    );
                }
            }
        }
        assert_eq!(theirs(Some(&item(0, InboxState::Skipped)), Timestamp(0), true), Theirs::Leaves);
        assert_eq!(
            (theirs(None, Timestamp(0), true), theirs(None, Timestamp(0), false)),
            (Theirs::Open, Theirs::Leaves)
        );
    }
}
