//! An answer as it comes.

use futures::Stream;
use galatea_core::{AgentId, Result};
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tokio::sync::mpsc;

use super::running::Galatea;
use crate::platforms::{Asked, Message, Piece};

/// An answer as it comes, piece by piece. Dropping it does not end the turn: the answer is stored all
/// the same.
#[derive(Debug)]
pub struct Answering(mpsc::UnboundedReceiver<Result<Piece>>);

impl Answering {
    pub(super) fn begin(galatea: Galatea, agent: AgentId, message: Message) -> Self {
        // The number of pieces of one answer is bounded by the turn.
        let (to, from) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let asked = Asked { drafts: true, ..galatea.asked() };
            let slot = match galatea.slot(agent) {
                Ok(slot) => slot,
                Err(error) => {
                    let _ = to.send(Err(error));
                    return;
                }
            };
            let mut tell = |piece| {
                let _ = to.send(Ok(piece));
            };
            let end = slot.direct.ask(&message, &asked, &mut tell).await.map(Piece::End);
            let _ = to.send(end);
        });
        Self(from)
    }

    /// The next piece; none after [`Piece::End`] or a failure. Waits for it.
    pub async fn next(&mut self) -> Option<Result<Piece>> {
        self.0.recv().await
    }
}

impl Stream for Answering {
    type Item = Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
