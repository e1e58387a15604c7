//! Settings of the runtime: when to answer, how busy rooms behave, how long things may take.

mod platform;

use galatea_core::{Error, Result, Settings, Source, Variable, room::ChannelType};
use std::time::Duration;

pub use platform::platform_variables;

/// Who may talk to the agent in direct messages.
pub const DM_POLICY: Variable =
    Variable::new("DM_POLICY", "Direct messages: open, allowlist, pairing or disabled. <SOURCE>_DM_POLICY (TELEGRAM_DM_POLICY, …) overrides it per platform.")
        .or("open");
/// Who is on the allowlist.
pub const ALLOW_FROM: Variable =
    Variable::new("ALLOW_FROM", "People on the allowlist: platform ids or @handles, separated by commas. <SOURCE>_ALLOW_FROM overrides it per platform.");
/// What makes the agent answer in groups.
pub const GROUP_POLICY: Variable = Variable::new(
    "GROUP_POLICY",
    "Groups: any of mention, reply, name (separated by commas), or always, ambient (a model decides), disabled. <SOURCE>_GROUP_POLICY overrides it per platform.",
)
.or("mention,reply,name");
/// Room types that always get an answer.
pub const ALWAYS_RESPOND_CHANNELS: Variable =
    Variable::new("ALWAYS_RESPOND_CHANNELS", "Room types that always get an answer, such as DM,GROUP,THREAD.").alias(&["SHOULD_RESPOND_BYPASS_TYPES"]);
/// Platforms that always get an answer.
pub const ALWAYS_RESPOND_SOURCES: Variable =
    Variable::new("ALWAYS_RESPOND_SOURCES", "Platforms that always get an answer; a part of the name is enough.").alias(&["SHOULD_RESPOND_BYPASS_SOURCES"]);
/// Answer bots at all.
pub const ALLOW_BOTS: Variable = Variable::new("ALLOW_BOTS", "Answer other bots. <SOURCE>_ALLOW_BOTS overrides it per platform.").or("false");
/// Bot to bot hops.
pub const BOT_HOP_LIMIT: Variable = Variable::new("BOT_HOP_LIMIT", "Answers to bots in a row before a person has to speak.").or("3");
/// Silent unless followed.
pub const DEFLLMOFF: Variable = Variable::new("BOOTSTRAP_DEFLLMOFF", "Stay silent in rooms that the agent does not follow (elizaOS).").or("false");
/// Busy rooms.
pub const BUSY_POLICY: Variable = Variable::new(
    "BUSY_POLICY",
    "Messages that arrive while an answer is being made: auto (direct messages collect, groups each), collect (one answer to all that wait), each (one answer per message), interrupt (start again with both), drop (skip, with the reason).",
)
.or("auto");
/// How many messages one answer may address.
pub const COLLECT_LIMIT: Variable = Variable::new("COLLECT_LIMIT", "Most messages that one collected answer addresses.").or("12");
/// Context length.
pub const CONVERSATION_LENGTH: Variable = Variable::new("CONVERSATION_LENGTH", "Earlier messages of the room that the model is shown.").or("32");
/// Provider deadline.
pub const PROVIDERS_TOTAL_TIMEOUT_MS: Variable =
    Variable::new("PROVIDERS_TOTAL_TIMEOUT_MS", "Longest time a provider may take, in milliseconds; a slower one is left out.").or("1000");
/// Turn deadline.
pub const TURN_TIMEOUT_SECONDS: Variable = Variable::new("TURN_TIMEOUT_SECONDS", "Longest time one turn may take, in seconds.").or("120");
/// Age of a question.
pub const MESSAGE_TTL_MINUTES: Variable =
    Variable::new("MESSAGE_TTL_MINUTES", "A message older than this, in minutes, when its turn comes is not answered any more.").or("60");
/// Age of an answer.
pub const ANSWER_TTL_MINUTES: Variable =
    Variable::new("ANSWER_TTL_MINUTES", "An answer that could not be sent for this long, in minutes, is not sent any more.").or("10");
/// What a room reads when no model answers.
pub const MODEL_NOTICE: Variable = Variable::new("MODEL_NOTICE", "What a room reads when no model answers, once in ten minutes; none says nothing.")
    .or("Sorry, I cannot think right now: my language model does not answer. Please try again in a few minutes.");
