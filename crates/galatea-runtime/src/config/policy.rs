//! Whom to answer on one platform, and when.

use galatea_core::{Error, People, Result, Settings, Source, Variable, room::ChannelType};

use super::{
    ALLOW_BOTS, ALLOW_FROM, ALWAYS_RESPOND_CHANNELS, ALWAYS_RESPOND_SOURCES, ANSWER_PARTS,
    ANSWER_TOKENS, BOT_HOP_LIMIT, DEFLLMOFF, DM_POLICY, GROUP_POLICY, MESSAGE_TTL_MINUTES,
    NAME_RULE, OFFLINE_RESPONDER_PUBLIC, Spending, forms,
};
use std::time::Duration;

/// Age at which a question expires on X, in minutes, unless a setting says otherwise. Mentions are
/// read in intervals that save money, and people answer posts of yesterday; in a chat an answer to
/// what was said an hour ago disturbs.
const TTL_ON_X: u64 = 24 * 60;

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
    /// If addressed in one of these ways.
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
    /// If addressed, and otherwise if a model thinks so.
    Ambient,
    /// Messages of groups get no answer.
    Disabled,
}

/// Number of messages that one answer becomes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// By what the platform takes in one.
    Auto,
    /// At most so many, two or more.
    Most(usize),
    /// All that it takes.
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

/// Conditions for an answer on one platform. A value: the gate is a pure function of it.
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
    /// Limits of answers and money, and blocked people.
    pub spending: Spending,
}

impl Policy {
    /// Reads the settings for one platform.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place.
    pub fn from_settings(settings: &Settings, source: &Source) -> Result<Self> {
        let own = PlatformSettings { settings, prefix: source.as_str().to_ascii_uppercase() };
        let (dm_setting, dm) = own.text(forms::DM_POLICY, &DM_POLICY);
        let dm = parse_dm(&dm).ok_or_else(|| {
            own.invalid_setting(&dm_setting, "is none of open, allowlist, pairing, disabled")
        })?;
        let (group_setting, group) = own.text(forms::GROUP_POLICY, &GROUP_POLICY);
        let group = parse_group(&group).ok_or_else(|| {
            own.invalid_setting(
                &group_setting,
                "is none of mention, reply, name, always, ambient, disabled",
            )
        })?;
        let (name_setting, name_rule) = own.text(forms::NAME_RULE, &NAME_RULE);
        let name_anywhere = match name_rule.as_str() {
            "addressed" => false,
            "anywhere" => true,
            _ => {
                return Err(own.invalid_setting(&name_setting, "is neither addressed nor anywhere"));
            }
        };
        let (parts_setting, parts) = own.text(forms::ANSWER_PARTS, &ANSWER_PARTS);
        let parts = parse_parts(&parts).ok_or_else(|| {
            own.invalid_setting(&parts_setting, "is none of auto, none and a number from 2")
        })?;
        let (message_ttl_setting, message_ttl) = own.message_ttl(source)?;
        let (tokens_setting, tokens) = own.text(forms::ANSWER_TOKENS, &ANSWER_TOKENS);
        let answer_tokens =
            match tokens.as_str() {
                "" => None,
                text => Some(text.parse::<u32>().ok().filter(|tokens| *tokens > 0).ok_or_else(
                    || own.invalid_setting(&tokens_setting, "is no number of tokens from 1"),
                )?),
            };
        let (allow_from_setting, allow_from) = own.people(forms::ALLOW_FROM, &ALLOW_FROM)?;
        let (allow_bots_setting, allow_bots) = own.text(forms::ALLOW_BOTS, &ALLOW_BOTS);
        let rooms = own.list(forms::ALLOWED_CHATS)?;
        let listen = own.list(forms::LISTEN_CHATS)?;
        let users = own.list(forms::TARGET_USERS)?;
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
            auto_reply: own.switch(forms::AUTO_REPLY, true)?,
            dm,
            dm_setting,
            allow_from,
            allow_from_setting,
            group,
            group_setting,
            name_anywhere,
            name_setting,
            parts,
            answer_tokens,
            allowed_rooms_setting: rooms
                .as_ref()
                .map_or_else(|| format!("{}_ALLOWED_CHATS", own.prefix), |(name, _)| name.clone()),
            allowed_rooms: rooms.map(|(_, list)| list).filter(|list| !list.is_empty()),
            listen_rooms_setting: format!("{}_LISTEN_CHATS", own.prefix),
            listen_rooms: listen.map(|(_, list)| list).unwrap_or_default(),
            only_users_setting: format!("{}_TARGET_USERS", own.prefix),
            only_users: users
                .map(|(_, list)| People::parse(list.iter().map(String::as_str)))
                .filter(|people| !people.is_empty()),
            allow_bots: parse_switch(&allow_bots).ok_or_else(|| {
                own.invalid_setting(&allow_bots_setting, "is neither true nor false")
            })?,
            allow_bots_setting,
            message_ttl,
            message_ttl_setting,
            bot_hop_limit: settings.parse(&BOT_HOP_LIMIT, "a whole number")?.unwrap_or(3),
            always_types,
            always_source,
            off_by_default: settings.flag(&DEFLLMOFF)?,
            script_in_public: settings.flag(&OFFLINE_RESPONDER_PUBLIC)?,
            spending: Spending::from_settings(settings, source)?,
        })
    }
}

