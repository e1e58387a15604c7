//! The test's side of the server: set the scene, wait, look, order faults.

use bytes::Bytes;
use url::Url;

use super::{
    people::Person,
    state::{Access, Call, Keys, State},
};

/// The test's side of a running server.
pub type Handle = crate::loopback::Handle<State>;

/// A post of the account as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its id.
    pub id: u64,
    /// Its text as written.
    pub text: String,
    /// The post it replies to.
    pub reply_to: Option<u64>,
    /// Its conversation.
    pub conversation: u64,
    /// Media type, bytes and description of its pictures.
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

    /// A new person.
    pub fn user(&self, name: &str, handle: &str) -> Person {
        Person {
            api: self.clone(),
            id: self.change(|s| s.world.person(name, handle)),
            handle: handle.to_owned(),
        }
    }

    /// An id for a post that is made later.
    pub fn reserve(&self) -> u64 {
        self.change(|s| {
            let now = s.now();
            s.world.snowflake(now)
        })
    }

    /// A post the account made elsewhere, such as with X's own app.
    pub fn account_posts(&self, text: &str) -> u64 {
        self.change(|s| {
            let (at, me) = (s.now(), s.world.me);
            let id = s.world.snowflake(at);
            s.world.add(id, me, text, None, None, Vec::new(), at, true);
            id
        })
    }

    /// Timelines show what they had not yet.
    pub fn index_late(&self) {
        self.change(|s| s.world.posts.values_mut().for_each(|p| p.listed = true));
    }

    /// The next looks at timelines ignore `since_id`.
    pub fn ignore_since(&self, looks: usize) {
        self.change(|s| s.forgetful = looks);
    }

    /// Whether the account has credits.
    pub fn set_credits(&self, there: bool) {
        self.change(|s| s.credits = there);
    }

    /// Whether the app is enrolled.
    pub fn set_enrolled(&self, enrolled: bool) {
        self.change(|s| s.enrolled = enrolled);
    }

    /// Permission of the access token.
    pub fn set_access(&self, access: Access) {
        self.change(|s| s.options.access = access);
    }

    /// Whether the account is refused whatever it posts.
    pub fn set_suspended(&self, suspended: bool) {
        self.change(|s| s.suspended = suspended);
    }

    /// Takes the keys back: from now on they are wrong.
    pub fn revoke_keys(&self) {
        self.change(|s| s.options.keys.token_secret.push_str("-regenerated"));
    }

    /// Leaves so many calls of a route in this window.
    pub fn leave(&self, route: &'static str, left: u32) {
        self.change(|s| {
            let now = s.seconds();
            s.limits.leave(route, now, left);
        });
    }

    /// What a person does who opens the page and allows the app: the address the browser is sent
    /// to.
    ///
    /// # Panics
    /// When the address breaks a rule of OAuth 2 with PKCE.
    pub fn allow(&self, page: &str) -> String {
        let page = Url::parse(page).unwrap_or_else(|e| panic!("the page's address is none: {e}"));
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

    /// Ends the login of OAuth 2.
    pub fn revoke_login(&self) {
        self.change(|s| s.grants.revoke());
    }

    /// How often tokens were renewed.
    pub fn refreshed(&self) -> usize {
        self.shared.lock().grants.refreshed
    }

    /// Every secret there is, for the search for them.
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

    /// Whether the account likes a post.
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

    /// Waits until a route was called and answered at least `count` times, and returns the calls.
    pub async fn wait_calls(&self, route: &str, count: usize) -> Vec<Call> {
        self.wait_for(&format!("{count} calls of {route}"), |h| {
            Some(h.calls_of(route))
                .filter(|c| c.iter().filter(|c| c.answer.is_some()).count() >= count)
        })
        .await
    }
}
