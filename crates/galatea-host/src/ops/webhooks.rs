//! Webhooks: events are sent to addresses outside, signed, in their order, at least once each. The queue
//! is that of the live events, which is bounded: who is away for too long is told with the event `missed`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use galatea_core::{
    AgentId, Clock, Error, ErrorKind, ExposeSecret as _, Result, SecretString, Store, Timestamp,
    store::{LiveEvent, OperatorRole, Webhook},
};
use galatea_http::HttpClient;
use hmac::{Hmac, Mac as _};
use rand::RngExt as _;
use serde_json::{Value, json};
use sha2::Sha256;
use std::{sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};
use url::Url;
use uuid::Uuid;

use super::{Operator, Ops};
use crate::storage::seal::Seal;

/// Pause between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a process has a webhook for an attempt, in milliseconds: longer than an answer is waited for.
const LEASE: i64 = 60_000;
/// Events of a request.
const AT_ONCE: u32 = 100;
/// First pause after a failure, and the longest, in milliseconds.
const PAUSES: (i64, i64) = (5_000, 3_600_000);
/// Most webhooks.
const MOST: usize = 32;
/// Beginning of a secret (Standard Webhooks).
const PREFIX: &str = "whsec_";

/// A webhook to add.
#[derive(Debug, Clone)]
pub struct NewWebhook {
    /// The address.
    pub url: String,
    /// Only events of these kinds; all if empty.
    pub kinds: Vec<String>,
    /// Only events of this agent.
    pub agent: Option<AgentId>,
}

/// Name of the row that a secret is sealed for.
fn row(id: Uuid) -> String {
    format!("webhook:{id}")
}

impl Ops {
    /// Every webhook; its secret is sealed.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner.
    pub async fn webhooks(&self, by: &Operator) -> Result<Vec<Webhook>> {
        by.need(OperatorRole::Owner)?;
        self.store.webhooks().await
    }

    /// Adds a webhook, to which events from now on are sent. Its secret is handed out once.
    ///
    /// # Errors
    /// `Invalid` for an address that cannot be, `Forbidden` (`GAL-HTTP-SSRF`) for one of this machine or
    /// an internal network, `Conflict` for too many.
    pub async fn add_webhook(
        &self,
        by: &Operator,
        new: NewWebhook,
    ) -> Result<(Webhook, SecretString)> {
        by.need(OperatorRole::Owner)?;
        let installation = self.installation()?;
        let url = Url::parse(&new.url).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.username().is_empty()
                && url.password().is_none()
        });
        let url = url.ok_or_else(|| Error::invalid("this is not an http or https address"))?;
        if installation.surroundings.http.refuses(&url) {
            return Err(Error::new(
                ErrorKind::Forbidden,
                "the address is one of an internal network",
            )
            .with_code("GAL-HTTP-SSRF"));
        }
        if self.store.webhooks().await?.len() >= MOST {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("there are {MOST} webhooks already"),
            ));
        }
        let key: [u8; 32] = rand::rng().random();
        let secret = format!("{PREFIX}{}", STANDARD.encode(key));
        let (id, now) = (Uuid::now_v7(), self.clock.now());
        let webhook = Webhook {
            id,
            url: url.to_string(),
            secret: self.seal(installation)?.seal(&row(id), &secret)?,
            kinds: new.kinds,
            agent: new.agent,
            seq: self.store.live_bounds().await?.map_or(0, |(_, newest)| newest),
            next_at: now,
            failures: 0,
            last_error: None,
            created_at: now,
            by: by.name.clone(),
        };
        self.store.add_webhook(&webhook).await?;
        let after = json!({ "url": webhook.url, "kinds": webhook.kinds, "agent": webhook.agent });
        self.record(by, "webhook.add", id, None, Some(after)).await?;
        Ok((webhook, secret.into()))
    }

    /// Removes a webhook.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn remove_webhook(&self, by: &Operator, id: Uuid) -> Result<()> {
        by.need(OperatorRole::Owner)?;
        if !self.store.remove_webhook(id).await? {
            return Err(Error::not_found("there is no such webhook"));
        }
        self.record(by, "webhook.remove", id, None, None).await
    }

    /// Sends events to all webhooks, until it is dropped.
    pub async fn send_webhooks(&self) {
        loop {
            sleep(LOOK).await;
            if let Err(error) = self.look_at_webhooks().await {
                tracing::debug!(error = %error.report(), "webhooks could not be looked at; trying again");
            }
        }
    }

    async fn look_at_webhooks(&self) -> Result<()> {
        let webhooks = self.store.webhooks().await?;
        if webhooks.is_empty() {
            return Ok(());
        }
        let installation = self.installation()?;
        let sender = Sender {
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            http: installation.surroundings.http.clone(),
            seal: self.seal(installation)?,
        };
        sender.look(webhooks).await
    }
}

