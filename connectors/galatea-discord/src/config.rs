//! Settings of the Discord connector. The variables have elizaOS's names.

use galatea_core::{Account, ExposeSecret, Result, SecretString, Settings, Variable};
use galatea_http::{Origins, address};
use std::time::Duration;
use url::Url;

use crate::error::{self, codes};

const TOKEN: Variable =
    Variable::new("DISCORD_API_TOKEN", "the token from the application's Bot page")
        .alias(&["DISCORD_BOT_TOKEN", "DISCORD_TOKEN"])
        .secret()
        .required();
const APPLICATION: Variable = Variable::new(
    "DISCORD_APPLICATION_ID",
    "the application's id; asked for with the token when unset",
)
.alias(&["DISCORD_CLIENT_ID"]);
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

const PROXIES: Variable = Variable::new(
    "DISCORD_PROXY_APPLICATIONS",
    "ids of applications that post people's messages again under another name, separated by commas; what they post counts as a person's; PluralKit and \
     Tupperbox when unset, none for no application",
);
/// PluralKit and Tupperbox. The id of PluralKit is in the invite link of its documentation's source
/// (GitHub, PluralKit/PluralKit, `docs/content/.vuepress/config.js`). The id of Tupperbox has no source
/// of its own makers: it is in public lists of bots, as the invite link of tupperbox.app, and in the code of other bots.
const KNOWN_PROXIES: [u64; 2] = [466_378_653_216_014_359, 431_544_605_209_788_416];

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
    /// Time for which the gateway may be silent.
    pub patience: Patience,
    /// Applications that post people's messages again under another name.
    pub proxies: Vec<u64>,
    /// Places where token and address were set, for messages.
    pub(crate) origins: Origins,
}

/// Time for which the gateway may be silent at each step before the connection counts as deaf.
/// Discord names none of these times.
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
    /// 5 s, 30 s, 5 min and 30 s.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            greeting: seconds(5),
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

/// True if an address is Discord's own. Only its tokens have a known form.
fn is_discords(root: &Url) -> bool {
    root.host_str().is_some_and(|host| {
        ["discord.com", "discordapp.com"].iter().any(|own| {
            host.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    })
}

/// The bot's id in a token of Discord's form.
fn bot_id(token: &str) -> Option<u64> {
    use base64::Engine;
    let parts: Vec<&str> = token.split('.').collect();
    let plain = |p: &&str| {
        !p.is_empty() && p.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    let [id, _, _] = parts.as_slice() else { return None };
    if !parts.iter().all(plain) {
        return None;
    }
    let engine = base64::engine::GeneralPurpose::new(
        &base64::alphabet::URL_SAFE,
        base64::engine::GeneralPurposeConfig::new()
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
    );
    let id = engine.decode(id).ok().and_then(|b| String::from_utf8(b).ok())?;
    id.parse().ok().filter(|id| *id > 0)
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
            proxies: KNOWN_PROXIES.to_vec(),
            origins: Origins::default(),
        }
    }

    /// The bot's id, read from the token's first part without asking Discord. Another server may
    /// have tokens of another form; the account is then a name derived from a hash of the token.
    ///
    /// # Errors
    /// `Invalid` with `GAL-DC-TOKEN` for a malformed token. With a server other than Discord's,
    /// only for a text that is certainly not a token or cannot be part of a header. If the shape
    /// shows what was pasted instead, such as a client secret, the error names it. It never repeats
    /// the token.
    pub fn account(&self) -> Result<Account> {
        let token = self.token.expose_secret();
        if let Some(what) = mistaken(token) {
            return Err(error::token_shape(what));
        }
        if let Some(id) = bot_id(token) {
            return Ok(Account(id.to_string()));
        }
        if is_discords(&self.api_root) {
            return Err(error::token_shape(mistaken_for_a_form(token).unwrap_or_default()));
        }
        if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(error::token_shape(""));
        }
        // 32 bits of a hash: enough to distinguish bots, too few to recover the token.
        let name: String = galatea_core::ids::uuid_of(token).to_string().chars().take(8).collect();
        Ok(Account(format!("bot-{name}")))
    }

    /// The bot's id, if the token tells it.
    pub(crate) fn bot_id(&self) -> Option<u64> {
        bot_id(self.token.expose_secret())
    }
}

/// Text that was pasted instead of a token, if that is certain on every server.
fn mistaken(token: &str) -> Option<&'static str> {
    if token.len() > 4 && token.get(..4).is_some_and(|p| p.eq_ignore_ascii_case("bot ")) {
        Some("it begins with the word Bot, which is not part of it")
    } else if token.contains(['"', '\'', '`', '“', '”', '‘', '’', '«', '»']) {
        Some("it holds quotes, which are not part of it")
    } else if (17..=20).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_digit()) {
        Some("this is the application's id")
    } else {
        None
    }
}

/// Guesses what was pasted in place of a token, by its length and characters.
fn mistaken_for_a_form(token: &str) -> Option<&'static str> {
    let hex = token.bytes().all(|b| b.is_ascii_hexdigit());
    let word = token.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if token.len() == 64 && hex {
        Some("this is the application's public key")
    } else if token.len() == 32 && word {
        Some("this is the client secret from the OAuth2 page")
    } else {
        None
    }
}

/// Every setting of the connector.
pub(crate) const VARIABLES: &[Variable] = &[
    TOKEN,
    APPLICATION,
    API_ROOT,
    BOT_URL,
    CHANNELS,
    LISTEN,
    IGNORE_BOTS,
    IGNORE_DIRECT,
    ONLY_MENTIONS,
    PROXIES,
];

impl DiscordConfig {
    /// Reads the settings; none without a token.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>> {
        let Some(token) = settings.secret(&TOKEN) else { return Ok(None) };
        let mut config = Self::new(token);
        config.origins = Origins::read(
            settings,
            &[
                (&TOKEN, &[codes::TOKEN, codes::UNAUTHORIZED, codes::INTENTS, codes::IDENTIFY]),
                (&API_ROOT, &[codes::CONNECT, codes::TIMEOUT, codes::GARBAGE]),
            ],
        );
        if let Some(root) = address(settings, &API_ROOT)? {
            config.api_root = root;
        }
        config.account().map_err(|e| config.origins.add(e))?;
        config.bot_url = address(settings, &BOT_URL)?;
        config.application = settings.parse::<u64>(&APPLICATION, "a number of 17 to 20 digits")?;
        if let Some(list) = settings.list(&PROXIES)?.filter(|list| !list.is_empty()) {
            let none = list.len() == 1 && list[0].trim().eq_ignore_ascii_case("none");
            let ids: Option<Vec<u64>> =
                list.iter().filter(|_| !none).map(|id| id.trim().parse().ok()).collect();
            config.proxies = ids.ok_or_else(|| {
                settings.invalid_setting(&PROXIES, "is no list of application ids")
            })?;
        }
        Ok(Some(config))
    }
}

/// Translates elizaOS's switches into settings of the runtime's gate, which applies them and
/// explains their effect.
pub(crate) fn policy(settings: &Settings) -> Result<Vec<(&'static str, String)>> {
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

#[cfg(test)]
mod tests;
