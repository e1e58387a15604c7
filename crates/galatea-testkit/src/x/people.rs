//! People on X, and the actions a test makes them perform.

use super::{handle::Handle, state::State, world::Post};

/// A person on X.
#[derive(Clone)]
pub struct Person {
    pub(super) api: Handle,
    /// Id of the person.
    pub id: u64,
    /// Handle without `@`.
    pub handle: String,
}

impl Handle {
    /// Adds a person.
    pub fn user(&self, name: &str, handle: &str) -> Person {
        Person {
            api: self.clone(),
            id: self.change(|s| s.world.person(name, handle)),
            handle: handle.to_owned(),
        }
    }
}

impl Person {
    /// Creates a post and returns its id; `@handle` in the text is a mention.
    pub fn posts(&self, text: &str) -> u64 {
        self.say(text, None, None, true)
    }

    /// Replies to a post and returns the reply's id. X adds the mentions in front by itself.
    pub fn replies(&self, to: u64, text: &str) -> u64 {
        self.say(text, Some(to), None, true)
    }

    /// Quotes a post and returns the quoting post's id.
    pub fn quotes(&self, post: u64, text: &str) -> u64 {
        self.say(text, None, Some(post), true)
    }

    /// Creates a post that timelines show only after [`Handle::index_late`], so that newer posts
    /// appear first.
    pub fn posts_late(&self, text: &str) -> u64 {
        self.say(text, None, None, false)
    }

    /// Creates a post under an id reserved with [`Handle::reserve`].
    pub fn posts_as(&self, id: u64, text: &str) {
        self.api.change(|s| {
            let at = s.now();
            s.world.add(id, self.id, text, None, None, Vec::new(), at, true);
        });
    }

    /// Deletes the person's post.
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
