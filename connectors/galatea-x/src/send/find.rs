//! Read-back: finds out whether a post of unknown outcome was made. It searches the account's own
//! timeline for a post with the same text that replies to the same post.

use galatea_core::{Delivery, ReadBackContext, ReadBackResult, Receipt, RemoteId, Result};
use std::time::Duration;
use twitter_v2::data::ReferencedTweetKind;

use super::{XSender, calls};
use crate::{
    decode::{
        raw::Post as Seen,
        refers,
        snowflake::{first_at, number},
        text::{full_text, own_words, same},
    },
    encode::{Part, Post},
};

/// The search starts this long before the delivery was made, because X's clock and ours differ a
/// little.
const EARLIER: Duration = Duration::from_secs(60);
/// Most pages read: 100 posts each, from the time the delivery was made.
const PAGES: usize = 10;

/// Determines whether a delivery was sent.
pub(super) async fn find(
    sender: &XSender,
    delivery: &Delivery,
    context: &ReadBackContext,
) -> Result<ReadBackResult> {
    let Part::Post(post) = Part::read(&delivery.body)? else {
        // Deleting and liking are idempotent: repeating them has no visible effect.
        return Ok(ReadBackResult::NotSent);
    };
    if let Some(id) = sender.journal.receipt(delivery.id) {
        return Ok(ReadBackResult::Sent(Receipt { id: id.map(RemoteId::new), moved_to: None }));
    }
    if sender.config.dry_run {
        return Ok(ReadBackResult::NotSent);
    }
    let target = sender.expected(delivery, &post)?;
    Ok(match search(sender, delivery, &post, target, context).await? {
        Some(id) => {
            sender.journal.posted(delivery.turn, delivery.part, delivery.id, Some(id)).await;
            ReadBackResult::Sent(Receipt { id: Some(RemoteId::new(id)), moved_to: None })
        }
        None => ReadBackResult::NotSent,
    })
}

/// Searches our timeline for the post that this delivery became. Skips posts that the store or the
/// journal assigns to another delivery.
pub(super) async fn search(
    sender: &XSender,
    delivery: &Delivery,
    post: &Post,
    target: Option<u64>,
    context: &ReadBackContext,
) -> Result<Option<u64>> {
    let me = sender.me()?.id;
    let since = first_at(galatea_core::Timestamp(
        delivery
            .created_at
            .0
            .saturating_sub(i64::try_from(EARLIER.as_millis()).unwrap_or_default()),
    ));
    let others: Vec<u64> = context
        .sent
        .iter()
        .chain(&context.ours)
        .chain(&delivery.previous)
        .filter_map(|id| number(&id.0))
        .collect();
    let mut token = None;
    for _ in 0..PAGES {
        let page = calls::own_posts(&sender.api, me, since, token.as_deref()).await?;
        // A read-back is made even without budget: posting twice costs more.
        sender.api.budget.add(sender.config.prices.mention, page.posts.len());
        let found = page.posts.iter().find(|seen| {
            let id = seen.tweet.id.as_u64();
            !sender.journal.is_own(id)
                && !others.contains(&id)
                && refers(seen, &ReferencedTweetKind::RepliedTo) == target
                && says(seen, post)
        });
        if let Some(found) = found {
            return Ok(Some(found.tweet.id.as_u64()));
        }
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    Ok(None)
}

fn says(seen: &Seen, post: &Post) -> bool {
    let pictures = seen
        .tweet
        .attachments
        .as_ref()
        .is_some_and(|a| a.media_keys.as_ref().is_some_and(|keys| !keys.is_empty()));
    if pictures == post.media.is_empty() {
        return false;
    }
    let bare = post.text.trim_start_matches(|c: char| c.is_whitespace());
    same(&own_words(seen), bare)
        || same(&full_text(seen), bare)
        || (bare.starts_with('@') && same(&own_words(seen), &without_mentions(bare)))
}

fn without_mentions(text: &str) -> String {
    text.split_whitespace().skip_while(|word| word.starts_with('@')).collect::<Vec<_>>().join(" ")
}
