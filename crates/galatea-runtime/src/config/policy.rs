//! Whom to answer on one platform, and when.

use galatea_core::{People, Result, Settings, Source, room::ChannelType};

use super::{
    ALLOW_BOTS, ALLOW_FROM, ALLOWED_CHATS, ALWAYS_RESPOND_CHANNELS, ALWAYS_RESPOND_SOURCES,
    ANSWER_PARTS, ANSWER_TOKENS, AUTO_REPLY, BOT_HOP_LIMIT, DEFLLMOFF, DM_POLICY, GROUP_POLICY,
    LISTEN_CHATS, MESSAGE_TTL_MINUTES, NAME_RULE, OFFLINE_RESPONDER_PUBLIC, Spending, TARGET_USERS,
    platform::{PlatformSettings, switch},
};
use std::time::Duration;

/// Age at which a question expires on X, in minutes, unless a setting says otherwise. Mentions are
/// read in intervals that save money, and people answer posts of yesterday; in a chat an answer to
/// what was said an hour ago disturbs.
const TTL_ON_X: u64 = 24 * 60;

/// Telegram keeps updates for at most 24 h (Bot API, getUpdates), so an older date is not a delayed
/// message but a clock that cannot be trusted. Platforms of which nothing is known count alike.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Platforms that list what was said long ago, and are asked for it.
const WITH_HISTORY: [&str; 1] = ["x"];

/// People whose direct messages are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmPolicy {
    /// Everyone's.
    Open,
    /// Only people on the list.
    Allowlist,
    /// Strangers get a code for the owner to approve.
    Pairing,
    /// Direct messages get no answer.
    Disabled,
}

/// Messages of groups that are answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupPolicy {
    /// Messages that address the agent in one of these ways.
    Addressed {
        /// Messages that mention the agent.
        mention: bool,
        /// By a reply to the agent.
        reply: bool,
        /// Messages that call the agent by name.
        name: bool,
    },
    /// Every message gets an answer.
    Always,
    /// Messages that address the agent, and others when a model thinks so.
    Ambient,
    /// Messages of groups get no answer.
    Disabled,
}

/// Messages that one answer becomes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// By what the platform takes in one.
    Auto,
    /// At most so many, two or more.
    Most(usize),
    /// Any number.
    Any,
}

impl Parts {
    /// Characters that are read at once, about: two screens of a phone several times over.
    const TEXT: usize = 8_000;

    /// The number for a platform that takes `max_text` characters in a message; none is without
    /// limit.
    pub(crate) fn on(self, max_text: usize, public: bool) -> Option<usize> {
        match self {
            Self::Any => None,
            Self::Most(most) => Some(most),
            Self::Auto => public.then(|| Self::TEXT.div_ceil(max_text.max(1)).clamp(2, 4)),
        }
    }
}

/// Policy of answering on one platform. A value: the gate is a pure function of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Answer here at all (`<SOURCE>_AUTO_REPLY`).
    pub auto_reply: bool,
    /// People whose direct messages are answered.
    pub dm: DmPolicy,
    /// The setting that says so.
    pub dm_setting: String,
    /// People who may write where the policy is an allowlist, or pairing.
    pub allow_from: People,
    /// The setting that says so.
    pub allow_from_setting: String,
    /// Messages of groups that are answered.
    pub group: GroupPolicy,
    /// The setting that says so.
    pub group_setting: String,
    /// A message that merely contains the agent's name counts as calling it.
    pub name_anywhere: bool,
    /// The setting that says so.
    pub name_setting: String,
    /// Messages one answer becomes at once.
    pub parts: Parts,
    /// Longest answer of a model, in tokens, thoughts aside; none leaves it to the models.
    pub answer_tokens: Option<u32>,
    /// Rooms allowed, by platform id; all when none.
    pub allowed_rooms: Option<Vec<String>>,
    /// The setting that says so.
    pub allowed_rooms_setting: String,
    /// Rooms in which it only listens, by platform id.
    pub listen_rooms: Vec<String>,
    /// The setting that says so.
    pub listen_rooms_setting: String,
    /// People answered; everyone when none.
    pub only_users: Option<People>,
    /// The setting that says so.
    pub only_users_setting: String,
    /// Messages of bots are answered, up to the hop limit.
    pub allow_bots: bool,
    /// The setting that says so.
    pub allow_bots_setting: String,
    /// Age at which a question expires.
    pub message_ttl: Duration,
    /// The setting that says so.
    pub message_ttl_setting: String,
    /// Longest time that the platform keeps a message for the account before it hands it over.
    pub longest_delay: Option<Duration>,
    /// Answers to bots in a row.
    pub bot_hop_limit: u32,
    /// Room types always answered.
    pub always_types: Vec<ChannelType>,
    /// This platform is always answered.
    pub always_source: bool,
    /// Groups get answers only while the agent follows them.
    pub off_by_default: bool,
    /// The offline script may answer in public.
    pub script_in_public: bool,
    /// Limits of answers and money, and who is blocked.
    pub spending: Spending,
}

