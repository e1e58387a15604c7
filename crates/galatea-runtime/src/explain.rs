//! Explains why a message was or was not answered, and whether its answer was delivered.

mod own;
mod story;

use galatea_core::{
    Result, StepOutcome, Store,
    store::{InboxItem, InboxState, OutboxItem, OutboxState},
};

pub use self::story::{ExplainQuery, ExplainedDelivery, Explanation, Lane};
use self::{own::Own, story::explained};

/// Messages of a room counted at most.
const COUNTED: u32 = 1_000;

/// Explains a message; several when more than one agent has it, none when it never arrived. For
/// words of the agent it explains the message that they answer.
///
/// # Errors
/// Whatever the store says.
pub async fn explain(store: &dyn Store, query: &ExplainQuery) -> Result<Vec<Explanation>> {
    let mut items: Vec<InboxItem> = match query {
        ExplainQuery::Memory(id) => store.inbox_item(*id).await?.into_iter().collect(),
        ExplainQuery::Remote { source, room, message } => {
            store.inbox_by_remote(source, room.as_ref(), message).await?
        }
    };
    // A platform may hand over the agent's own words like those of others.
    if items.iter().all(|item| item.entry.envelope.from_self) {
        match own::found(store, query).await? {
            Own::Answer(asked) => {
                let mut all = Vec::with_capacity(asked.len());
                for item in asked {
                    let told = told(store, item).await?;
                    let summary = format!("{}: {}", own::ANSWER, told.summary);
                    all.push(Explanation { summary, ..told });
                }
                return Ok(all);
            }
            Own::Unasked(explanation) => return Ok(vec![*explanation]),
            Own::None => {}
        }
    }
    let mut all = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        all.push(told(store, item).await?);
    }
    Ok(all)
}

/// The story of one received message.
async fn told(store: &dyn Store, item: InboxItem) -> Result<Explanation> {
    let deliveries = match item.turn {
        Some(turn) => store.deliveries_of(turn).await?,
        None => Vec::new(),
    };
    let lane = match item.state {
        InboxState::New => {
            let waiting = store.unfinished_in_room(item.entry.memory.room_id, COUNTED).await?;
            let ahead = waiting
                .iter()
                .position(|other| other.entry.memory.id == item.entry.memory.id)
                .unwrap_or(waiting.len());
            Some(Lane { ahead, begun: item.attempts })
        }
        _ => None,
    };
    Ok(Explanation { lane, ..explanation(item, deliveries) })
}

fn explanation(item: InboxItem, deliveries: Vec<OutboxItem>) -> Explanation {
    let verdict = item.verdict.unwrap_or_default();
    let reason = verdict
        .steps
        .iter()
        .rev()
        .find(|s| s.outcome != StepOutcome::Note)
        .map(|s| s.reason.clone())
        .unwrap_or_default();
    let count =
        |states: &[OutboxState]| deliveries.iter().filter(|d| states.contains(&d.state)).count();
    let (sent, waiting) =
        (count(&[OutboxState::Sent]), count(&[OutboxState::Pending, OutboxState::Sending]));
    let summary = match item.state {
        InboxState::New => "not finished yet".to_owned(),
        InboxState::Done if sent == deliveries.len() => format!("answered: {reason}"),
        InboxState::Done if sent + waiting == deliveries.len() => {
            format!("answered; {waiting} of {} parts wait to be sent: {reason}", deliveries.len())
        }
        InboxState::Done => {
            let lost = deliveries.len() - sent - waiting;
            let rest =
                if waiting > 0 { format!(" and {waiting} wait to be sent") } else { String::new() };
            format!(
                "answered, but {lost} of {} parts are not delivered{rest}: {reason}",
                deliveries.len()
            )
        }
        InboxState::Skipped => format!("not answered: {reason}"),
        InboxState::Expired => format!("not answered, too late: {reason}"),
        InboxState::Dead => format!("given up: {reason}"),
    };
    Explanation {
        memory: item.entry.memory.id,
        remote: item.entry.remote,
        room: item.entry.room_remote,
        source: item.entry.source,
        state: item.state,
        summary,
        received_at: item.received_at,
        finished_at: item.finished_at,
        steps: verdict.steps,
        change: verdict.change,
        lane: None,
        deliveries: deliveries.into_iter().map(explained).collect(),
    }
}
