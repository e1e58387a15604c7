//! Grants: who may use a tool where, and whether it asks first. They stand in front of the table of
//! rights, which stays as it is. Pure functions over the grants of one agent.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

use super::{Authorship, Ruling, Standing};
use crate::{
    clock::Timestamp,
    error::{Error, Result},
    ids::{AgentId, EntityId, RoomId, WorldId},
};

/// A tool as grants name it. Two tools with equal `owner` and `name` and another `pin` are two
/// tools: what a person allowed was the first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolIdentity {
    /// The plugin that brings it, or the server behind it, by its name in the configuration.
    pub owner: String,
    /// Its name there. Not necessarily the name that the model calls.
    pub name: String,
    /// Hash of all that describes it (name, description, schemas); none for a compiled action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

impl ToolIdentity {
    /// A tool without a pin.
    pub fn new(owner: impl Into<String>, name: impl Into<String>) -> Self {
        Self { owner: owner.into(), name: name.into(), pin: None }
    }
    /// With the hash of its description.
    #[must_use]
    pub fn pinned(mut self, pin: impl Into<String>) -> Self {
        self.pin = Some(pin.into());
        self
    }
}

impl fmt::Display for ToolIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// The tools that a grant is for: one, or all of an owner. Written `owner/name` and `owner/*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolPattern {
    owner: String,
    name: Option<String>,
}

impl ToolPattern {
    /// Exactly this tool, by its names.
    pub fn of(tool: &ToolIdentity) -> Self {
        Self { owner: tool.owner.clone(), name: Some(tool.name.clone()) }
    }

    /// True if it means this tool. Case does not count.
    pub fn matches(&self, tool: &ToolIdentity) -> bool {
        self.owner.eq_ignore_ascii_case(&tool.owner)
            && self.name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(&tool.name))
    }

    /// True if it means one tool only.
    pub fn is_exact(&self) -> bool {
        self.name.is_some()
    }

    /// The error of a pattern that means none of `known`: a rule that does nothing must not look
    /// like one.
    ///
    /// # Errors
    /// `NotFound` (`GAL-GRANT-TOOL`) with the most similar names, or all owners.
    pub fn check<'a>(&self, known: impl Iterator<Item = &'a ToolIdentity>) -> Result<()> {
        let known: Vec<&ToolIdentity> = known.collect();
        if known.iter().any(|tool| self.matches(tool)) {
            return Ok(());
        }
        let of_owner = known.iter().filter(|tool| tool.owner.eq_ignore_ascii_case(&self.owner));
        let mut near: Vec<String> = of_owner.map(ToString::to_string).collect();
        if near.is_empty() {
            near = known.iter().map(|tool| format!("{}/*", tool.owner)).collect();
        }
        near.sort_unstable();
        near.dedup();
        near.truncate(20);
        let there = if near.is_empty() { "none".to_owned() } else { near.join(", ") };
        Err(Error::not_found("no tool has that name, so the rule would do nothing")
            .with_code("GAL-GRANT-TOOL")
            .with("asked for", self)
            .with_fix(format!("name a tool that there is: {there}")))
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name.as_deref().unwrap_or("*"))
    }
}

impl FromStr for ToolPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.trim().split_once('/').map(|(owner, name)| (owner.trim(), name.trim()));
        match parts {
            Some((owner, name)) if !owner.is_empty() && !name.is_empty() && owner != "*" => {
                Ok(Self { owner: owner.to_owned(), name: (name != "*").then(|| name.to_owned()) })
            }
            _ => Err(Error::invalid("a tool is written as its owner and its name")
                .with_code("GAL-GRANT-FORM")
                .with("asked for", text.chars().take(80).collect::<String>())
                .with_fix("write weather/forecast, or weather/* for all tools of weather")),
        }
    }
}

/// Author of a grant, and so its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantKind {
    /// By an owner of the agent: replaces the table for this tool.
    Rule,
    /// By an owner of a World, for that World: can only make it stricter.
    Limit,
    /// By a person who pressed "this room" or "always": the tool does not ask that person again.
    /// It gives no right.
    Consent,
}

