//! What people do.

use super::{handle::Handle, state::State, world::Post};

/// Somebody on X.
#[derive(Clone)]
pub struct Person {
    pub(super) api: Handle,
    /// Their id.
    pub id: u64,
    /// Their handle.
    pub handle: String,
}

impl Person {
    /// Posts something; `@handle` mentions. Its id.
    pub fn posts(&self, text: &str) -> u64 {
        self.say(text, None, None, true)
    }

    /// Replies to a post. X puts the mentions in front by itself.
    pub fn replies(&self, to: u64, text: &str) -> u64 {
        self.say(text, Some(to), None, true)
    }

    /// Quotes a post.
    pub fn quotes(&self, post: u64, text: &str) -> u64 {
        self.say(text, None, Some(post), true)
    }

    /// Posts something that timelines show only after [`Handle::index_late`], so that newer posts
    /// are seen first.
    pub fn posts_late(&self, text: &str) -> u64 {
        self.say(text, None, None, false)
    }

    /// Posts under an id reserved with [`Handle::reserve`].
    pub fn posts_as(&self, id: u64, text: &str) {
        self.api.change(|s| {
            let at = s.now();
            s.world.add(id, self.id, text, None, None, Vec::new(), at, true);
        });
    }

    /// Removes a post of theirs.
    pub fn deletes(&self, post: u64) {
        self.api.change(|s| s.world.posts.remove(&post));
    }

    fn say(&self, text: &str, to: Option<u64>, quotes: Option<u64>, listed: bool) -> u64 {
        self.api.change(|s: &mut State| {
            let at = s.now();
            let id = s.world.snowflake(at);
            s.world.add(id, self.id, text, to, quotes, Vec::new(), at, listed);
            debug_assert!(s.world.posts.get(&id).is_some_and(|p: &Post| p.author == self.id));
            id
        })
    }
}
