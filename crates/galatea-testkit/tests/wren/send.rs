//! A line is written or it is not; the platform confirms neither.

use async_trait::async_trait;
use galatea_core::{
    Address, Delivery, Encoded, Error, ErrorKind, Outgoing, ReadBackContext, ReadBackResult,
    Receipt, Result, Retry, SendHandler, SendPermit, Sent,
};
use tokio::{io::AsyncWriteExt, net::tcp::OwnedWriteHalf, sync::Mutex};

use super::encode;

/// The way out of the connection; none while there is none.
#[derive(Default)]
pub(crate) struct Line(Mutex<Option<OwnedWriteHalf>>);

impl Line {
    /// From now on what is sent goes here.
    pub(crate) async fn take_up(&self, way_out: OwnedWriteHalf) {
        *self.0.lock().await = Some(way_out);
    }

    /// From now on nothing can be sent.
    pub(crate) async fn hang_up(&self) {
        *self.0.lock().await = None;
    }

    /// Writes a line as long as leave is given. Half a line would make nonsense of the next, so a
    /// failure ends the connection.
    pub(crate) async fn write(&self, line: &str, permit: &SendPermit) -> Result<()> {
        let mut open = self.0.lock().await;
        let Some(way_out) = open.as_mut() else { return Err(not_connected()) };
        if !permit.is_valid() {
            return Err(Error::new(ErrorKind::Conflict, "another process has this account")
                .with_sent(Sent::No));
        }
        let written = way_out.write_all(format!("{line}\n").as_bytes()).await;
        if written.is_err() {
            *open = None;
        }
        // The bytes may have left before the connection broke.
        written.map_err(|e| {
            Error::new(ErrorKind::Unavailable, "the connection broke")
                .with_sent(Sent::Maybe)
                .with("cause", e)
        })
    }
}

fn not_connected() -> Error {
    Error::new(ErrorKind::Unavailable, "not connected").with_sent(Sent::No).with_retry(Retry::Soon)
}

#[async_trait]
impl SendHandler for Line {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        encode::encode(outgoing)
    }

    async fn send_with(&self, delivery: &Delivery, permit: &SendPermit) -> Result<Receipt> {
        let room = delivery
            .address
            .remote
            .as_str()
            .strip_prefix("wren-")
            .ok_or_else(|| Error::invalid("not a room of this platform"))?;
        let text = delivery
            .body
            .0
            .as_str()
            .ok_or_else(|| Error::unexpected("a stored part cannot be read"))?;
        self.write(&format!("say {room} {text}"), permit).await?;
        // Sent, under no id: nothing can reply to it, and nothing can find it.
        Ok(Receipt::default())
    }

    async fn find(&self, _: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        Ok(ReadBackResult::Unknown)
    }

    async fn typing(&self, _: &Address) -> Result<()> {
        Ok(())
    }
}
