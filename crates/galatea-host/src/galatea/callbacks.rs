//! Callbacks of a message, in elizaOS's names.

use galatea_core::Error;

use super::answering::Answering;
use crate::platforms::{Answer, Piece};

/// A callback that may be called several times.
type Call<T> = Box<dyn FnMut(&T) + Send>;

/// Callbacks of a message. Each is optional; they are called one after another.
#[derive(Default)]
pub struct Callbacks {
    response: Option<Call<Answer>>,
    piece: Option<Call<Piece>>,
    error: Option<Call<Error>>,
    complete: Option<Box<dyn FnOnce() + Send>>,
}

impl Callbacks {
    /// No callbacks.
    pub fn new() -> Self {
        Self::default()
    }

    /// elizaOS `onResponse`: the whole answer.
    #[must_use]
    pub fn on_response(mut self, call: impl FnMut(&Answer) + Send + 'static) -> Self {
        self.response = Some(Box::new(call));
        self
    }

    /// elizaOS `onStreamChunk`: each piece of the answer, the last one too.
    #[must_use]
    pub fn on_piece(mut self, call: impl FnMut(&Piece) + Send + 'static) -> Self {
        self.piece = Some(Box::new(call));
        self
    }

    /// elizaOS `onError`: why there is no answer.
    #[must_use]
    pub fn on_error(mut self, call: impl FnMut(&Error) + Send + 'static) -> Self {
        self.error = Some(Box::new(call));
        self
    }

    /// elizaOS `onComplete`: nothing follows, whether there was an answer or not.
    #[must_use]
    pub fn on_complete(mut self, call: impl FnOnce() + Send + 'static) -> Self {
        self.complete = Some(Box::new(call));
        self
    }

    /// Calls back until the answer has ended.
    pub(super) fn follow(mut self, mut answering: Answering) -> tokio::task::JoinHandle<()> {
        tokio::spawn(async move {
            while let Some(piece) = answering.next().await {
                match piece {
                    Ok(piece) => self.tell(&piece),
                    Err(error) => self.error.iter_mut().for_each(|call| call(&error)),
                }
            }
            if let Some(call) = self.complete {
                call();
            }
        })
    }

    fn tell(&mut self, piece: &Piece) {
        self.piece.iter_mut().for_each(|call| call(piece));
        if let Piece::End(answer) = piece {
            self.response.iter_mut().for_each(|call| call(answer));
        }
    }
}
