//! The agent's own words: which message they answer.

use galatea_core::{
    MemoryKind, Result, Store,
    store::{InboxItem, InboxState, OutboxItem},
};

use super::story::{ExplainQuery, Explanation, explained};

/// Begins the summary of a message whose answer was asked about.
pub(super) const ANSWER: &str = "the agent's own words, in answer to this message";

/// Story of words of the agent.
pub(super) enum Own {
    /// The messages that they answer.
    Answer(Vec<InboxItem>),
    /// No message was answered: a plugin or a schedule had the agent say it.
    Unasked(Box<Explanation>),
    /// The agent did not say it.
    None,
}

/// Looks for words of the agent.
///
/// # Errors
/// Those of the store.
pub(super) async fn found(store: &dyn Store, query: &ExplainQuery) -> Result<Own> {
    let sent = match query {
        ExplainQuery::Memory(id) => {
            let memory =
                store.memory(*id).await?.filter(|memory| memory.kind == MemoryKind::Messages);
            let asked = match memory.and_then(|memory| memory.content.in_reply_to) {
                Some(asked) => store.inbox_item(asked).await?,
                None => None,
            };
            return Ok(asked.map_or(Own::None, |item| Own::Answer(vec![item])));
        }
        ExplainQuery::Remote { source, room, message } => {
            store.sent_as(source, room.as_ref(), message).await?
        }
    };
    let Some(newest) = sent.into_iter().next() else { return Ok(Own::None) };
    let turn = newest.delivery.turn;
    let asked = store.inbox_of_turn(turn).await?;
    if !asked.is_empty() {
        return Ok(Own::Answer(asked));
    }
    let deliveries = store.deliveries_of(turn).await?;
    Ok(unasked(newest, deliveries).map_or(Own::None, |told| Own::Unasked(Box::new(told))))
}

fn unasked(newest: OutboxItem, deliveries: Vec<OutboxItem>) -> Option<Explanation> {
    let address = newest.delivery.address;
    Some(Explanation {
        memory: newest.memory?,
        remote: newest.remote?,
        room: address.remote,
        source: address.source,
        state: InboxState::Done,
        summary: "the agent's own words, and no message asked for them: a plugin, a schedule or a turn in another room did".to_owned(),
        received_at: newest.delivery.created_at,
        finished_at: None,
        steps: Vec::new(),
        change: None,
        lane: None,
        deliveries: deliveries.into_iter().map(explained).collect(),
    })
}