impl GrantKind {
    /// The spelling in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Limit => "limit",
            Self::Consent => "consent",
        }
    }

    /// From the stored spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Rule, Self::Limit, Self::Consent].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// When a tool asks before it runs; the later, the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantAsk {
    /// It does not ask.
    Never,
    /// It asks while other people's words are before the model.
    OthersWords,
    /// It asks every time.
    Always,
}

impl GrantAsk {
    /// The spelling in the database, in chats and on the command line; that of
    /// `ACTION_CONFIRMATION`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OthersWords => "others-words",
            Self::Always => "always",
        }
    }

    /// From that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Never, Self::OthersWords, Self::Always]
            .into_iter()
            .find(|ask| ask.as_str().eq_ignore_ascii_case(text.trim()))
    }
}

/// The least standing in a spelling for people and the database; `nobody` is none.
pub fn least_as_str(least: Option<Standing>) -> &'static str {
    match least {
        Some(Standing::Member) => "member",
        Some(Standing::Admin) => "admin",
        Some(Standing::Owner) => "owner",
        Some(Standing::AgentOwner) => "agent-owner",
        None => "nobody",
    }
}

/// From that spelling; the outer none for another word.
pub fn parse_least(text: &str) -> Option<Option<Standing>> {
    let all = Standing::ALL.iter().copied().map(Some).chain([None]);
    all.into_iter().find(|least| least_as_str(*least).eq_ignore_ascii_case(text.trim()))
}

/// A grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The agent whose tools they are.
    pub agent: AgentId,
    /// Its author and power.
    pub kind: GrantKind,
    /// The tools.
    pub tools: ToolPattern,
    /// Only in this World; none in all.
    pub world: Option<WorldId>,
    /// Only in this Room; none in all.
    pub room: Option<RoomId>,
    /// Only for this person; none for everybody.
    pub person: Option<EntityId>,
    /// The least standing that may use it; none: nobody.
    pub from: Option<Standing>,
    /// When it asks first.
    pub ask: GrantAsk,
    /// Only while the tool has this pin; none whatever its pin. A consent without a pin is for a tool
    /// without one.
    pub pin: Option<String>,
    /// The time at which it was given.
    pub at: Timestamp,
}

impl Grant {
    /// A rule of an owner of the agent for everybody everywhere, from this standing on.
    pub fn rule(agent: AgentId, tools: ToolPattern, from: Option<Standing>, at: Timestamp) -> Self {
        Self {
            agent,
            kind: GrantKind::Rule,
            tools,
            world: None,
            room: None,
            person: None,
            from,
            ask: GrantAsk::OthersWords,
            pin: None,
            at,
        }
    }

    /// A consent of one person to one tool as it is now.
    pub fn consent(
        agent: AgentId,
        tool: &ToolIdentity,
        person: EntityId,
        room: Option<RoomId>,
        at: Timestamp,
    ) -> Self {
        Self {
            kind: GrantKind::Consent,
            person: Some(person),
            room,
            ask: GrantAsk::Never,
            pin: tool.pin.clone(),
            ..Self::rule(agent, ToolPattern::of(tool), Some(Standing::Member), at)
        }
    }

    /// True if it concerns this use of a tool.
    fn concerns(&self, used: &ToolUse<'_>) -> bool {
        let pin = match self.kind {
            GrantKind::Consent => self.pin == used.tool.pin,
            // A tool whose description changed is not the tool of the rule; a limit stays.
            GrantKind::Rule => self.pin.is_none() || self.pin == used.tool.pin,
            GrantKind::Limit => true,
        };
        pin && self.tools.matches(used.tool)
            && self.room.is_none_or(|room| room == used.room)
            && self.world.is_none_or(|world| used.world == Some(world))
            && self.person.is_none_or(|person| {
                !used.people.is_empty() && used.people.iter().all(|own| *own == person)
            })
    }

    /// Narrower grants come before wider ones: a Room before a World before all, a tool before all
    /// tools of its owner.
    fn narrowness(&self) -> (bool, bool, bool) {
        (self.room.is_some(), self.world.is_some(), self.tools.is_exact())
    }

