//! Settings of the Discord connector. The variables have elizaOS's names.

use galatea_core::{
    Account, Connector, ConnectorConfig, ExposeSecret, Host, Result, SecretString, Settings,
    Source, Variable, character::Explanation,
};
use galatea_http::Origins;
use std::{sync::Arc, time::Duration};
use url::Url;

use crate::{
    connector::DiscordConnector,
    error::{self, codes},
};

const TOKEN: Variable =
    Variable::new("DISCORD_API_TOKEN", "the token from the application's Bot page")
        .alias(&["DISCORD_BOT_TOKEN"])
        .secret()
        .required();
const APPLICATION: Variable = Variable::new(
    "DISCORD_APPLICATION_ID",
    "the application's id; asked for with the token when unset",
);
const API_ROOT: Variable =
    Variable::new("DISCORD_API_ROOT", "address of the Discord API").or("https://discord.com");
const BOT_URL: Variable = Variable::new(
    "DISCORD_BOT_URL",
    "address of a page about this bot; Discord wants one in the User-Agent; the bot's profile when unset",
);
const CHANNELS: Variable = Variable::new(
    "CHANNEL_IDS",
    "channel ids the agent answers in, separated by commas or as a JSON list; all channels when unset; DISCORD_ALLOWED_CHATS is stronger",
)
.alias(&["DISCORD_CHANNEL_IDS", "discord.allowedChannelIds"]);
const LISTEN: Variable = Variable::new(
    "DISCORD_LISTEN_CHANNEL_IDS",
    "channel ids where it only listens: what is said there is remembered, and nothing is answered",
);
const IGNORE_BOTS: Variable =
    Variable::new("DISCORD_SHOULD_IGNORE_BOT_MESSAGES", "do not answer other bots")
        .alias(&["discord.shouldIgnoreBotMessages"]);
const IGNORE_DIRECT: Variable =
    Variable::new("DISCORD_SHOULD_IGNORE_DIRECT_MESSAGES", "do not answer direct messages")
        .alias(&["discord.shouldIgnoreDirectMessages"]);
const ONLY_MENTIONS: Variable = Variable::new(
    "DISCORD_SHOULD_RESPOND_ONLY_TO_MENTIONS",
    "in servers answer mentions and replies only",
)
.alias(&["discord.shouldRespondOnlyToMentions"]);

/// Settings of one Discord application.
#[derive(Debug, Clone)]
pub struct DiscordConfig {
    /// The token from the application's Bot page: three parts with dots between them.
    pub token: SecretString,
    /// The application's id, where it is known beforehand.
    pub application: Option<u64>,
    /// Address of the Discord API, with or without `/api/v10`.
    pub api_root: Url,
    /// A page about this bot.
    pub bot_url: Option<Url>,
    /// How long the gateway may be silent.
    pub patience: Patience,
    /// Where token and address were set, for messages.
    pub(crate) origins: Origins,
}

/// How long the gateway may be silent at each step before the connection counts as deaf. Discord
/// names none of these times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From the connection to its greeting (HELLO).
    pub greeting: Duration,
    /// From identify or resume to READY or RESUMED, restarted by each event: a resume replays
    /// what was missed first. Twice what discord.js waits for READY.
    pub beginning: Duration,
    /// Without any event, before the gateway is asked for something that is answered by one.
    pub quiet: Duration,
    /// Until that answer; also the quiet after a resume, before anything was heard again.
    pub answer: Duration,
}

impl Default for Patience {
    /// 10 s, 30 s, 5 min and 30 s.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            greeting: seconds(10),
            beginning: seconds(30),
            quiet: seconds(300),
            answer: seconds(30),
        }
    }
}

fn default_root() -> Url {
    #[allow(
        clippy::expect_used,
        reason = "a constant address that parses; every build of the defaults' test proves it"
    )]
    Url::parse("https://discord.com").expect("a valid address")
}

impl DiscordConfig {
    /// A configuration with this token and defaults for everything else.
    pub fn new(token: SecretString) -> Self {
        Self {
            token,
            application: None,
            api_root: default_root(),
            bot_url: None,
            patience: Patience::default(),
            origins: Origins::default(),
        }
    }

