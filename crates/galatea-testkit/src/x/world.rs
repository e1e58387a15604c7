//! People and posts. Ids are snowflakes, as X creates them.

use std::collections::{BTreeMap, BTreeSet};

use galatea_core::Timestamp;

/// X's epoch in Unix milliseconds.
const EPOCH: i64 = 1_288_834_974_657;

/// A person, or the account itself.
#[derive(Debug, Clone)]
pub(super) struct Human {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) handle: String,
}

#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) id: u64,
    pub(super) author: u64,
    /// Text as written, without the mentions that X puts in front of replies.
    pub(super) text: String,
    pub(super) reply_to: Option<u64>,
    pub(super) quotes: Option<u64>,
    pub(super) conversation: u64,
    pub(super) media: Vec<u64>,
    pub(super) at: Timestamp,
    /// True if timelines show it.
    pub(super) listed: bool,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) me: u64,
    pub(super) people: BTreeMap<u64, Human>,
    pub(super) posts: BTreeMap<u64, Post>,
    pub(super) likes: BTreeSet<u64>,
    last: u64,
}

impl World {
    pub(super) fn new(me: u64, name: &str, handle: &str) -> Self {
        let human = Human { id: me, name: name.to_owned(), handle: handle.to_owned() };
        Self {
            me,
            people: [(me, human)].into(),
            posts: BTreeMap::new(),
            likes: BTreeSet::new(),
            last: 0,
        }
    }

    pub(super) fn person(&mut self, name: &str, handle: &str) -> u64 {
        let id = 2_000_000_001 + self.people.len() as u64;
        self.people.insert(id, Human { id, name: name.to_owned(), handle: handle.to_owned() });
        id
    }

    /// A fresh id for this moment, greater than every earlier one.
    pub(super) fn snowflake(&mut self, now: Timestamp) -> u64 {
        let id = u64::try_from(now.0 - EPOCH).unwrap_or(0) << 22;
        self.last = id.max(self.last + 1);
        self.last
    }

    /// Adds a post. A reply joins the conversation of its target.
    #[allow(clippy::too_many_arguments, reason = "a post has this many sides")]
    pub(super) fn add(
        &mut self,
        id: u64,
        author: u64,
        text: &str,
        reply_to: Option<u64>,
        quotes: Option<u64>,
        media: Vec<u64>,
        at: Timestamp,
        listed: bool,
    ) {
        let conversation =
            reply_to.and_then(|to| self.posts.get(&to)).map_or(id, |post| post.conversation);
        self.posts.insert(
            id,
            Post {
                id,
                author,
                text: text.to_owned(),
                reply_to,
                quotes,
                conversation,
                media,
                at,
                listed,
            },
        );
    }

    pub(super) fn by_handle(&self, handle: &str) -> Option<&Human> {
        self.people.values().find(|p| p.handle.eq_ignore_ascii_case(handle))
    }

    /// People whom X mentions in front of a reply: the author of the answered post and the people
    /// that post mentions, but never the reply's author.
    pub(super) fn in_front(&self, post: &Post) -> Vec<u64> {
        let Some(target) = post.reply_to.and_then(|id| self.posts.get(&id)) else {
            return Vec::new();
        };
        let mut front = vec![target.author];
        front.extend(self.typed(&target.text).into_iter().map(|(id, ..)| id));
        front.extend(self.in_front(target));
        let typed: Vec<u64> = self.typed(&post.text).into_iter().map(|(id, ..)| id).collect();
        let mut seen = BTreeSet::new();
        front.retain(|id| *id != post.author && !typed.contains(id) && seen.insert(*id));
        front
    }

    /// Mentions in a text: person, and start and end in characters.
    pub(super) fn typed(&self, text: &str) -> Vec<(u64, usize, usize)> {
        let chars: Vec<char> = text.chars().collect();
        let mut found = Vec::new();
        for (at, _) in chars.iter().enumerate().filter(|(_, c)| **c == '@') {
            if at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_') {
                continue;
            }
            let name: String = chars[at + 1..]
                .iter()
                .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
                .collect();
            if let Some(human) = self.by_handle(&name) {
                found.push((human.id, at, at + 1 + name.len()));
            }
        }
        found
    }

    /// All people a post mentions.
    pub(super) fn mentioned(&self, post: &Post) -> BTreeSet<u64> {
        self.in_front(post)
            .into_iter()
            .chain(self.typed(&post.text).into_iter().map(|(id, ..)| id))
            .collect()
    }

    /// True if a post summons the account: by a mention or a quotation (X, automation rules of
    /// 2026-02-23).
    pub(super) fn summons(&self, post: &Post) -> bool {
        let quoted = post
            .quotes
            .and_then(|id| self.posts.get(&id))
            .is_some_and(|quoted| quoted.author == self.me);
        quoted || self.mentioned(post).contains(&self.me)
    }
}
