//! FOLLOW_FEED: posts what is new in an RSS or Atom feed into a Room. Addresses come from people, so they
//! are fetched by the guarded client, which reaches no internal network.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, Result, Schedule, Task, TaskContext, TaskId,
    TaskOutcome, TaskWorker, Turn,
    ids::uuid_of,
    rights::{Scope, Standing},
    standing,
    store::{RequestedChange, TaskQuery, TaskRun},
};
use galatea_http::{FetchLimits, HttpClient};
use quick_xml::{Reader, XmlVersion, escape::resolve_predefined_entity, events::Event};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, time::Duration};
use url::Url;

use crate::tell;

pub(crate) struct FollowFeed;
/// Reads feeds at their time.
pub(crate) struct FeedReader(pub(crate) HttpClient);

const NAME: &str = "FOLLOW_FEED";
/// Between two looks.
const EVERY: Duration = Duration::from_secs(1_800);
/// Most feeds of a Room, entries of one post, and entries of a feed that are read.
const MOST_FEEDS: usize = 10;
const MOST_NEW: usize = 5;
const MOST_ENTRIES: usize = 200;
/// Longest title, in graphemes.
const LONGEST: usize = 200;
const LIMITS: FetchLimits =
    FetchLimits { max_bytes: 2 << 20, total: Duration::from_secs(20), max_redirects: 5 };

/// Which.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct FeedParams {
    /// Address of the feed, `https://…`.
    url: String,
}

#[async_trait]
impl Action for FollowFeed {
    const NAME: &'static str = NAME;
    const SCOPE: Scope = Scope::Room;
    type Params = FeedParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Post what is new in an RSS or Atom feed in this room, when an admin gives the address of one. /reminders ends it.",
            &["ADD_FEED", "SUBSCRIBE_RSS"],
        )
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        // A weak model calls whatever it is offered, so a private chat offers it to owners only.
        let least = if turn.room.kind.is_direct() { Standing::AgentOwner } else { Standing::Admin };
        Ok(standing::highest_present(turn)? >= least)
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: FeedParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let url = match Url::parse(params.url.trim()) {
            Ok(url) if ["http", "https"].contains(&url.scheme()) && url.has_host() => url,
            _ => return Ok(ActionResult::failed("that is no address of a feed").own()),
        };
        let agent = turn.agent.identity.id();
        let room = turn.store.scheduled(agent, TaskQuery::Room(turn.room.id), 100).await?;
        if room.iter().filter(|task| task.name == NAME).count() >= MOST_FEEDS {
            return Ok(ActionResult::failed("this room follows ten feeds already").own());
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let rule = Schedule::every(EVERY, turn.now())?;
        let run = TaskRun { quiet: true, ..TaskRun::by(rule) };
        let mut task = Task::new(agent, NAME, format!("news of {url}"), turn.now()).runs(run);
        task.id = TaskId(uuid_of(&format!("feed:{agent}:{}:{url}", turn.room.id)));
        task.room_id = Some(turn.room.id);
        task.world_id = Some(turn.room.world_id);
        task.metadata.insert("url".to_owned(), json!(url.as_str()));
        Ok(ActionResult::ok(format!("the feed of {host} is followed"))
            .say(Content::text(format!(
                "I will post here what is new on {host}. /reminders ends it."
            )))
            .effect(RequestedChange::SaveTask { task: Box::new(task) }))
    }
}

#[async_trait]
impl TaskWorker for FeedReader {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
        let metadata = &context.task.metadata;
        let url = metadata.get("url").and_then(Value::as_str).unwrap_or_default();
        let fetched = self.0.fetch_untrusted(url, &LIMITS).await?;
        let feed = parse(&String::from_utf8_lossy(&fetched.bytes));
        let known: Option<BTreeSet<String>> = metadata
            .get("seen")
            .and_then(|seen| serde_json::from_value::<BTreeSet<String>>(seen.clone()).ok());
        let ids: Vec<&str> = feed.entries.iter().map(|entry| entry.id.as_str()).collect();
        let mut outcome = TaskOutcome {
            metadata: Some(Map::from_iter([
                ("url".to_owned(), json!(url)),
                ("seen".to_owned(), json!(ids)),
            ])),
            ..TaskOutcome::default()
        };
        // The first look learns what is old.
        let Some(known) = known else { return Ok(outcome) };
        let new: Vec<&Entry> =
            feed.entries.iter().filter(|entry| !known.contains(&entry.id)).take(MOST_NEW).collect();
        if new.is_empty() {
            return Ok(outcome);
        }
        let title = if feed.title.is_empty() { "News" } else { &feed.title };
        let lines: Vec<String> = new.iter().map(|entry| entry.shown()).collect();
        outcome =
            outcome.say_here(context, Content::text(format!("**{title}**\n{}", lines.join("\n"))));
        Ok(outcome)
    }
}

/// A feed as far as it is read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Feed {
    title: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Entry {
    id: String,
    title: String,
    link: String,
}

impl Entry {
    fn shown(&self) -> String {
        let title = if self.title.is_empty() { "(without a title)" } else { &self.title };
        if self.link.is_empty() { format!("- {title}") } else { format!("- {title} {}", self.link) }
    }

