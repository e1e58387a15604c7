//! Settings of the Telegram connector. The variables have elizaOS's names where it has them.

#[cfg(test)]
mod tests;

use galatea_core::{Account, Error, ExposeSecret, Result, SecretString, Settings, Variable};
use galatea_http::{Origins, address};
use std::{net::SocketAddr, time::Duration};
use url::Url;

use crate::error::{self, codes};

const TOKEN: Variable =
    Variable::new("TELEGRAM_BOT_TOKEN", "the token @BotFather gave for the bot")
        .alias(&["TELEGRAM_TOKEN", "TELEGRAM_API_TOKEN", "TG_BOT_TOKEN", "TG_TOKEN"])
        .secret()
        .required();
const API_ROOT: Variable = Variable::new("TELEGRAM_API_ROOT", "address of the Bot API server")
    .or("https://api.telegram.org");
/// Declared and applied by the runtime's gate. Checked here, too, because users of elizaOS write it
/// as a JSON list by hand.
const ALLOWED_CHATS: Variable = Variable::new("TELEGRAM_ALLOWED_CHATS", "a list of chat ids");
const MODE: Variable =
    Variable::new("TELEGRAM_MODE", "how messages arrive: polling or webhook").or("polling");
const WEBHOOK_URL: Variable =
    Variable::new("TELEGRAM_WEBHOOK_URL", "public https address Telegram calls in webhook mode");
const WEBHOOK_LISTEN: Variable =
    Variable::new("TELEGRAM_WEBHOOK_LISTEN", "address and port the webhook listens on")
        .or("127.0.0.1:8443");
const WEBHOOK_SECRET: Variable = Variable::new(
    "TELEGRAM_WEBHOOK_SECRET",
    "what Telegram must send along: 1-256 letters, digits, _ or -; made up and kept when unset",
)
.secret();
const DROP_PENDING: Variable = Variable::new(
    "TELEGRAM_DROP_PENDING",
    "forget messages that came while the agent was not running",
)
.or("false");
const POLL_TIMEOUT: Variable =
    Variable::new("TELEGRAM_POLL_TIMEOUT", "seconds Telegram may hold a poll open, 0 to 50")
        .or("50");

/// Longest time Telegram holds a poll open, in seconds (tdlib/telegram-bot-api,
/// `LONG_POLL_MAX_TIMEOUT`).
const MAX_POLL: u64 = 50;

/// Host of Telegram's own Bot API server. Only its tokens have a known form.
const OFFICIAL: &str = "api.telegram.org";

/// The bot's id, the digits before the colon. `None` if the token does not have @BotFather's form.
fn bot_id(token: &str) -> Option<&str> {
    let (id, secret) = token.split_once(':')?;
    let digits = !id.is_empty()
        && id.len() <= 19
        && id.bytes().all(|b| b.is_ascii_digit())
        && id.parse::<i64>().is_ok();
    let plain = !secret.is_empty()
        && secret.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    (digits && plain).then_some(id)
}

/// How messages arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// We ask Telegram again and again (getUpdates).
    #[default]
    Polling,
    /// Telegram calls us.
    Webhook,
}

/// Settings of one bot.
#[derive(Debug, Clone)]
pub struct TelegramConfig {
    /// The token from @BotFather: digits, a colon, about 35 characters.
    pub token: SecretString,
    /// Address of the Bot API server.
    pub api_root: Url,
    /// How messages arrive.
    pub mode: Mode,
    /// Public address in webhook mode.
    pub webhook_url: Option<Url>,
    /// Where the webhook listens. Loopback by default: a reverse proxy with a certificate stands in
    /// front.
    pub webhook_listen: SocketAddr,
    /// What Telegram must send along; made up and kept in the data folder when unset.
    pub webhook_secret: Option<SecretString>,
    /// Discard the updates that arrived while this program was not connected.
    pub drop_pending: bool,
    /// Seconds a poll may stay open.
    pub poll_timeout: u64,
    /// Where token and address were set, for messages.
    pub(crate) origins: Origins,
}

fn default_root() -> Url {
    #[allow(
        clippy::expect_used,
        reason = "a constant address that parses; every build of the defaults' test proves it"
    )]
    Url::parse("https://api.telegram.org").expect("a valid address")
}

fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8443))
}

impl TelegramConfig {
    /// A configuration with this token and defaults for everything else.
    pub fn new(token: SecretString) -> Self {
        Self {
            token,
            api_root: default_root(),
            mode: Mode::Polling,
            webhook_url: None,
            webhook_listen: default_listen(),
            webhook_secret: None,
            drop_pending: false,
            poll_timeout: MAX_POLL,
            origins: Origins::default(),
        }
    }

