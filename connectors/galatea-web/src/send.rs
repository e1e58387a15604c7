//! The outbound side. The commit delivers an answer; an attempt to send is made only for a part that was
//! committed while this process did not know the account yet.

use async_trait::async_trait;
use galatea_core::{
    Address, Delivery, Encoded, Error, Media, Outgoing, ReadBackContext, ReadBackResult, Receipt,
    RemoteId, Result, SendHandler,
};
use galatea_http::read_attachment;
use std::path::Path;

use crate::encode;

pub(crate) struct Sender;

#[async_trait]
impl SendHandler for Sender {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        encode::encode(outgoing)
    }

    fn delivers_by_commit(&self) -> bool {
        true
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        Ok(Receipt { id: Some(RemoteId::new(&delivery.key)), moved_to: None })
    }

    async fn find(&self, delivery: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        // Its readers see the row already.
        let id = Some(RemoteId::new(&delivery.key));
        Ok(ReadBackResult::Sent(Receipt { id, moved_to: None }))
    }

    async fn typing(&self, _: &Address) -> Result<()> {
        Ok(())
    }

    async fn fetch(&self, media: &Media, limit: usize) -> Result<Vec<u8>> {
        // The server follows no link on behalf of its author.
        if !media.url.starts_with("data:") {
            return Err(Error::invalid("links of messages are not opened"));
        }
        read_attachment(&media.url, Path::new(""), limit).await.map(Vec::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Account, AgentId, DeliveryId, RoomId, Timestamp, TurnId};
    use serde_json::json;

    #[tokio::test]
    async fn a_file_is_read_from_its_address_and_a_link_is_not_opened() {
        let file = |url: &str| Media { url: url.into(), ..Media::default() };
        let read = async |url| Sender.fetch(&file(url), 10).await;
        assert_eq!(read("data:text/plain;base64,aGVsbG8=").await.unwrap(), b"hello");
        assert!(read("data:,longer than ten").await.is_err());
        assert!(read("https://example.org/a.txt").await.is_err());
        assert!(read("file:///etc/hostname").await.is_err());
    }

    #[tokio::test]
    async fn a_part_that_waited_is_delivered_under_its_key() {
        let delivery = Delivery {
            id: DeliveryId::fresh(),
            agent: AgentId::fresh(),
            turn: TurnId::fresh(),
            part: 0,
            address: Address {
                source: crate::SOURCE,
                account: Account(crate::ACCOUNT.into()),
                room: RoomId::fresh(),
                remote: RemoteId::new("web-room/a"),
            },
            key: "key-1".into(),
            body: Encoded(json!({"text": "Hello."})),
            attempt: 1,
            created_at: Timestamp(1),
            previous: None,
        };
        let receipt = Receipt { id: Some(RemoteId::new("key-1")), moved_to: None };
        assert_eq!(Sender.send(&delivery).await.unwrap(), receipt);
        let found = Sender.find(&delivery, &ReadBackContext::default()).await.unwrap();
        assert_eq!(found, ReadBackResult::Sent(receipt));
    }
}