    /// An entry without an id is known by its link, or else by its title.
    fn completed(mut self) -> Self {
        if self.id.is_empty() {
            let own = if self.link.is_empty() { &self.title } else { &self.link };
            self.id.clone_from(own);
        }
        self.id = tell::line(&self.id, 500);
        self
    }
}

/// Reads RSS 2.0 and Atom. What cannot be read is left out: the text is a stranger's.
fn parse(text: &str) -> Feed {
    let (mut feed, mut entry, mut path) = (Feed::default(), None::<Entry>, Vec::<String>::new());
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                let name = name_of(tag.local_name().as_ref());
                if name == "item" || name == "entry" {
                    entry = Some(Entry::default());
                }
                if name == "link" {
                    take_link(&tag, entry.as_mut());
                }
                if path.len() < 64 {
                    path.push(name);
                }
            }
            Ok(Event::Empty(tag)) if name_of(tag.local_name().as_ref()) == "link" => {
                take_link(&tag, entry.as_mut());
            }
            Ok(Event::End(tag)) => {
                let name = name_of(tag.local_name().as_ref());
                if (name == "item" || name == "entry")
                    && let Some(done) = entry.take()
                    && feed.entries.len() < MOST_ENTRIES
                {
                    feed.entries.push(done.completed());
                }
                path.pop();
            }
            Ok(Event::Text(text)) => add(&mut feed, entry.as_mut(), &path, &text.xml10_content()),
            Ok(Event::CData(text)) => add(&mut feed, entry.as_mut(), &path, &text.xml10_content()),
            Ok(Event::GeneralRef(reference)) => {
                let text = match reference.resolve_char_ref() {
                    Ok(Some(c)) => c.to_string(),
                    // Entities of the document's own are not expanded, so they cannot multiply.
                    _ => resolve_predefined_entity(&reference).unwrap_or_default().to_owned(),
                };
                add(&mut feed, entry.as_mut(), &path, &text);
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    feed.title = tell::line(&feed.title, LONGEST);
    for entry in &mut feed.entries {
        entry.title = tell::line(&entry.title, LONGEST);
        let web = Url::parse(entry.link.trim());
        entry.link = web
            .ok()
            .filter(|url| ["http", "https"].contains(&url.scheme()))
            .map(String::from)
            .unwrap_or_default();
    }
    feed
}

fn name_of(name: &str) -> String {
    name.to_lowercase()
}

/// The address of Atom's `<link href>`, but for links to other forms of the entry.
fn take_link(tag: &quick_xml::events::BytesStart<'_>, entry: Option<&mut Entry>) {
    let attribute = |wanted: &str| {
        let found = tag.attributes().flatten().find(|a| name_of(a.key.as_ref()) == wanted)?;
        found.normalized_value(XmlVersion::Implicit1_0).ok().map(|value| value.into_owned())
    };
    let is_page = attribute("rel").is_none_or(|rel| rel == "alternate");
    if let (Some(entry), Some(href), true) = (entry, attribute("href"), is_page) {
        entry.link = href;
    }
}

/// Adds the text of an element.
fn add(feed: &mut Feed, entry: Option<&mut Entry>, path: &[String], text: &str) {
    const MOST: usize = 4_000;
    let here = path.last().map(String::as_str).unwrap_or_default();
    let field = match (entry, here) {
        (Some(entry), "title") => &mut entry.title,
        (Some(entry), "link") => &mut entry.link,
        (Some(entry), "guid" | "id") => &mut entry.id,
        (None, "title") if path.len() <= 3 => &mut feed.title,
        _ => return,
    };
    if field.len() + text.len() <= MOST {
        field.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rss_and_atom_are_read() {
        let rss = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>The Mill &amp; Co</title>
            <item><title><![CDATA[Flour is <b>cheap</b>]]></title><link>https://mill.example/1</link><guid>m-1</guid></item>
            <item><title>No link</title></item></channel></rss>"#;
        let feed = parse(rss);
        assert_eq!(feed.title, "The Mill & Co");
        let shown: Vec<String> = feed.entries.iter().map(Entry::shown).collect();
        assert_eq!(shown, ["- Flour is <b>cheap</b> https://mill.example/1", "- No link"]);
        assert_eq!(feed.entries[0].id, "m-1");
        assert_eq!(feed.entries[1].id, "No link");
        let atom = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><id>urn:1</id><title>One</title>
            <link rel="self" href="https://a.example/self"/><link href="https://a.example/1?a=1&amp;b=2"/></entry></feed>"#;
        let feed = parse(atom);
        assert_eq!(feed.entries[0].shown(), "- One https://a.example/1?a=1&b=2");
    }

    #[test]
    fn hostile_feeds_do_no_harm() {
        for text in [
            "",
            "not xml",
            "<rss><channel><item><title>open",
            "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><rss><item><title>&a;&a;</title></item></rss>",
            "<item><link>javascript:alert(1)</link></item>",
            &"<a>".repeat(10_000),
        ] {
            let feed = parse(text);
            assert!(feed.entries.iter().all(|entry| entry.link.is_empty()), "{feed:?}");
        }
        let many = format!("<rss>{}</rss>", "<item><title>x</title></item>".repeat(1_000));
        assert_eq!(parse(&many).entries.len(), MOST_ENTRIES);
    }
}