/// Sends events.
struct Sender {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    http: HttpClient,
    seal: Seal,
}

impl Sender {
    /// Makes an attempt with each webhook that is due and for which there are events.
    async fn look(&self, webhooks: Vec<Webhook>) -> Result<()> {
        let newest = self.store.live_bounds().await?.map_or(0, |(_, newest)| newest);
        let due = webhooks.into_iter().filter(|one| one.seq < newest);
        let sends = due.map(|webhook| self.attend(webhook));
        futures::future::join_all(sends).await.into_iter().collect()
    }

    async fn attend(&self, mut webhook: Webhook) -> Result<()> {
        let now = self.clock.now();
        let until = Timestamp(now.0.saturating_add(LEASE));
        if webhook.next_at > now || !self.store.claim_webhook(webhook.id, now, until).await? {
            return Ok(());
        }
        let oldest = self.store.live_bounds().await?.map_or(0, |(oldest, _)| oldest);
        let read = self.store.live_after(webhook.seq, AT_ONCE).await?;
        let last = read.last().map_or(webhook.seq, |event| event.seq);
        // Numbers may have gaps, so only who was away is told of what is not kept any more.
        let missed = webhook.failures > 0 && oldest > webhook.seq.saturating_add(1);
        let missed = missed.then(|| oldest.saturating_sub(1));
        let wanted: Vec<&LiveEvent> = read.iter().filter(|event| wants(&webhook, event)).collect();
        let outcome = if wanted.is_empty() && missed.is_none() {
            Ok(())
        } else {
            self.send(&webhook, &wanted, missed, now).await
        };
        let now = self.clock.now();
        match outcome {
            Ok(()) => {
                (webhook.seq, webhook.failures, webhook.last_error) = (last, 0, None);
                webhook.next_at = now;
            }
            Err(error) => {
                webhook.failures = webhook.failures.saturating_add(1);
                tracing::info!(webhook = %webhook.id, failures = webhook.failures, error = %error.report(), "a webhook could not be called; trying again later");
                webhook.last_error = Some(error.to_string());
                webhook.next_at = Timestamp(now.0.saturating_add(pause(webhook.failures)));
            }
        }
        self.store.settle_webhook(&webhook).await
    }

    async fn send(
        &self,
        webhook: &Webhook,
        events: &[&LiveEvent],
        missed: Option<i64>,
        now: Timestamp,
    ) -> Result<()> {
        let secret = self.seal.unseal(&row(webhook.id), &webhook.secret)?;
        let mut shown: Vec<Value> = Vec::new();
        shown.extend(
            missed.map(|seq| json!({ "seq": seq, "at": now, "kind": "missed", "data": {} })),
        );
        shown.extend(events.iter().map(|event| {
            json!({ "seq": event.seq, "at": event.at, "agent": event.agent, "kind": event.kind, "data": event.data })
        }));
        let body = json!({ "events": shown }).to_string();
        let last = events.last().map_or(webhook.seq, |event| event.seq);
        // The same for every attempt with the same events, so that receivers know a repetition.
        let id = format!("{}.{}.{last}", webhook.id, webhook.seq);
        let at = now.0.div_euclid(1000).to_string();
        let signature = sign(secret.expose_secret(), &id, &at, &body)?;
        let status = post(&self.http, &webhook.url, [id, at, signature], body);
        let status = timeout(PATIENCE, status)
            .await
            .map_err(|_| Error::new(ErrorKind::Timeout, "no answer within 15 s"))??;
        if (200..300).contains(&status) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, format!("it answered with status {status}")))
    }
}