    /// The bot's id: the digits before the token's colon, read without asking Telegram. A
    /// self-hosted Bot API server may have tokens of another form; the account is then a name
    /// derived from a hash of the token.
    ///
    /// # Errors
    /// `Invalid` with `GAL-TG-TOKEN` for a malformed token. With a server other than Telegram's,
    /// only for a text that is certainly not a token or cannot be part of a URL. The error never
    /// repeats the token.
    pub fn account(&self) -> Result<Account> {
        let token = self.token.expose_secret();
        if let Some(id) = bot_id(token) {
            return Ok(Account(id.to_owned()));
        }
        let sendable = !token.is_empty()
            && token.bytes().all(|b| b.is_ascii_graphic() && !b"/?#%\\".contains(&b));
        if self.api_root.host_str() == Some(OFFICIAL)
            || !sendable
            || error::mistaken(token).is_some()
        {
            return Err(error::token_shape(token));
        }
        // 32 bits of a hash: enough to distinguish bots, too few to recover the token.
        let name: String = galatea_core::ids::uuid_of(token).to_string().chars().take(8).collect();
        Ok(Account(format!("bot-{name}")))
    }

    /// How long a poll may stay open.
    pub(crate) fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_timeout.min(MAX_POLL))
    }

    pub(crate) fn validate(&self) -> Result<()> {
        self.account()?;
        if self.mode == Mode::Webhook && self.webhook_url.is_none() {
            return Err(Error::invalid("webhook mode needs a public address")
                .with_code("GAL-CFG-VALUE")
                .with_fix(
                    "set TELEGRAM_WEBHOOK_URL=https://your.host/telegram, or TELEGRAM_MODE=polling",
                ));
        }
        if let Some(secret) = &self.webhook_secret {
            let secret = secret.expose_secret();
            // Bot API, setWebhook.secret_token.
            if secret.is_empty()
                || secret.len() > 256
                || !secret.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            {
                return Err(Error::invalid(
                    "TELEGRAM_WEBHOOK_SECRET must have 1 to 256 letters, digits, _ or -",
                )
                .with_code("GAL-CFG-VALUE")
                .with_fix("choose another, or leave it unset: one is made up and kept"));
            }
            if secret == self.token.expose_secret() {
                return Err(Error::invalid("TELEGRAM_WEBHOOK_SECRET must not be the bot token")
                    .with_code("GAL-CFG-VALUE")
                    .with_fix("leave it unset: one is made up and kept"));
            }
        }
        Ok(())
    }
}

/// Every setting of the connector.
pub(crate) const VARIABLES: &[Variable] = &[
    TOKEN,
    API_ROOT,
    MODE,
    WEBHOOK_URL,
    WEBHOOK_LISTEN,
    WEBHOOK_SECRET,
    DROP_PENDING,
    POLL_TIMEOUT,
];

impl TelegramConfig {
    /// Reads the settings; none without a token.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>> {
        let Some(token) = settings.secret(&TOKEN) else { return Ok(None) };
        let mut config = Self::new(token);
        config.origins = Origins::read(
            settings,
            &[
                (&TOKEN, &[codes::TOKEN, codes::UNAUTHORIZED, codes::CONFLICT, codes::WEBHOOK]),
                (&API_ROOT, &[codes::CONNECT, codes::TIMEOUT, codes::GARBAGE]),
            ],
        );
        if let Some(root) = address(settings, &API_ROOT)? {
            config.api_root = root;
        }
        config.account().map_err(|e| config.origins.add(e))?;
        config.mode = match settings
            .text(&MODE)
            .as_deref()
            .map(str::trim)
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            None | Some("polling") => Mode::Polling,
            Some("webhook") => Mode::Webhook,
            Some(_) => {
                return Err(settings.invalid_setting(&MODE, "is neither polling nor webhook"));
            }
        };
        config.webhook_url = address(settings, &WEBHOOK_URL)?;
        if let Some(listen) =
            settings.parse(&WEBHOOK_LISTEN, "an address with a port, such as 127.0.0.1:8443")?
        {
            config.webhook_listen = listen;
        }
        config.webhook_secret = settings.secret(&WEBHOOK_SECRET);
        config.drop_pending = settings.flag(&DROP_PENDING)?;
        if let Some(seconds) = settings.parse(&POLL_TIMEOUT, "a number of seconds")? {
            if seconds > MAX_POLL {
                return Err(settings.invalid_setting(
                    &POLL_TIMEOUT,
                    "is more than the 50 seconds Telegram allows",
                ));
            }
            config.poll_timeout = seconds;
        }
        // The runtime's gate applies the list; a malformed one is reported here with the other
        // settings.
        settings.list(&ALLOWED_CHATS)?;
        config.validate()?;
        Ok(Some(config))
    }
}
