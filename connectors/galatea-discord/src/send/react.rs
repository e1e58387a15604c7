//! Sets and removes reactions.

use galatea_core::Result;

use super::{DiscordSender, api::Call, escape};
use crate::{decode::raw::id, error::Failure};

impl DiscordSender {
    /// Sets a reaction, or removes all of ours if `emoji` is `None`.
    pub(super) async fn react(
        &self,
        channel: u64,
        message: u64,
        emoji: Option<&str>,
    ) -> Result<(), Failure> {
        let path = |emoji: &str| {
            format!("/channels/{channel}/messages/{message}/reactions/{}/@me", escape(emoji))
        };
        if let Some(emoji) = emoji {
            self.api
                .call(Call::new(
                    "PUT /channels/{}/messages/{}/reactions/{}/@me",
                    channel,
                    path(emoji),
                ))
                .await?;
            return Ok(());
        }
        let shown = self
            .api
            .call(Call::new(
                "GET /channels/{}/messages/{}",
                channel,
                format!("/channels/{channel}/messages/{message}"),
            ))
            .await?;
        for reaction in
            shown["reactions"].as_array().into_iter().flatten().filter(|r| r["me"] == true)
        {
            let name = reaction["emoji"]["name"].as_str().unwrap_or_default();
            let emoji = id(&reaction["emoji"]["id"])
                .map_or_else(|| name.to_owned(), |id| format!("{name}:{id}"));
            self.api
                .call(Call::new(
                    "DELETE /channels/{}/messages/{}/reactions/{}/@me",
                    channel,
                    path(&emoji),
                ))
                .await?;
        }
        Ok(())
    }
}
