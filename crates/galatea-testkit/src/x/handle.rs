//! The handle of a test: sets up the world, waits, reads the result, schedules faults.

use bytes::Bytes;
use url::Url;

use super::state::{Call, State};
use crate::x::options::{Access, Keys};

/// A test's handle to a running server.
pub type Handle = crate::loopback::Handle<State>;

/// A post of the account as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Id of the post.
    pub id: u64,
    /// Text as written.
    pub text: String,
    /// Post it replies to.
    pub reply_to: Option<u64>,
    /// Id of its conversation.
    pub conversation: u64,
    /// Pictures: media type, bytes and alt text.
    pub media: Vec<(String, Bytes, Option<String>)>,
}

impl Handle {
    /// Keys of OAuth 1.0a.
    pub fn keys(&self) -> Keys {
        self.shared.lock().options.keys.clone()
    }

    /// The account's id.
    pub fn account(&self) -> u64 {
        self.shared.lock().options.account
    }

    /// The account's handle.
    pub fn account_handle(&self) -> String {
        self.shared.lock().options.handle.clone()
    }

    /// Reserves an id for a post that is created later.
    pub fn reserve(&self) -> u64 {
        self.change(|s| {
            let now = s.now();
            s.world.snowflake(now)
        })
    }

    /// Creates a post of the account that the client did not send, as from X's own app. Returns its
    /// id.
    pub fn account_posts(&self, text: &str) -> u64 {
        self.change(|s| {
            let (at, me) = (s.now(), s.world.me);
            let id = s.world.snowflake(at);
            s.world.add(id, me, text, None, None, Vec::new(), at, true);
            id
        })
    }

    /// Makes timelines show the posts they held back.
    pub fn index_late(&self) {
        self.change(|s| s.world.posts.values_mut().for_each(|p| p.listed = true));
    }

    /// Makes the next `looks` requests for timelines ignore `since_id`.
    pub fn ignore_since(&self, looks: usize) {
        self.change(|s| s.forgetful = looks);
    }

    /// Sets whether the account has credits.
    pub fn set_credits(&self, there: bool) {
        self.change(|s| s.credits = there);
    }

    /// Sets whether the app is enrolled.
    pub fn set_enrolled(&self, enrolled: bool) {
        self.change(|s| s.enrolled = enrolled);
    }

    /// Sets the permission of the access token.
    pub fn set_access(&self, access: Access) {
        self.change(|s| s.options.access = access);
    }

    /// Sets whether the account is suspended: every post is then refused.
    pub fn set_suspended(&self, suspended: bool) {
        self.change(|s| s.suspended = suspended);
    }

    /// Invalidates the keys of OAuth 1.0a.
    pub fn revoke_keys(&self) {
        self.change(|s| s.options.keys.token_secret.push_str("-regenerated"));
    }

    /// Leaves this many calls of a route in the current window.
    pub fn leave(&self, route: &'static str, left: u32) {
        self.change(|s| {
            let now = s.seconds();
            s.limits.leave(route, now, left);
        });
    }

    /// Acts as a person who opens the authorization page and allows the app. Returns the URL to
    /// which the browser is redirected.
    ///
    /// # Panics
    /// When the page's URL breaks a rule of OAuth 2 with PKCE.
    pub fn allow(&self, page: &str) -> String {
        let page = Url::parse(page).unwrap_or_else(|e| panic!("the page's URL is invalid: {e}"));
        let options = self.shared.lock().options.clone();
        let back = self.change(|s| {
            let now = s.seconds();
            s.grants.allow(&options, &page, now)
        });
        back.unwrap_or_else(|what| panic!("{what}")).to_string()
    }

    /// Ends every access token of OAuth 2.
    pub fn expire_tokens(&self) {
        self.change(|s| s.grants.expire());
    }

    /// Revokes the grant of OAuth 2, with all its tokens.
    pub fn revoke_login(&self) {
        self.change(|s| s.grants.revoke());
    }

    /// Number of token refreshes.
    pub fn refreshed(&self) -> usize {
        self.shared.lock().grants.refreshed
    }

    /// All secrets, to search outputs for them.
    pub fn secrets(&self) -> Vec<String> {
        let state = self.shared.lock();
        let keys = &state.options.keys;
        let own =
            [&keys.api_key, &keys.api_secret, &keys.token, &keys.token_secret].into_iter().cloned();
        own.chain(state.options.client_secret.clone()).chain(state.grants.secrets()).collect()
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.lock().calls.clone()
    }

    /// Calls of one route, such as `POST /2/tweets`.
    pub fn calls_of(&self, route: &str) -> Vec<Call> {
        self.shared.lock().calls.iter().filter(|c| c.route == route).cloned().collect()
    }

    /// Posts of the account, oldest first.
    pub fn shown(&self) -> Vec<Shown> {
        let state = self.shared.lock();
        let own = state.world.posts.values().filter(|p| p.author == state.world.me);
        own.map(|p| Shown {
            id: p.id,
            text: p.text.clone(),
            reply_to: p.reply_to,
            conversation: p.conversation,
            media: p
                .media
                .iter()
                .filter_map(|id| state.uploads.file(*id))
                .map(|f| (f.mime.clone(), f.bytes(), f.alt.clone()))
                .collect(),
        })
        .collect()
    }

    /// True if the account likes a post.
    pub fn likes(&self, post: u64) -> bool {
        self.shared.lock().world.likes.contains(&post)
    }

    /// Waits until the account shows at least `count` posts, and returns them.
    pub async fn wait_shown(&self, count: usize) -> Vec<Shown> {
        self.wait_for(&format!("{count} posts of the account"), |h| {
            Some(h.shown()).filter(|s| s.len() >= count)
        })
        .await
    }

    /// Waits until a route was called at least `count` times and each call is answered; returns the
    /// calls.
    pub async fn wait_calls(&self, route: &str, count: usize) -> Vec<Call> {
        self.wait_for(&format!("{count} calls of {route}"), |h| {
            Some(h.calls_of(route))
                .filter(|c| c.iter().filter(|c| c.answer.is_some()).count() >= count)
        })
        .await
    }
}