struct PlatformSettings<'a> {
    settings: &'a Settings,
    prefix: String,
}

impl PlatformSettings<'_> {
    /// The strongest of `<SOURCE>_<suffix>` in order, else the general variable; with the name that
    /// was used.
    fn text(&self, suffixes: &[&str], general: &Variable) -> (String, String) {
        let own = suffixes
            .iter()
            .map(|s| format!("{}_{s}", self.prefix))
            .find_map(|name| self.settings.raw(&name).map(|s| (name.clone(), s.text())));
        let (name, value) = own.unwrap_or_else(|| {
            (general.name.to_owned(), self.settings.text(general).unwrap_or_default())
        });
        (name, value.trim().to_ascii_lowercase())
    }

    /// The age at which a question expires. What is set for all platforms holds on each.
    fn message_ttl(&self, source: &Source) -> Result<(String, Duration)> {
        let (name, text) = self.text(forms::MESSAGE_TTL, &MESSAGE_TTL_MINUTES);
        let is_set =
            name != MESSAGE_TTL_MINUTES.name || self.settings.find(&MESSAGE_TTL_MINUTES).is_some();
        if !is_set && source.as_str() == "x" {
            let name = format!("{}_{}", self.prefix, forms::MESSAGE_TTL[0]);
            return Ok((name, Duration::from_secs(60 * TTL_ON_X)));
        }
        let minutes: Option<u64> = text.parse().ok().filter(|minutes| *minutes > 0);
        let minutes = minutes.ok_or_else(|| {
            self.invalid_setting(&name, "is not a whole number of minutes, 1 or more")
        })?;
        Ok((name, Duration::from_secs(minutes.saturating_mul(60))))
    }

    /// People by the strongest of `<SOURCE>_<suffix>`, else by the general variable; with the name
    /// that was used.
    fn people(&self, suffixes: &[&str], general: &Variable) -> Result<(String, People)> {
        let (name, list) = match self.list(suffixes)? {
            Some(own) => own,
            None => (general.name.to_owned(), self.settings.list(general)?.unwrap_or_default()),
        };
        Ok((name, People::parse(list.iter().map(String::as_str))))
    }

    fn list(&self, suffixes: &[&str]) -> Result<Option<(String, Vec<String>)>> {
        for suffix in suffixes {
            let name = format!("{}_{suffix}", self.prefix);
            if let Some(setting) = self.settings.raw(&name) {
                let text = setting.text();
                let items = if text.trim().starts_with('[') {
                    let values: Vec<serde_json::Value> = serde_json::from_str(&text)
                        .map_err(|_| self.invalid_setting(&name, "is not a JSON list"))?;
                    values
                        .iter()
                        .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
                        .collect()
                } else {
                    split(&text).map(str::to_owned).collect()
                };
                return Ok(Some((name, items)));
            }
        }
        Ok(None)
    }

    fn switch(&self, suffix: &str, default: bool) -> Result<bool> {
        let name = format!("{}_{suffix}", self.prefix);
        match self.settings.raw(&name) {
            None => Ok(default),
            Some(setting) => parse_switch(&setting.text())
                .ok_or_else(|| self.invalid_setting(&name, "is neither true nor false")),
        }
    }

    fn invalid_setting(&self, name: &str, what: &str) -> Error {
        let place =
            self.settings.raw(name).map_or(String::from("default"), |s| s.origin.to_string());
        Error::invalid(format!("{name} {what}")).with_code("GAL-CFG-VALUE").with("where", place)
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|s| !s.is_empty())
}

fn parse_switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
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

fn parse_parts(text: &str) -> Option<Parts> {
    match text {
        "auto" => Some(Parts::Auto),
        "none" => Some(Parts::Any),
        // The last of them says that there is more.
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
