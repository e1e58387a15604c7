//! Sends one message to the agent and receives everything it answers.

use galatea_core::{Error, ErrorKind, MemoryId, Result, TurnId};
use galatea_terminal::{Heard, TerminalClient, frame::Message};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Longest wait for an answer: the default deadline of a turn (TURN_TIMEOUT_SECONDS = 120).
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Wait for further messages of a turn after the first. They are committed together, so they follow
/// closely.
const QUIET: Duration = Duration::from_millis(250);

/// Events while waiting for an answer.
pub(crate) enum Progress<'a> {
    /// An answer is being prepared.
    Typing,
    /// A message arrived: this answer, or a late one to an earlier message.
    Message(&'a Message),
}

/// Sends `text` and passes events to `on` until the answer is complete. `lookup` is polled for the
/// reason why there is no answer.
///
/// # Errors
/// `Timeout` (`GAL-CHAT-TIMEOUT`), `Unavailable` if the connection closed, an error the agent's
/// process reported, or the reason found by `lookup`.
pub(crate) async fn ask(
    client: &mut TerminalClient,
    text: &str,
    lookup: &impl FailureLookup,
    on: &mut impl FnMut(Progress<'_>),
) -> Result<MemoryId> {
    let deadline = Instant::now() + PATIENCE;
    let id = client.say(text).await?;
    let mut stored = None;
    // An answer may arrive before the confirmation of the message it answers.
    let mut complete: Vec<(MemoryId, TurnId)> = Vec::new();
    loop {
        if let Some(memory) = stored
            && let Some((_, turn)) = complete.iter().find(|(answered, _)| *answered == memory)
        {
            finish(client, *turn, on).await?;
            return Ok(memory);
        }
        let heard = tokio::select! {
            heard = timeout_at(deadline, client.next()) => heard.map_err(|_| timed_out(stored))??,
            reason = lookup.reason(stored), if stored.is_some() => return Err(reason),
        };
        match heard.ok_or_else(gone)? {
            Heard::Received { id: which, memory } if which == id => {
                stored = Some(memory);
            }
            Heard::Received { .. } => {}
            Heard::Typing => on(Progress::Typing),
            Heard::Message(message) => {
                on(Progress::Message(&message));
                client.confirm(&message).await?;
                if let Some(answered) = message.part.in_reply_to.filter(|_| message.part.last) {
                    complete.push((answered, message.turn));
                }
            }
            Heard::Refused { code, message, fix, id: Some(which) } if which == id => {
                return Err(refused(&code, message, fix));
            }
            Heard::Refused { code, message, .. } => tracing::debug!(code, "{message}"),
        }
    }
}

async fn finish(
    client: &mut TerminalClient,
    turn: TurnId,
    on: &mut impl FnMut(Progress<'_>),
) -> Result<()> {
    while let Ok(heard) = timeout_at(Instant::now() + QUIET, client.next()).await {
        match heard? {
            Some(Heard::Message(message)) => {
                on(Progress::Message(&message));
                client.confirm(&message).await?;
                if message.turn != turn {
                    return Ok(());
                }
            }
            Some(_) => {}
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Finds out why a message gets no answer.
pub(crate) trait FailureLookup {
    /// The error behind a failure notice. `None` if the agent gave a real answer.
    fn failure(&self, memory: MemoryId) -> impl Future<Output = Option<Error>> + Send;

    /// Resolves with the reason once it is certain that no answer will come. Otherwise stays
    /// pending.
    fn reason(&self, memory: Option<MemoryId>) -> impl Future<Output = Error> + Send;
}

fn timed_out(memory: Option<MemoryId>) -> Error {
    let error =
        Error::new(ErrorKind::Timeout, format!("no answer within {} s", PATIENCE.as_secs()))
            .with_code("GAL-CHAT-TIMEOUT");
    match memory {
        Some(memory) => error.with_fix(format!("galatea explain {memory}")),
        None => error.with_fix(
            "look at the log of the running galatea; `galatea status` shows what is wrong with it",
        ),
    }
}

pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "the running galatea closed the conversation")
        .with_code("GAL-CHAT-CLOSED")
        .with_fix("start it again; the conversation goes on where it was")
}

fn refused(code: &str, message: String, fix: Option<String>) -> Error {
    let error = Error::invalid(message).with_code("GAL-CHAT-REFUSED").with("cause", code);
    match fix {
        Some(fix) => error.with_fix(fix),
        None => error,
    }
}
