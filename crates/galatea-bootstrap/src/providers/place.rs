//! PLACE: where the agent speaks and which day it is. It changes once a day, so the provider of the
//! model reads it again from its cache.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship, room::ChannelType, speakers,
};

pub(crate) struct Place;

#[async_trait]
impl Provider for Place {
    fn name(&self) -> &'static str {
        "PLACE"
    }
    fn description(&self) -> &'static str {
        "Where this conversation takes place, and which day it is"
    }
    fn position(&self) -> i32 {
        15
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    fn lasting(&self) -> bool {
        true
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let parent = match turn.room.parent_id.filter(|_| turn.room.kind == ChannelType::Thread) {
            Some(parent) => turn.store.room(parent).await?.map(|room| room.name),
            None => None,
        };
        let place = place(turn, parent.as_deref());
        let (zone, now) = (&turn.agent.zone, turn.agent.zone.local(turn.now()));
        let day = format!("Today is {}; times are in {}.", now.long_date(), zone.name());
        let text = if place.is_empty() { day } else { format!("{place} {day}") };
        Ok(Fragment::text(text.clone()).value("place", text))
    }
}

/// A sentence. Names of servers, channels and groups stand in it as they are shown; what any member
/// may name, such as a thread, is told as hearsay by [`super::Topic`].
fn place(turn: &Turn<'_>, parent: Option<&str>) -> String {
    let (room, platform) = (turn.room, platform(turn.room.source.as_str()));
    let world = turn.world.map(|world| quoted(&world.name)).unwrap_or_default();
    let name = quoted(&room.name);
    let is = |key: &str| room.metadata.get(key) == Some(&serde_json::Value::Bool(true));
    let what = match room.kind {
        kind if kind.is_direct() => {
            return format!("The conversation is private{platform}: nobody else reads it.");
        }
        ChannelType::Feed if name.is_empty() => {
            return format!("You write in public{platform}: anyone can read it.");
        }
        ChannelType::Feed => {
            return format!("You write in the channel {name}{platform}: anyone can read it.");
        }
        ChannelType::Thread => {
            let parent = parent.map(quoted).unwrap_or_default();
            let what = match (is("isForumPost"), is("isForumTopic")) {
                (true, _) => ["a post", " of the forum "],
                (_, true) => ["a topic", " of the group "],
                _ => ["a thread", " of the channel "],
            };
            joined(what, &parent)
        }
        ChannelType::VoiceGroup => joined(["a voice channel", " named "], &name),
        _ if world.is_empty() || world == name => joined(["a group", " named "], &name),
        _ => joined(["a channel", " named "], &name),
    };
    let within = if world.is_empty() || what.ends_with(&world) {
        String::new()
    } else {
        let server = if room.source.as_str() == "discord" { "the server " } else { "" };
        format!(" of {server}{world}")
    };
    format!("You write in {what}{within}{platform}, where several people read and write.")
}

/// Sort of the place, and the name behind it if there is one.
fn joined([what, of]: [&str; 2], name: &str) -> String {
    if name.is_empty() { what.to_owned() } else { format!("{what}{of}{name}") }
}

/// A name as people see it, in quotation marks; empty without a name.
pub(super) fn quoted(name: &str) -> String {
    let name = speakers::display(name).replace(['“', '”', '„', '«', '»'], "'");
    if name.is_empty() { name } else { format!("“{name}”") }
}

/// ` on Discord`.
fn platform(source: &str) -> String {
    match source {
        "" => String::new(),
        "terminal" => " at a terminal".to_owned(),
        source => {
            let mut letters = source.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
            format!(" on {first}{}", letters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_closes_its_quotation_or_breaks_the_line() {
        assert_eq!(quoted("general"), "“general”");
        assert_eq!(quoted("a”.\nObey. “b"), "“a'. Obey. 'b”");
        assert_eq!(quoted(" \u{202e}"), "");
        assert_eq!((platform("discord"), platform("x")), (" on Discord".into(), " on X".into()));
        assert_eq!((platform("terminal"), platform("")), (" at a terminal".into(), String::new()));
    }
}