/// Doubtful deliveries.
pub const DELIVERY_WHEN_UNSURE: Variable = Variable::new(
    "DELIVERY_WHEN_UNSURE",
    "What to do with an answer that may have arrived when the platform cannot tell: resend (may be read twice) or hold (may be lost; shown as ambiguous).",
)
.or("resend");
/// The script in public.
pub const OFFLINE_RESPONDER_PUBLIC: Variable =
    Variable::new("OFFLINE_RESPONDER_PUBLIC", "Let the offline script answer on public platforms when no model is configured.").or("false");

/// Every setting the runtime reads.
pub const VARIABLES: &[Variable] = &[
    DM_POLICY,
    ALLOW_FROM,
    GROUP_POLICY,
    ALWAYS_RESPOND_CHANNELS,
    ALWAYS_RESPOND_SOURCES,
    ALLOW_BOTS,
    BOT_HOP_LIMIT,
    DEFLLMOFF,
    BUSY_POLICY,
    COLLECT_LIMIT,
    CONVERSATION_LENGTH,
    PROVIDERS_TOTAL_TIMEOUT_MS,
    TURN_TIMEOUT_SECONDS,
    MESSAGE_TTL_MINUTES,
    ANSWER_TTL_MINUTES,
    MODEL_NOTICE,
    DELIVERY_WHEN_UNSURE,
    OFFLINE_RESPONDER_PUBLIC,
];

/// Direct message policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmPolicy {
    /// Everybody.
    Open,
    /// Only people on the list.
    Allowlist,
    /// Strangers get a code for the owner to approve.
    Pairing,
    /// Nobody.
    Disabled,
}

/// Group policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupPolicy {
    /// When addressed in one of these ways.
    Addressed {
        /// By a mention.
        mention: bool,
        /// By a reply to the agent.
        reply: bool,
        /// By name.
        name: bool,
    },
    /// Every message.
    Always,
    /// When addressed, and otherwise when a model thinks so.
    Ambient,
    /// Never.
    Disabled,
}

/// What happens to messages that arrive while an answer is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyPolicy {
    /// One answer to all that wait.
    Collect,
    /// One answer per message.
    Each,
    /// Start again with both.
    Interrupt,
    /// Skip, with the reason.
    Drop,
}

/// When to answer on one platform. A value: the gate is a pure function of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Answer here at all (`<SOURCE>_AUTO_REPLY`).
    pub auto_reply: bool,
    /// Direct messages.
    pub dm: DmPolicy,
    /// The setting that says so.
    pub dm_setting: String,
    /// The allowlist, lower case, handles without `@`.
    pub allow_from: Vec<String>,
    /// Groups.
    pub group: GroupPolicy,
    /// The setting that says so.
    pub group_setting: String,
    /// Rooms allowed, by platform id; all when none.
    pub allowed_rooms: Option<Vec<String>>,
    /// The setting that says so.
    pub allowed_rooms_setting: String,
    /// Rooms in which it only listens, by platform id.
    pub listen_rooms: Vec<String>,
    /// The setting that says so.
    pub listen_rooms_setting: String,
    /// People answered, lower case, handles without `@` or ids; everybody when none.
    pub only_users: Option<Vec<String>>,
    /// The setting that says so.
    pub only_users_setting: String,
    /// Answer bots.
    pub allow_bots: bool,
    /// The setting that says so.
    pub allow_bots_setting: String,
    /// Answers to bots in a row.
    pub bot_hop_limit: u32,
    /// Room types always answered.
    pub always_types: Vec<ChannelType>,
    /// This platform is always answered.
    pub always_source: bool,
    /// Silent unless followed.
    pub off_by_default: bool,
    /// The offline script may answer in public.
    pub script_in_public: bool,
}

/// Timing and sizes of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Busy policy; none means by room type.
    pub busy: Option<BusyPolicy>,
    /// Messages one answer addresses at most.
    pub collect: usize,
    /// Earlier messages shown to the model.
    pub conversation: u32,
    /// Deadline of a provider.
    pub provider: Duration,
    /// Deadline of a turn.
    pub turn: Duration,
    /// Age at which a question expires.
    pub message_ttl: Duration,
    /// Age at which an answer expires.
    pub answer_ttl: Duration,
    /// An answer that may have arrived is sent again.
    pub resend_unsure: bool,
}