impl Policy {
    /// Reads the settings for one platform.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place.
    pub fn from_settings(settings: &Settings, source: &Source) -> Result<Self> {
        let own = PlatformSettings::new(settings, source);
        let is_switch = "is neither true nor false";
        let (_, auto_reply) = own.parse(&AUTO_REPLY, is_switch, switch)?;
        let (dm_setting, dm) =
            own.parse(&DM_POLICY, "is none of open, allowlist, pairing, disabled", parse_dm)?;
        let groups = "is none of mention, reply, name, always, ambient, disabled";
        let (group_setting, group) = own.parse(&GROUP_POLICY, groups, parse_group)?;
        let (name_setting, name_anywhere) =
            own.parse(&NAME_RULE, "is neither addressed nor anywhere", parse_name_rule)?;
        let (_, parts) =
            own.parse(&ANSWER_PARTS, "is none of auto, none and a number from 2", parse_parts)?;
        let (_, answer_tokens) =
            own.parse(&ANSWER_TOKENS, "is no number of tokens from 1", parse_tokens)?;
        let (allow_bots_setting, allow_bots) = own.parse(&ALLOW_BOTS, is_switch, switch)?;
        let (message_ttl_setting, message_ttl) = message_ttl(&own, source)?;
        let (allow_from_setting, allow_from) = own.list(&ALLOW_FROM)?;
        let (allowed_rooms_setting, allowed_rooms) = own.list(&ALLOWED_CHATS)?;
        let (listen_rooms_setting, listen_rooms) = own.list(&LISTEN_CHATS)?;
        let (only_users_setting, only_users) = own.list(&TARGET_USERS)?;
        let people = |list: &[String]| People::parse(list.iter().map(String::as_str));
        let always_types = settings
            .list(&ALWAYS_RESPOND_CHANNELS)?
            .unwrap_or_default()
            .iter()
            .map(|t| {
                t.to_ascii_uppercase().parse().map_err(|_| {
                    settings.invalid_setting(&ALWAYS_RESPOND_CHANNELS, "names an unknown room type")
                })
            })
            .collect::<Result<_>>()?;
        let always_source = settings
            .list(&ALWAYS_RESPOND_SOURCES)?
            .unwrap_or_default()
            .iter()
            .any(|s| source.as_str().to_ascii_lowercase().contains(&s.to_ascii_lowercase()));
        Ok(Self {
            auto_reply,
            dm,
            dm_setting,
            allow_from: people(&allow_from),
            allow_from_setting,
            group,
            group_setting,
            name_anywhere,
            name_setting,
            parts,
            answer_tokens,
            allowed_rooms: Some(allowed_rooms).filter(|list| !list.is_empty()),
            allowed_rooms_setting,
            listen_rooms,
            listen_rooms_setting,
            only_users: Some(people(&only_users)).filter(|people| !people.is_empty()),
            only_users_setting,
            allow_bots,
            allow_bots_setting,
            message_ttl,
            message_ttl_setting,
            longest_delay: (!WITH_HISTORY.contains(&source.as_str())).then_some(LONGEST_DELAY),
            bot_hop_limit: settings.parse(&BOT_HOP_LIMIT, "a whole number")?.unwrap_or(3),
            always_types,
            always_source,
            off_by_default: settings.flag(&DEFLLMOFF)?,
            script_in_public: settings.flag(&OFFLINE_RESPONDER_PUBLIC)?,
            spending: Spending::from_settings(settings, source)?,
        })
    }
}

