//! The calls of the platform, and one attempt per part.

use async_trait::async_trait;
use galatea_core::{
    Address, Delivery, Encoded, Error, Outgoing, ReadBackContext, ReadBackResult, Receipt,
    RemoteId, Result, SecretString, SendHandler, Sent,
};
use galatea_http::{HttpClient, Request, Response};
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

use crate::{
    decode::{number, remote},
    encode::{self, Part},
    error::explain,
};

/// How long the server holds a poll open when nothing happens.
const HOLD: Duration = Duration::from_secs(25);
/// How long a call may take beyond that.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pages of history a read-back looks at, 100 messages each.
const PAGES: usize = 5;
/// Messages of a full page of history.
const PAGE: usize = 100;

/// The platform's calls for one account.
pub(crate) struct Api {
    pub(crate) http: HttpClient,
    pub(crate) root: String,
    pub(crate) token: SecretString,
    /// The account's own number.
    pub(crate) me: u64,
}

/// `GET /me`.
#[derive(Deserialize)]
struct Account {
    name: String,
}

/// A message as `POST` answers it.
#[derive(Deserialize)]
struct Posted {
    id: u64,
}

/// A message of the history.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Past {
    id: u64,
    from: u64,
    text: String,
}

impl Api {
    /// The account's name; proves that the token is accepted.
    pub(crate) async fn who(&self) -> Result<String> {
        let account: Account = self.call(self.http.get(&self.url("/me"))).await?.json().await?;
        Ok(account.name)
    }

    /// Events after number `after`, a JSON document per line. Asking for them tells the server that
    /// those before are stored.
    pub(crate) async fn events(&self, after: u64) -> Result<String> {
        let request = self
            .http
            .get(&self.url("/events"))
            .query(&[("after", &after.to_string()), ("wait", &HOLD.as_secs().to_string())]);
        self.call(request.total_timeout(HOLD + PATIENCE)).await?.text().await
    }

    async fn post(&self, room: u64, part: &Part) -> Result<u64> {
        let answer = self
            .call(self.http.post(&self.url(&format!("/rooms/{room}/messages"))).json(part))
            .await?;
        // The server has said yes: whatever is wrong with the rest of its answer, the message may
        // be there.
        let posted: Posted = answer.json().await.map_err(|error| error.with_sent(Sent::Maybe))?;
        Ok(posted.id)
    }

    /// Messages of a room after number `after`, oldest first.
    async fn history(&self, room: u64, after: u64) -> Result<Vec<Past>> {
        let request = self
            .http
            .get(&self.url(&format!("/rooms/{room}/messages")))
            .query(&[("after", &after.to_string())]);
        self.call(request).await?.json().await
    }

    async fn typing(&self, room: u64) -> Result<()> {
        self.call(self.http.post(&self.url(&format!("/rooms/{room}/typing")))).await.map(drop)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    async fn call(&self, request: Request) -> Result<Response> {
        request.bearer(&self.token).send().await.and_then(Response::ok).map_err(explain)
    }
}

/// The outbound side.
pub(crate) struct Sender(pub(crate) Arc<Api>);

#[async_trait]
impl SendHandler for Sender {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        encode::encode(outgoing)
    }

    /// One call. Trying again is the outbox's business: it alone knows what is already stored, sent
    /// or too old.
    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        let id = self.0.post(number(&delivery.address.remote)?, &part_of(delivery)?).await?;
        Ok(Receipt { id: Some(remote(id)), moved_to: None })
    }

    /// Looks for a lost message among those that are newer than everything known before it.
    async fn find(&self, delivery: &Delivery, context: &ReadBackContext) -> Result<ReadBackResult> {
        let (room, part) = (number(&delivery.address.remote)?, part_of(delivery)?);
        let mut after = newest(context);
        for _ in 0..PAGES {
            let page = self.0.history(room, after).await?;
            if let Some(id) = pick(&page, &part.text, self.0.me, &context.ours) {
                return Ok(ReadBackResult::Sent(Receipt { id: Some(remote(id)), moved_to: None }));
            }
            match page.last() {
                Some(last) if page.len() >= PAGE => after = last.id,
                _ => return Ok(ReadBackResult::NotSent),
            }
        }
        // The room has moved on too far to look at all of it, and "not sent" would be a guess.
        Ok(ReadBackResult::Unknown)
    }

    async fn typing(&self, address: &Address) -> Result<()> {
        self.0.typing(number(&address.remote)?).await
    }
}

fn part_of(delivery: &Delivery) -> Result<Part> {
    serde_json::from_value(delivery.body.0.clone())
        .map_err(|e| Error::unexpected("a stored part cannot be read").with("cause", e))
}

/// The newest message known from before the delivery: the platform numbers messages in the order
/// they come.
fn newest(context: &ReadBackContext) -> u64 {
    context.received.iter().chain(&context.sent).filter_map(|id| number(id).ok()).max().unwrap_or(0)
}

/// The oldest message of ours with this text that is not known to be another one.
fn pick(page: &[Past], text: &str, me: u64, known: &[RemoteId]) -> Option<u64> {
    page.iter()
        .find(|past| past.from == me && past.text == text && !known.contains(&remote(past.id)))
        .map(|past| past.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_message_is_distinguished_from_others_of_the_same_words() {
        let past = |id, from| Past { id, from, text: "hi".into() };
        let page = [past(11, 9), past(12, 7), past(13, 7)];
        assert_eq!(pick(&page, "hi", 7, &[]), Some(12));
        assert_eq!(pick(&page, "hi", 7, &[remote(12)]), Some(13));
        assert_eq!(pick(&page, "hi", 7, &[remote(12), remote(13)]), None);
        assert_eq!(pick(&page, "hello", 7, &[]), None);
    }

    #[test]
    fn the_look_begins_behind_what_is_known() {
        let context = ReadBackContext {
            received: vec![remote(4)],
            sent: vec![remote(6)],
            ..ReadBackContext::default()
        };
        assert_eq!((newest(&context), newest(&ReadBackContext::default())), (6, 0));
    }
}
