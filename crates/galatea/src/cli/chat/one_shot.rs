//! Sends messages from arguments or standard input, and prints the answers to stdout.

use galatea_core::Result;
use galatea_terminal::{TerminalClient, frame::Message};
use serde_json::json;
use std::io::BufRead;
use tokio::sync::mpsc;

use super::{
    exchange::{self, FailureLookup, Progress},
    transcript::{format_message, speaker},
};
use crate::report::output::Output;

/// Sends one message and prints the answer.
///
/// # Errors
/// As [`exchange::ask`], and `Unavailable` (`GAL-CHAT-FAILED`) after a failure notice in place of
/// an answer.
pub(crate) async fn say(
    client: &mut TerminalClient,
    text: &str,
    lookup: &impl FailureLookup,
    as_json: bool,
    output: &Output,
) -> Result<()> {
    let agent = client.agent().to_owned();
    let mut answers = Vec::new();
    let mut on = |progress: Progress<'_>| {
        let Progress::Message(message) = progress else { return };
        if as_json {
            answers.push(answer(message));
        } else {
            output.data(format_message(
                &speaker(&agent, message.part.label.as_deref()),
                0,
                &message.part.text,
            ));
        }
    };
    let memory = exchange::ask(client, text, lookup, &mut on).await?;
    if as_json {
        output.json("galatea.chat/1", json!({ "agent": client.agent(), "agentId": client.agent_id(), "memory": memory, "answers": answers }));
    }
    lookup.failure(memory).await.map_or(Ok(()), Err)
}

/// Sends every line of standard input, one after the other.
///
/// # Errors
/// As [`exchange::ask`].
pub(crate) async fn say_lines(
    client: &mut TerminalClient,
    lookup: &impl FailureLookup,
    as_json: bool,
    output: &Output,
) -> Result<()> {
    // Reading blocks, so it has its own thread. The bounded channel makes it wait for the answers.
    let (put, mut lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(std::result::Result::ok) {
            if put.blocking_send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = lines.recv().await {
        if !line.trim().is_empty() {
            say(client, &line, lookup, as_json, output).await?;
        }
    }
    Ok(())
}

fn answer(message: &Message) -> serde_json::Value {
    let part = &message.part;
    json!({ "text": part.text, "label": part.label, "turn": message.turn, "inReplyTo": part.in_reply_to })
}