async fn post(
    http: &HttpClient,
    url: &str,
    [id, at, signature]: [String; 3],
    body: String,
) -> Result<u16> {
    let url = Url::parse(url).map_err(|_| Error::invalid("this is not a valid address"))?;
    // It connects to public addresses only, whatever the name resolves to, and follows no redirect.
    let client = http.for_protocol(&url, false)?;
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", at)
        .header("webhook-signature", signature)
        .body(body);
    let answer = request.send().await.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "it could not be reached")
            .with("cause", error.without_url())
    })?;
    Ok(answer.status().as_u16())
}

fn wants(webhook: &Webhook, event: &LiveEvent) -> bool {
    (webhook.kinds.is_empty() || webhook.kinds.contains(&event.kind))
        && webhook.agent.is_none_or(|agent| event.agent == Some(agent))
}

/// The signature of Standard Webhooks: HMAC-SHA256 over id, time and body.
fn sign(secret: &str, id: &str, at: &str, body: &str) -> Result<String> {
    let broken = || Error::unexpected("the secret of a webhook cannot be used");
    let key = secret.strip_prefix(PREFIX).and_then(|key| STANDARD.decode(key).ok());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.ok_or_else(broken)?).map_err(|_| broken())?;
    for part in [id, ".", at, ".", body] {
        mac.update(part.as_bytes());
    }
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

