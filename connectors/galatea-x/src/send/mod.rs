//! Sends deliveries as calls of the X API. Each delivery gets one attempt; its error says whether
//! the post may have been made.

pub(crate) mod api;
pub(crate) mod auth;
pub(crate) mod budget;
pub(crate) mod calls;
mod find;
pub(crate) mod journal;
mod latch;
mod media;
mod repeats;
mod sender;
mod similar;

use async_trait::async_trait;
use galatea_core::{
    Address, Delivery, Encoded, Error, ErrorKind, Gateway, Outgoing, Priority, ReadBackContext,
    ReadBackResult, Receipt, RemoteId, Result, Retry, SendHandler, Sent, people::PersonEntry,
};
use std::{
    convert::Infallible,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use crate::{
    config::{Tier, XConfig},
    decode::{self, Me, snowflake::number},
    encode::{self, Part, Post, mentions, weight},
    error::{self, codes},
};
use api::Api;
use calls::PostDraft;
use journal::{Journal, Summons};
use repeats::Repeats;
use similar::Recent;

pub(crate) use self::sender::XSender;

/// Pause before a duplicate that X reported is searched for again. X does not document how soon a
/// timeline lists a new post.
const LISTING: Duration = Duration::from_secs(20);

impl XSender {
    /// Creates the handler. It knows nothing of earlier runs until [`Self::restore`].
    pub(crate) fn new(
        api: Arc<Api>,
        config: Arc<XConfig>,
        me: Arc<OnceLock<Me>>,
        folder: PathBuf,
    ) -> Self {
        let journal = Arc::new(Journal::new());
        let repeats = Repeats::new(api.clock().clone());
        let recent = Recent::new();
        Self { api, config, journal, me, recent, repeats, folder }
    }

    /// Restores the account's state: the journal, spending, and posts that must not be repeated.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn restore(&self, gateway: &Gateway) -> Result<()> {
        self.journal.restore(gateway).await?;
        self.api.budget.restore(gateway).await?;
        self.repeats.restore(gateway).await?;
        self.recent.restore(gateway).await
    }

    /// Stores changes of the account's state for as long as the future is polled.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Infallible {
        tokio::select! {
            never = self.api.budget.keep(gateway) => never,
            never = self.repeats.keep(gateway) => never,
            never = self.recent.keep(gateway) => never,
        }
    }

    /// Stores the account's state at once, when the run ends.
    pub(crate) async fn keep_now(&self, gateway: &Gateway) {
        self.api.budget.keep_now(gateway).await;
        self.repeats.keep_now(gateway).await;
        self.recent.keep_now(gateway).await;
    }

    /// The account; known before the first event arrives.
    pub(crate) fn me(&self) -> Result<&Me> {
        self.me.get().ok_or_else(|| auth::oauth2::login_needed("no account is logged in to X yet"))
    }

    /// The post this one replies to, according to the journal and the delivery; `None` for an
    /// original post.
    fn expected(&self, delivery: &Delivery, post: &Post) -> Result<Option<u64>> {
        let previous = previous(delivery);
        if post.nth > 0 {
            // The journal has no entry if storing it failed.
            let noted = delivery
                .part
                .checked_sub(1)
                .and_then(|part| self.journal.part(delivery.turn, part))
                .flatten();
            if let Some(before) = noted.or(previous) {
                return Ok(Some(before));
            }
        }
        if delivery.address.remote == self.me()?.home() {
            return Ok(None);
        }
        let answered =
            post.answers.as_deref().and_then(number).or_else(|| self.journal.target(delivery.id));
        let newest = || {
            decode::post_id(&delivery.address.remote)
                .and_then(|conversation| self.journal.newest(conversation))
        };
        Ok(answered.or_else(newest).or(previous))
    }

    /// [`Self::expected`], after checking that X's rules and the settings permit the reply.
    async fn target(&self, delivery: &Delivery, post: &Post) -> Result<Option<u64>> {
        let target = self.expected(delivery, post)?;
        if delivery.address.remote == self.me()?.home() {
            return Ok(target);
        }
        let id = target.ok_or_else(error::not_summoned)?;
        if self.journal.is_own(id)
            || previous(delivery) == Some(id)
            || self.config.tier == Tier::Enterprise
        {
            return Ok(target);
        }
        let summons = match self.journal.summons_of(id) {
            Some(summons) => summons,
            None if self.config.dry_run => return Ok(target),
            None => self.ask(id).await?.ok_or_else(error::not_summoned)?,
        };
        let wanted = &self.config.target_users;
        // The journal records handles, not ids; the gate compared ids before the model was asked.
        let by_id = wanted.iter().any(|listed| matches!(listed, PersonEntry::Id(_)));
        if !wanted.is_empty() && !by_id && !wanted.names(None, Some(&summons.name)) {
            return Err(Error::new(
                ErrorKind::Forbidden,
                "Not sent: this person is not among those to be answered",
            )
            .with_code(codes::TARGET)
            .with_fix("add the handle to TWITTER_TARGET_USERS, or leave that unset"));
        }
        Ok(target)
    }

    /// Asks X whether a post summons us: one paid read, made when the journal has no entry.
    async fn ask(&self, id: u64) -> Result<Option<Summons>> {
        let me = self.me()?;
        let Some(page) = calls::post(&self.api, &self.config.prices, &id.to_string()).await? else {
            return Ok(None);
        };
        let Some(post) = page.posts.first() else { return Ok(None) };
        if !decode::mentions(post, me) && !decode::quotes(post, &page.includes, me) {
            return Ok(None);
        }
        let summons = summons(post, &page.includes);
        self.journal.add_summons(id, summons.clone());
        Ok(Some(summons))
    }

    async fn post(&self, delivery: &Delivery, post: &Post) -> Result<Receipt> {
        let target = self.target(delivery, post).await?;
        let original = target.is_none();
        if original && post.media.is_empty() && self.recent.holds(&post.text) {
            return Err(Error::invalid("Not posted: it says nearly the same as a recent post")
                .with_code(codes::SIMILAR)
                .with_fix("nothing to repair: the next one will differ"));
        }
        // Only the first attempt of a first part is checked: later parts belong to the same answer,
        // and a retry may concern text that is already posted.
        if delivery.attempt == 0
            && post.nth == 0
            && post.media.is_empty()
            && self.repeats.holds(&post.text)
        {
            return Err(Error::invalid(
                "Not posted: the same words were posted within the last hour",
            )
            .with_code(codes::SIMILAR)
            .with_fix("nothing to repair: X takes accounts that repeat themselves for spam"));
        }
        if self.config.dry_run {
            tracing::info!(delivery = %delivery.id, room = %delivery.address.room, weight = weight(&post.text), answers = target, "dry run: this would be posted on X");
            tracing::debug!(delivery = %delivery.id, text = post.text, "dry run");
            self.done(delivery, post, original, None).await;
            return Ok(Receipt::default());
        }
        // Record the target, so that a later read-back searches for the same reply even if the
        // conversation has newer posts.
        if let Some(id) = target.filter(|_| post.answers.is_none() && post.nth == 0) {
            self.journal.set_target(delivery.id, id).await.map_err(|e| e.with_sent(Sent::No))?;
        }
        let reply_to = target.map(|id| id.to_string());
        let named = self.named(post);
        let text = named.as_str();
        let price = PostDraft { text, reply_to: reply_to.as_deref(), media: &[] }
            .price(&self.config.prices);
        self.api.budget.take(price)?;
        let media = media::upload(&self.api, &post.media, &self.folder)
            .await
            .inspect_err(|_| self.api.budget.give_back(price))?;
        let failure = match calls::create(
            &self.api,
            &PostDraft { text, reply_to: reply_to.as_deref(), media: &media },
        )
        .await
        {
            Ok(id) => {
                let id = number(&id);
                self.done(delivery, post, original, id).await;
                return Ok(Receipt { id: id.map(RemoteId::new), moved_to: None });
            }
            Err(failure) => failure,
        };
        let duplicate = failure.refusal().is_some_and(error::Problem::is_duplicate);
        let error = self.api.error(failure, error::POST);
        if error.sent() == Sent::No {
            self.api.budget.give_back(price);
        }
        // The duplicate may be this very post, if the answer to an earlier attempt was lost.
        if !duplicate {
            return Err(error);
        }
        if let Some(id) = find::search(self, delivery, post, target, &ReadBackContext::default())
            .await
            .map_err(|e| e.with_sent(Sent::Maybe))?
        {
            self.done(delivery, post, original, Some(id)).await;
            return Ok(Receipt { id: Some(RemoteId::new(id)), moved_to: None });
        }
        // After an attempt of unknown outcome, the duplicate is most likely this post, which X does
        // not list yet.
        Err(if delivery.attempt > 0 {
            error.with_sent(Sent::Maybe).with_retry(Retry::After(LISTING))
        } else {
            error
        })
    }

    /// Restores the permitted mentions: of the person who is answered, and of the handles that the
    /// operator allows.
    fn named(&self, post: &Post) -> String {
        let asked =
            post.answers.as_deref().and_then(number).and_then(|id| self.journal.summons_of(id));
        mentions::restore(&post.text, |name| {
            asked.as_ref().is_some_and(|summons| summons.name == name)
                || self.config.may_mention.iter().any(|may| may == name)
        })
    }

    async fn done(&self, delivery: &Delivery, post: &Post, original: bool, id: Option<u64>) {
        if post.nth == 0 && post.media.is_empty() {
            self.repeats.add(&post.text);
        }
        if original {
            self.recent.add(&post.text);
        }
        self.journal.posted(delivery.turn, delivery.part, delivery.id, id).await;
    }
}