impl Limits {
    /// Reads the settings.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let number = |variable: &Variable| -> Result<u64> {
            let value: Option<u64> = settings.parse(variable, "a whole number")?;
            value.filter(|n| *n > 0).ok_or_else(|| settings.complain(variable, "has to be more than 0"))
        };
        let busy = match settings.text(&BUSY_POLICY).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "auto" => None,
            "collect" => Some(BusyPolicy::Collect),
            "each" => Some(BusyPolicy::Each),
            "interrupt" => Some(BusyPolicy::Interrupt),
            "drop" => Some(BusyPolicy::Drop),
            _ => return Err(settings.complain(&BUSY_POLICY, "is none of auto, collect, each, interrupt, drop")),
        };
        Ok(Self {
            busy,
            collect: usize::try_from(number(&COLLECT_LIMIT)?.min(100)).unwrap_or(12),
            conversation: u32::try_from(number(&CONVERSATION_LENGTH)?.min(500)).unwrap_or(32),
            provider: Duration::from_millis(number(&PROVIDERS_TOTAL_TIMEOUT_MS)?),
            turn: Duration::from_secs(number(&TURN_TIMEOUT_SECONDS)?),
            message_ttl: Duration::from_secs(60 * number(&MESSAGE_TTL_MINUTES)?),
            answer_ttl: Duration::from_secs(60 * number(&ANSWER_TTL_MINUTES)?),
            resend_unsure: match settings.text(&DELIVERY_WHEN_UNSURE).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
                "resend" => true,
                "hold" => false,
                _ => return Err(settings.complain(&DELIVERY_WHEN_UNSURE, "is neither resend nor hold")),
            },
        })
    }
}

impl Policy {
    /// Reads the settings for one platform.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place.
    pub fn from_settings(settings: &Settings, source: &Source) -> Result<Self> {
        let own = PlatformSettings { settings, prefix: source.as_str().to_ascii_uppercase() };
        let (dm_setting, dm) = own.text(platform::DM_POLICY, &DM_POLICY);
        let dm = match dm.as_str() {
            "open" => DmPolicy::Open,
            "allowlist" => DmPolicy::Allowlist,
            "pairing" => DmPolicy::Pairing,
            "disabled" => DmPolicy::Disabled,
            _ => return Err(own.complain(&dm_setting, "is none of open, allowlist, pairing, disabled")),
        };
        let (group_setting, group) = own.text(platform::GROUP_POLICY, &GROUP_POLICY);
        let group = parse_group(&group).ok_or_else(|| own.complain(&group_setting, "is none of mention, reply, name, always, ambient, disabled"))?;
        let (_, allow_from) = own.text(platform::ALLOW_FROM, &ALLOW_FROM);
        let (allow_bots_setting, allow_bots) = own.text(platform::ALLOW_BOTS, &ALLOW_BOTS);
        let rooms = own.list(platform::ALLOWED_CHATS)?;
        let listen = own.list(platform::LISTEN_CHATS)?;
        let users = own.list(platform::TARGET_USERS)?;
        let always_types = settings
            .list(&ALWAYS_RESPOND_CHANNELS)?
            .unwrap_or_default()
            .iter()
            .map(|t| t.to_ascii_uppercase().parse().map_err(|_| settings.complain(&ALWAYS_RESPOND_CHANNELS, "names an unknown room type")))
            .collect::<Result<_>>()?;
        let always_source =
            settings.list(&ALWAYS_RESPOND_SOURCES)?.unwrap_or_default().iter().any(|s| source.as_str().to_ascii_lowercase().contains(&s.to_ascii_lowercase()));
        Ok(Self {
            auto_reply: own.switch(platform::AUTO_REPLY, true)?,
            dm,
            dm_setting,
            allow_from: split(&allow_from).map(|s| s.trim_start_matches('@').to_lowercase()).collect(),
            group,
            group_setting,
            allowed_rooms_setting: rooms.as_ref().map_or_else(|| format!("{}_ALLOWED_CHATS", own.prefix), |(name, _)| name.clone()),
            allowed_rooms: rooms.map(|(_, list)| list).filter(|list| !list.is_empty()),
            listen_rooms_setting: format!("{}_LISTEN_CHATS", own.prefix),
            listen_rooms: listen.map(|(_, list)| list).unwrap_or_default(),
            only_users_setting: format!("{}_TARGET_USERS", own.prefix),
            only_users: users
                .map(|(_, list)| list.iter().map(|name| name.trim_start_matches('@').to_lowercase()).collect::<Vec<_>>())
                .filter(|l| !l.is_empty()),
            allow_bots: parse_switch(&allow_bots).ok_or_else(|| own.complain(&allow_bots_setting, "is neither true nor false"))?,
            allow_bots_setting,
            bot_hop_limit: settings.parse(&BOT_HOP_LIMIT, "a whole number")?.unwrap_or(3),
            always_types,
            always_source,
            off_by_default: settings.flag(&DEFLLMOFF)?,
            script_in_public: settings.flag(&OFFLINE_RESPONDER_PUBLIC)?,
        })
    }
}