/// Pause after so many failures in a row.
fn pause(failures: u32) -> i64 {
    let (first, longest) = PAUSES;
    first.saturating_mul(1_i64 << failures.saturating_sub(1).min(20)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_http::HttpOptions;

    /// The example of the specification (standardwebhooks.com).
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = r#"{"test": 2432232314}"#;
        let signed = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body).unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn pauses_grow_to_an_hour() {
        assert_eq!([1, 2, 3, 11, 99].map(pause), [5_000, 10_000, 20_000, 3_600_000, 3_600_000]);
    }

    #[test]
    fn kinds_and_agents_are_selected() {
        let agent = AgentId::fresh();
        let webhook = Webhook {
            id: Uuid::nil(),
            url: String::new(),
            secret: String::new(),
            kinds: vec!["turn_finished".to_owned()],
            agent: Some(agent),
            seq: 0,
            next_at: Timestamp(0),
            failures: 0,
            last_error: None,
            created_at: Timestamp(0),
            by: String::new(),
        };
        let event = |kind: &str, agent| LiveEvent {
            seq: 1,
            at: Timestamp(0),
            agent,
            kind: kind.to_owned(),
            data: Value::Null,
        };
        assert!(wants(&webhook, &event("turn_finished", Some(agent))));
        assert!(!wants(&webhook, &event("turn_finished", None)));
        assert!(!wants(&webhook, &event("turn_begun", Some(agent))));
        let all = Webhook { kinds: Vec::new(), agent: None, ..webhook };
        assert!(wants(&all, &event("turn_begun", None)));
    }

    /// A receiver that answers with these statuses, one after the other, and keeps what came.
    async fn receiver(statuses: &'static [u16]) -> (String, Arc<parking_lot::Mutex<Vec<String>>>) {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let came = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let kept = Arc::clone(&came);
        tokio::spawn(async move {
            for status in statuses {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut text = String::new();
                while !text.ends_with("]}") {
                    let mut buffer = [0; 4096];
                    let n = stream.read(&mut buffer).await.unwrap();
                    text.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
                    if n == 0 {
                        break;
                    }
                }
                kept.lock().push(text);
                let answer = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (url, came)
    }

    #[tokio::test]
    async fn events_come_in_order_signed_and_again_after_a_failure() {
        let (url, came) = receiver(&[500, 200]).await;
        let store = galatea_store::Database::in_memory().await.unwrap().store();
        let clock = galatea_testkit::clock::ManualClock::at(Timestamp(1_000_000));
        let options = HttpOptions {
            untrusted_exceptions: vec!["127.0.0.1".parse().unwrap()],
            ..HttpOptions::default()
        };
        let seal = Seal::new([7; 32]);
        let id = Uuid::now_v7();
        let secret = format!("{PREFIX}{}", STANDARD.encode([9; 32]));
        let webhook = Webhook {
            id,
            url,
            secret: seal.seal(&row(id), &secret).unwrap(),
            kinds: vec!["wanted".to_owned()],
            agent: None,
            seq: 0,
            next_at: Timestamp(0),
            failures: 0,
            last_error: None,
            created_at: Timestamp(0),
            by: "ada".to_owned(),
        };
        store.add_webhook(&webhook).await.unwrap();
        let event = |kind: &str, n: i64| LiveEvent {
            seq: 0,
            at: Timestamp(n),
            agent: None,
            kind: kind.to_owned(),
            data: json!({ "n": n }),
        };
        store.add_live(&[event("wanted", 1), event("other", 2), event("wanted", 3)]).await.unwrap();
        let http = HttpClient::new(options).unwrap();
        let sender = Sender { store: Arc::clone(&store), clock: clock.shared(), http, seal };
        let look = async || sender.look(store.webhooks().await.unwrap()).await.unwrap();
        look().await;
        let failed = store.webhooks().await.unwrap().remove(0);
        assert_eq!((failed.seq, failed.failures), (0, 1), "{:?}", failed.last_error);
        look().await;
        assert_eq!(came.lock().len(), 1, "not before its pause is over");
        clock.advance(Duration::from_secs(6));
        look().await;
        let settled = store.webhooks().await.unwrap().remove(0);
        assert_eq!((settled.seq, settled.failures, settled.last_error), (3, 0, None));
        look().await;
        let came = came.lock().clone();
        assert_eq!(came.len(), 2, "nothing is sent twice after it arrived");
        let header = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("{name}: "))).unwrap();
            line.split_once(": ").unwrap().1.to_owned()
        };
        let ids = came.iter().map(|text| header(text, "webhook-id")).collect::<Vec<_>>();
        assert_eq!(ids[0], ids[1], "the same events have the same id");
        for text in &came {
            let body = text.split_once("\r\n\r\n").unwrap().1;
            let events: Value = serde_json::from_str(body).unwrap();
            let all = events["events"].as_array().unwrap();
            let numbers: Vec<i64> = all.iter().filter_map(|e| e["data"]["n"].as_i64()).collect();
            assert_eq!(numbers, [1, 3]);
            let at = header(text, "webhook-timestamp");
            let signed = sign(&secret, &header(text, "webhook-id"), &at, body).unwrap();
            assert_eq!(header(text, "webhook-signature"), signed);
        }
    }

    #[tokio::test]
    async fn addresses_inside_are_refused_whatever_they_are_called() {
        let http = HttpClient::new(HttpOptions::default()).unwrap();
        for url in [
            "http://127.0.0.1:1/",
            "http://localhost:1/",
            "http://169.254.169.254/",
            "http://[::1]:1/",
            "http://10.0.0.1/",
        ] {
            let header = [String::new(), String::new(), String::new()];
            let sent = post(&http, url, header, String::new()).await;
            assert!(sent.is_err(), "{url}");
        }
    }
}