    /// The bot's id, read from the token's first part without asking Discord.
    ///
    /// # Errors
    /// `Invalid` with `GAL-DC-TOKEN` for a malformed token. If the shape shows what was pasted
    /// instead, such as a client secret, the error names it. It never repeats the token.
    pub fn account(&self) -> Result<Account> {
        use base64::Engine;
        let token = self.token.expose_secret();
        if let Some(what) = mistaken(token) {
            return Err(error::token_shape(what));
        }
        let parts: Vec<&str> = token.split('.').collect();
        let plain = |p: &&str| {
            !p.is_empty()
                && p.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        };
        let [id, _, _] = parts.as_slice() else { return Err(error::token_shape("")) };
        if !parts.iter().all(plain) {
            return Err(error::token_shape(""));
        }
        let engine = base64::engine::GeneralPurpose::new(
            &base64::alphabet::URL_SAFE,
            base64::engine::GeneralPurposeConfig::new()
                .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
        );
        let id = engine
            .decode(id)
            .ok()
            .and_then(|b| String::from_utf8(b).ok())
            .filter(|id| id.parse::<u64>().is_ok_and(|n| n > 0));
        id.map(Account).ok_or_else(|| error::token_shape(""))
    }
}

/// Guesses from the shape of a malformed token what was pasted instead.
fn mistaken(token: &str) -> Option<&'static str> {
    let hex = token.bytes().all(|b| b.is_ascii_hexdigit());
    let word = token.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if token.len() > 4 && token.get(..4).is_some_and(|p| p.eq_ignore_ascii_case("bot ")) {
        Some("it begins with the word Bot, which is not part of it")
    } else if token.contains(['"', '\'', '`', '“', '”', '‘', '’', '«', '»']) {
        Some("it holds quotes, which are not part of it")
    } else if (17..=20).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_digit()) {
        Some("this is the application's id")
    } else if token.len() == 64 && hex {
        Some("this is the application's public key")
    } else if token.len() == 32 && word {
        Some("this is the client secret from the OAuth2 page")
    } else {
        None
    }
}

fn address(settings: &Settings, variable: &Variable) -> Result<Option<Url>> {
    let Some(url) = settings.parse::<Url>(variable, "an address such as https://host")? else {
        return Ok(None);
    };
    if !matches!(url.scheme(), "http" | "https")
        || url.host_str().is_none()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(
            settings.complain(variable, "is not an http or https address without a user name")
        );
    }
    Ok(Some(url))
}

impl ConnectorConfig for DiscordConfig {
    const SOURCE: Source = crate::SOURCE;
    const VARIABLES: &'static [Variable] = &[
        TOKEN,
        APPLICATION,
        API_ROOT,
        BOT_URL,
        CHANNELS,
        LISTEN,
        IGNORE_BOTS,
        IGNORE_DIRECT,
        ONLY_MENTIONS,
    ];
    const PAGES: &'static [Explanation] = error::PAGES;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        let Some(token) = settings.secret(&TOKEN) else { return Ok(None) };
        let mut config = Self::new(token);
        config.origins = Origins::read(
            settings,
            &[
                (&TOKEN, &[codes::TOKEN, codes::UNAUTHORIZED, codes::INTENTS, codes::IDENTIFY]),
                (&API_ROOT, &[codes::CONNECT, codes::TIMEOUT, codes::GARBAGE]),
            ],
        );
        config.account().map_err(|e| config.origins.add(e))?;
        if let Some(root) = address(settings, &API_ROOT)? {
            config.api_root = root;
        }
        config.bot_url = address(settings, &BOT_URL)?;
        config.application = settings.parse::<u64>(&APPLICATION, "a number of 17 to 20 digits")?;
        Ok(Some(config))
    }

    /// Translates elizaOS's switches into settings of the runtime's gate, which applies them and
    /// explains their effect.
    fn policy(settings: &Settings) -> Result<Vec<(&'static str, String)>> {
        let mut policy = Vec::new();
        if let Some(channels) = settings.list(&CHANNELS)?.filter(|list| !list.is_empty()) {
            policy.push(("DISCORD_ALLOWED_CHATS", channels.join(",")));
        }
        if let Some(channels) = settings.list(&LISTEN)?.filter(|list| !list.is_empty()) {
            policy.push(("DISCORD_LISTEN_CHATS", channels.join(",")));
        }
        if settings.find(&IGNORE_BOTS).is_some() {
            policy.push(("DISCORD_ALLOW_BOTS", (!settings.flag(&IGNORE_BOTS)?).to_string()));
        }
        if settings.flag(&IGNORE_DIRECT)? {
            policy.push(("DISCORD_DM_POLICY", "disabled".to_owned()));
        }
        if settings.flag(&ONLY_MENTIONS)? {
            policy.push(("DISCORD_GROUP_POLICY", "mention,reply".to_owned()));
        }
        Ok(policy)
    }

    fn is_person_id(text: &str) -> bool {
        galatea_core::people::is_number(text)
    }

    fn build(self, host: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self.connector(host)?))
    }
}