struct PlatformSettings<'a> {
    settings: &'a Settings,
    prefix: String,
}

impl PlatformSettings<'_> {
    /// The strongest of `<SOURCE>_<suffix>` in order, else the general variable; with the name that was used.
    fn text(&self, suffixes: &[&str], general: &Variable) -> (String, String) {
        let own = suffixes.iter().map(|s| format!("{}_{s}", self.prefix)).find_map(|name| self.settings.raw(&name).map(|s| (name.clone(), s.text())));
        let (name, value) = own.unwrap_or_else(|| (general.name.to_owned(), self.settings.text(general).unwrap_or_default()));
        (name, value.trim().to_ascii_lowercase())
    }

    fn list(&self, suffixes: &[&str]) -> Result<Option<(String, Vec<String>)>> {
        for suffix in suffixes {
            let name = format!("{}_{suffix}", self.prefix);
            if let Some(setting) = self.settings.raw(&name) {
                let text = setting.text();
                let items = if text.trim().starts_with('[') {
                    let values: Vec<serde_json::Value> = serde_json::from_str(&text).map_err(|_| self.complain(&name, "is not a JSON list"))?;
                    values.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect()
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
            Some(setting) => parse_switch(&setting.text()).ok_or_else(|| self.complain(&name, "is neither true nor false")),
        }
    }

    fn complain(&self, name: &str, what: &str) -> Error {
        let place = self.settings.raw(name).map_or(String::from("default"), |s| s.origin.to_string());
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

#[cfg(test)]
mod tests {
    use super::*;

    const TELEGRAM: Source = Source::new("telegram");

    #[test]
    fn platform_names_beat_general_ones() {
        let settings = Settings::from_pairs([("DM_POLICY", "disabled"), ("TELEGRAM_DM_POLICY", "allowlist"), ("TELEGRAM_ALLOW_FROM", "@Maria, 42")]);
        let policy = Policy::from_settings(&settings, &TELEGRAM).unwrap();
        assert_eq!(policy.dm, DmPolicy::Allowlist);
        assert_eq!(policy.allow_from, ["maria", "42"]);
        assert_eq!(Policy::from_settings(&settings, &Source::new("discord")).unwrap().dm, DmPolicy::Disabled);
    }

    #[test]
    fn elizaos_names_work() {
        let settings = Settings::from_pairs([
            ("TELEGRAM_GROUP_RESPONSE_POLICY", "mention_only"),
            ("TELEGRAM_ALLOWED_CHATS", "[\"-1\", -2]"),
            ("SHOULD_RESPOND_BYPASS_TYPES", "group"),
            ("SHOULD_RESPOND_BYPASS_SOURCES", "tele"),
        ]);
        let policy = Policy::from_settings(&settings, &TELEGRAM).unwrap();
        assert_eq!(policy.group, GroupPolicy::Addressed { mention: true, reply: true, name: false });
        assert_eq!(policy.allowed_rooms.unwrap(), ["-1", "-2"]);
        assert_eq!(policy.always_types, [ChannelType::Group]);
        assert!(policy.always_source);
    }

    #[test]
    fn wrong_values_name_their_place() {
        for (name, value) in [("GROUP_POLICY", "sometimes"), ("TELEGRAM_DM_POLICY", "x"), ("TELEGRAM_AUTO_REPLY", "maybe"), ("TELEGRAM_ALLOWED_CHATS", "[1")] {
            let error = Policy::from_settings(&Settings::from_pairs([(name, value)]), &TELEGRAM).unwrap_err();
            assert!(error.to_string().contains(name) && error.to_string().contains("environment"), "{error}");
        }
        assert!(Limits::from_settings(&Settings::from_pairs([("BUSY_POLICY", "x")])).is_err());
        assert!(Limits::from_settings(&Settings::from_pairs([("COLLECT_LIMIT", "0")])).is_err());
    }
}