    /// The place in words.
    fn place(&self) -> &'static str {
        match (self.room, self.world) {
            (Some(_), _) => " in this room",
            (None, Some(_)) => " in this World",
            (None, None) => "",
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tools, place) = (&self.tools, self.place());
        match self.kind {
            GrantKind::Consent => write!(f, "{tools}{place}: asks this person no more"),
            GrantKind::Rule | GrantKind::Limit => {
                let by = if self.kind == GrantKind::Rule { "" } else { ", by the World's owner" };
                let from = match self.from {
                    Some(Standing::Member) => "for everybody".to_owned(),
                    Some(standing) => format!("from {} on", least_as_str(Some(standing))),
                    None => return write!(f, "{tools}{place}: for nobody{by}"),
                };
                write!(f, "{tools}{place}: {from}, ask {}{by}", self.ask.as_str())
            }
        }
    }
}

/// A use of a tool that is judged.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'a> {
    /// The tool.
    pub tool: &'a ToolIdentity,
    /// World of the Room.
    pub world: Option<WorldId>,
    /// The Room.
    pub room: RoomId,
    /// All people who are answered; with more than one of them, nobody's consent counts.
    pub people: &'a [EntityId],
    /// The least standing among them.
    pub standing: Standing,
    /// Ruling of the table, without any grant.
    pub table: Ruling,
    /// Authors of the words before the model.
    pub words: Authorship,
    /// The person confirmed exactly this.
    pub given: bool,
    /// A consent of earlier counts: false where the operator has every action confirmed.
    pub may_be_kept: bool,
}

/// Ruling on a use of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The ruling.
    pub ruling: Ruling,
    /// The grant that decided; none if the table did.
    pub by: Option<String>,
    /// If it asks: the person may answer for longer than this once.
    pub may_be_kept: bool,
}

/// Judges a use of a tool. The narrowest rule replaces the table; the narrowest limit of the World's
/// owner can only make the ruling stricter; a consent takes the question away, and no right beyond.
pub fn judge(grants: &[Grant], used: &ToolUse<'_>) -> Judged {
    let narrowest = |kind: GrantKind| {
        let found = grants.iter().filter(|grant| grant.kind == kind && grant.concerns(used));
        // Of two equally narrow ones the stricter: fewer people, and then more questions.
        found.max_by_key(|grant| (grant.narrowness(), grant.from.is_none(), grant.from, grant.ask))
    };
    let by = |grant: &Grant| Some(grant.to_string());
    let refused =
        |grant: &Grant| Judged { ruling: Ruling::Refuse, by: by(grant), may_be_kept: false };
    let (rule, limit) = (narrowest(GrantKind::Rule), narrowest(GrantKind::Limit));
    let below = |grant: &&Grant| grant.from.is_none_or(|from| used.standing < from);
    if let Some(grant) = rule.filter(below).or_else(|| limit.filter(below)) {
        return refused(grant);
    }
    let asks = |grant: &Grant| match grant.ask {
        GrantAsk::Never => false,
        GrantAsk::OthersWords => used.words == Authorship::Others,
        GrantAsk::Always => true,
    };
    let (mut ruling, mut decided) = match rule {
        Some(rule) if asks(rule) => (Ruling::Confirm, Some(rule)),
        Some(rule) => (Ruling::Allow, Some(rule)),
        None => (used.table, None),
    };
    if let Some(limit) = limit.filter(|limit| ruling == Ruling::Allow && asks(limit)) {
        (ruling, decided) = (Ruling::Confirm, Some(limit));
    }
    if ruling == Ruling::Confirm && used.given {
        ruling = Ruling::Allow;
    }
    let every_time = [rule, limit].into_iter().flatten().any(|grant| grant.ask == GrantAsk::Always);
    let may_be_kept = ruling == Ruling::Confirm && used.may_be_kept && !every_time;
    let kept = may_be_kept
        .then(|| grants.iter().find(|g| g.kind == GrantKind::Consent && g.concerns(used)))
        .flatten();
    match kept {
        Some(consent) => Judged { ruling: Ruling::Allow, by: by(consent), may_be_kept: false },
        None => Judged { ruling, by: decided.and_then(by), may_be_kept },
    }
}

#[cfg(test)]
mod tests;