impl DiscordConfig {
    /// Builds the connector like [`ConnectorConfig::build`], but returns the concrete type.
    ///
    /// # Errors
    /// `Invalid` for a malformed token; `Unexpected` if the HTTP client cannot be built.
    pub fn connector(self, host: &Host) -> Result<DiscordConnector> {
        DiscordConnector::new(self, host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<DiscordConfig>> {
        DiscordConfig::from_settings(&Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v))))
    }

    /// `112233445566778899` in base64, then what Discord appends.
    const GOOD: &str = "MTEyMjMzNDQ1NTY2Nzc4ODk5.GcanAr.canaryCANARYcanaryCANARYcanaryCAN_-12345";

    #[test]
    fn a_token_is_enough() {
        let config = read(&[("DISCORD_API_TOKEN", GOOD)]).unwrap().unwrap();
        assert_eq!(config.account().unwrap().0, "112233445566778899");
        assert_eq!(config.api_root.as_str(), "https://discord.com/");
        assert!(read(&[("DISCORD_BOT_TOKEN", &format!(" \"{GOOD}\" "))]).unwrap().is_some());
        assert!(read(&[]).unwrap().is_none());
    }

    #[test]
    fn what_was_pasted_instead_is_reported_without_being_repeated() {
        for (wrong, expected) in [
            (format!("Bot {GOOD}"), "word Bot"),
            (format!("\"{GOOD}\""), "quotes"),
            ("112233445566778899".to_owned(), "application's id"),
            ("c0ffee00".repeat(8), "public key"),
            ("canaryCANARYcanaryCANARYcanary12".to_owned(), "client secret"),
            (GOOD.replace('.', ""), "three parts"),
            (format!("canary.{}", &GOOD[25..]), "three parts"),
            (format!("{GOOD} x"), "three parts"),
            (String::new(), "three parts"),
        ] {
            let config = DiscordConfig::new(SecretString::from(wrong.clone()));
            let error = config.account().unwrap_err();
            assert_eq!(error.code(), Some("GAL-DC-TOKEN"), "{wrong}");
            assert!(error.to_string().contains(expected), "{error}");
            assert!(
                !format!("{error} {error:?} {} {config:?}", error.report())
                    .to_lowercase()
                    .contains("canary"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_with_their_place() {
        for (name, value) in [
            ("DISCORD_API_ROOT", "ftp://x"),
            ("DISCORD_API_ROOT", "https://user:pw@host"),
            ("DISCORD_APPLICATION_ID", "x"),
            ("DISCORD_BOT_URL", "x"),
        ] {
            let error = read(&[("DISCORD_API_TOKEN", GOOD), (name, value)]).unwrap_err();
            assert!(error.message().contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn elizaos_switches_become_the_gates() {
        let settings = Settings::from_pairs([
            ("CHANNEL_IDS", "[1, \"2\"]"),
            ("DISCORD_LISTEN_CHANNEL_IDS", "3, 4"),
            ("DISCORD_SHOULD_IGNORE_BOT_MESSAGES", "true"),
            ("DISCORD_SHOULD_IGNORE_DIRECT_MESSAGES", "true"),
            ("DISCORD_SHOULD_RESPOND_ONLY_TO_MENTIONS", "true"),
        ]);
        let policy = DiscordConfig::policy(&settings).unwrap();
        assert_eq!(
            policy,
            [
                ("DISCORD_ALLOWED_CHATS", "1,2".to_owned()),
                ("DISCORD_LISTEN_CHATS", "3,4".to_owned()),
                ("DISCORD_ALLOW_BOTS", "false".to_owned()),
                ("DISCORD_DM_POLICY", "disabled".to_owned()),
                ("DISCORD_GROUP_POLICY", "mention,reply".to_owned())
            ]
        );
        assert!(DiscordConfig::policy(&Settings::default()).unwrap().is_empty());
        assert!(DiscordConfig::policy(&Settings::from_pairs([("CHANNEL_IDS", "[1")])).is_err());
    }
}