/// The post that the previous part became, according to the store.
fn previous(delivery: &Delivery) -> Option<u64> {
    delivery.previous.as_ref().and_then(|id| number(&id.0))
}

/// The journal entry for a post that summons us.
pub(crate) fn summons(post: &decode::raw::Post, includes: &decode::raw::Includes) -> Summons {
    let tweet = &post.tweet;
    let author = tweet.author_id.and_then(|id| includes.user(id.as_u64()));
    Summons {
        conversation: tweet.conversation_id.unwrap_or(tweet.id).as_u64(),
        name: author.map_or_else(|| "-".to_owned(), |user| user.username.to_lowercase()),
    }
}

/// The priority of a part. Reads the tag only, because this is called at every attempt; the whole
/// body is parsed to send it.
fn priority(body: &Encoded) -> Priority {
    match body.0["call"].as_str() {
        Some("like" | "delete") => Priority::Change,
        _ => Priority::Answer,
    }
}

#[async_trait]
impl SendHandler for XSender {
    fn handle(&self) -> Option<String> {
        self.me.get().map(|me| me.user_name.clone()).filter(|name| !name.is_empty())
    }

    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        encode::encode(outgoing, self.config.tier, self.config.notices)
    }

    fn priority(&self, body: &Encoded) -> Priority {
        priority(body)
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        match Part::read(&delivery.body)? {
            Part::Post(post) => self.post(delivery, &post).await,
            Part::Delete { .. } | Part::Like { .. } if self.config.dry_run => {
                tracing::info!(delivery = %delivery.id, "dry run: nothing is removed or liked on X");
                Ok(Receipt::default())
            }
            Part::Delete { id } => calls::delete(&self.api, &id).await.map(|()| Receipt::default()),
            Part::Like { id, on } => {
                calls::like(&self.api, self.me()?.id, &id, on).await?;
                Ok(Receipt { id: Some(RemoteId(id)), moved_to: None })
            }
        }
    }

    async fn find(&self, delivery: &Delivery, context: &ReadBackContext) -> Result<ReadBackResult> {
        find::find(self, delivery, context).await
    }

    /// Bars an answer that could not be posted: it would waste the cost of the model call.
    fn barred(&self, _: &Address, _: &RemoteId) -> Option<Error> {
        if self.config.dry_run {
            return None;
        }
        self.api.latched().or_else(|| self.api.budget.short_of(self.config.prices.reply))
    }

    /// X has no typing indicator.
    async fn typing(&self, _: &Address) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Post;

    #[test]
    fn the_tag_alone_decides_about_the_priority() {
        let id = || "7".to_owned();
        for (part, expected) in [
            (Part::Post(Post::default()), Priority::Answer),
            (Part::Delete { id: id() }, Priority::Change),
            (Part::Like { id: id(), on: true }, Priority::Change),
        ] {
            let mut body = Encoded(serde_json::to_value(&part).unwrap());
            assert_eq!(priority(&body), expected, "{part:?}");
            body.0["id"] = serde_json::Value::Null;
            assert_eq!(priority(&body), expected, "{part:?}: the rest is not read");
        }
    }
}