/// The age at which a question expires. The general value holds on each platform.
fn message_ttl(own: &PlatformSettings<'_>, source: &Source) -> Result<(String, Duration)> {
    let is_set = own.own(&MESSAGE_TTL_MINUTES).is_some()
        || own.settings.find(&MESSAGE_TTL_MINUTES).is_some();
    if !is_set && source.as_str() == "x" {
        return Ok((own.name(MESSAGE_TTL_MINUTES.name), Duration::from_secs(60 * TTL_ON_X)));
    }
    let wrong = "is not a whole number of minutes, 1 or more";
    let minutes = |text: &str| text.parse::<u64>().ok().filter(|minutes| *minutes > 0);
    let (name, minutes) = own.parse(&MESSAGE_TTL_MINUTES, wrong, minutes)?;
    Ok((name, Duration::from_secs(minutes.saturating_mul(60))))
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|s| !s.is_empty())
}

fn parse_dm(text: &str) -> Option<DmPolicy> {
    match text {
        "open" => Some(DmPolicy::Open),
        "allowlist" => Some(DmPolicy::Allowlist),
        "pairing" => Some(DmPolicy::Pairing),
        "disabled" => Some(DmPolicy::Disabled),
        _ => None,
    }
}

fn parse_name_rule(text: &str) -> Option<bool> {
    match text {
        "addressed" => Some(false),
        "anywhere" => Some(true),
        _ => None,
    }
}

/// An empty text leaves the length to the models.
fn parse_tokens(text: &str) -> Option<Option<u32>> {
    match text {
        "" => Some(None),
        text => text.parse().ok().filter(|tokens| *tokens > 0).map(Some),
    }
}

fn parse_parts(text: &str) -> Option<Parts> {
    match text {
        "auto" => Some(Parts::Auto),
        "none" => Some(Parts::Any),
        // The last message says that there is more.
        most => most.parse().ok().filter(|most| *most >= 2).map(Parts::Most),
    }
}

fn parse_group(text: &str) -> Option<GroupPolicy> {
    let (mut mention, mut reply, mut name) = (false, false, false);
    for word in split(text) {
        match word {
            "always" => return Some(GroupPolicy::Always),
            "ambient" => return Some(GroupPolicy::Ambient),
            "disabled" => return Some(GroupPolicy::Disabled),
            // elizaOS 2.x spells the default this way.
            "mention_only" => (mention, reply) = (true, true),
            "mention" => mention = true,
            "reply" => reply = true,
            "name" => name = true,
            _ => return None,
        }
    }
    (mention || reply || name).then_some(GroupPolicy::Addressed { mention, reply, name })
}

impl Policy {
    /// Reads the settings of a further account; in explanations its settings carry its number, such
    /// as `_2`.
    ///
    /// # Errors
    /// As [`Policy::from_settings`].
    pub fn of_account(settings: &Settings, source: &Source, suffix: &str) -> Result<Self> {
        let mut policy = Self::from_settings(settings, source)?;
        let prefix = format!("{}_", source.as_str().to_ascii_uppercase());
        let named = [
            &mut policy.dm_setting,
            &mut policy.group_setting,
            &mut policy.allowed_rooms_setting,
            &mut policy.listen_rooms_setting,
            &mut policy.only_users_setting,
            &mut policy.allow_from_setting,
            &mut policy.allow_bots_setting,
            &mut policy.name_setting,
            &mut policy.message_ttl_setting,
        ];
        for name in named.into_iter().chain(policy.spending.names()) {
            *name =
                format!("{}{name}{suffix}", if name.starts_with(&prefix) { "" } else { &prefix });
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests;
