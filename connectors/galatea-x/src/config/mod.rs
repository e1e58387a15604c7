//! Settings of the X connector. Names and units (minutes) follow elizaOS.

pub(crate) mod prices;
pub(crate) mod read;
#[cfg(test)]
mod tests;
pub(crate) mod variables;

use galatea_core::{Account, Error, ExposeSecret, People, Result, SecretString};
use galatea_http::Origins;
use std::time::Duration;
use url::Url;

use self::prices::{Prices, Usd};
use crate::error::codes;

/// Settings of one account.
#[derive(Debug, Clone)]
pub struct XConfig {
    /// How we prove who we are.
    pub credentials: Credentials,
    /// Address of the API.
    pub api_root: Url,
    /// Address of the page on which a person allows the app (OAuth 2).
    pub authorize_url: Url,
    /// Nothing is posted; the log shows what would be.
    pub dry_run: bool,
    /// Handles that are answered, lower case without `@`; everyone when empty.
    pub target_users: People,
    /// Mentions are read and answered.
    pub replies: bool,
    /// How often mentions are looked for.
    pub poll: PollPace,
    /// Original posts; none when switched off.
    pub posting: Option<Posting>,
    /// Replies in public to those who mention it that it cannot answer.
    pub notices: bool,
    /// Handles that posts may mention besides the person who is answered, lower case without `@`.
    pub may_mention: Vec<String>,
    /// What X allows the account.
    pub tier: Tier,
    /// Most that may be spent in a day (UTC).
    pub daily_limit: Usd,
    /// What calls cost.
    pub prices: Prices,
    /// Where keys and address were set, for messages.
    pub(crate) origins: Origins,
}

/// How we prove who we are.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// OAuth 1.0a user context: four values from the developer console; they last until revoked.
    OAuth1 {
        /// API key.
        api_key: SecretString,
        /// API key secret.
        api_secret: SecretString,
        /// Access token: the account's id, a dash, letters.
        token: SecretString,
        /// Access token secret.
        token_secret: SecretString,
    },
    /// OAuth 2 with PKCE: `galatea connector login x` once, after which tokens renew themselves.
    OAuth2 {
        /// Client id of the app.
        client_id: String,
        /// Client secret; confidential clients have one.
        client_secret: Option<SecretString>,
        /// Where the browser is sent after the person agreed; must be entered in the developer
        /// console.
        redirect: Url,
    },
}

/// How often mentions are looked for: at the fastest after one came, growing to the slowest while
/// nothing comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollPace {
    /// Shortest pause.
    pub fastest: Duration,
    /// Longest pause.
    pub slowest: Duration,
}

impl Default for PollPace {
    /// 15 to 120 s.
    fn default() -> Self {
        Self { fastest: Duration::from_secs(15), slowest: Duration::from_secs(120) }
    }
}

/// When original posts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// Shortest time between two.
    pub least: Duration,
    /// Longest time between two.
    pub most: Duration,
    /// The first one right after a start.
    pub immediately: bool,
    /// Hours without posts.
    pub quiet: Option<Quiet>,
}

/// Hours of the day (UTC) in which nothing original is posted, such as 22 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// First hour, 0 to 23.
    pub from: u8,
    /// The hour after the last, 0 to 23.
    pub to: u8,
}

/// What X allows the account. Since 2026-02-23 self-serve apps may reply only when summoned; since
/// 2026-04-20 they may not like, follow or quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// Pay per use, Basic, Pro.
    #[default]
    SelfServe,
    /// An Enterprise contract.
    Enterprise,
}

fn default_root() -> Url {
    #[allow(
        clippy::expect_used,
        reason = "a constant address that parses; every build of the defaults' test proves it"
    )]
    Url::parse("https://api.x.com").expect("a valid address")
}

fn default_authorize() -> Url {
    #[allow(
        clippy::expect_used,
        reason = "a constant address that parses; every build of the defaults' test proves it"
    )]
    Url::parse("https://x.com/i/oauth2/authorize").expect("a valid address")
}

fn default_limit() -> Usd {
    Usd::from_cents(100)
}

/// Begins the name of an account whose id the credentials do not tell.
pub(crate) const HASHED: &str = "account-";

/// Whether an address is X's own. Only its access tokens have a known form.
fn is_xs(root: &Url) -> bool {
    root.host_str().is_some_and(|host| {
        ["x.com", "twitter.com"].iter().any(|own| {
            host.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    })
}

impl XConfig {
    /// Defaults for everything but the credentials: a dry run.
    pub fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            api_root: default_root(),
            authorize_url: default_authorize(),
            dry_run: true,
            target_users: People::default(),
            replies: true,
            poll: PollPace::default(),
            posting: None,
            notices: false,
            may_mention: Vec::new(),
            tier: Tier::default(),
            daily_limit: default_limit(),
            prices: Prices::default(),
            origins: Origins::default(),
        }
    }

    /// The account's id, as [`Credentials::account`]. A server other than X's may have access tokens
    /// of another form; the account is then a name derived from a hash of the token.
    ///
    /// # Errors
    /// As [`Credentials::account`]; with another server only for a text that cannot be a token.
    pub fn account(&self) -> Result<Option<Account>> {
        let account = self.credentials.account();
        let (Err(_), Credentials::OAuth1 { token, .. }) = (&account, &self.credentials) else {
            return account;
        };
        let token = token.expose_secret();
        let sendable = !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
        if is_xs(&self.api_root) || !sendable {
            return account;
        }
        // 32 bits of a hash: enough to distinguish accounts, too few to recover the token.
        let name: String = galatea_core::ids::uuid_of(token).to_string().chars().take(8).collect();
        Ok(Some(Account(format!("{HASHED}{name}"))))
    }
}

impl Credentials {
    /// The account's id: the digits at the front of an OAuth 1.0a access token. `None` for OAuth 2.
    ///
    /// # Errors
    /// `Invalid` with `GAL-X-TOKEN` for a malformed token. The error does not contain the token.
    pub fn account(&self) -> Result<Option<Account>> {
        let Self::OAuth1 { token, .. } = self else { return Ok(None) };
        let shape = || {
            Error::invalid("Not an access token of X; expected digits, a dash, then about 40 letters and digits")
                .with_code(codes::TOKEN)
                .with_fix("console.x.com → your app → Keys and tokens → Access token and secret → generate, then set TWITTER_ACCESS_TOKEN")
        };
        let (id, rest) = token.expose_secret().split_once('-').ok_or_else(shape)?;
        let digits = !id.is_empty() && id.len() <= 20 && id.bytes().all(|b| b.is_ascii_digit());
        let plain = !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if digits && plain { Ok(Some(Account(id.to_owned()))) } else { Err(shape()) }
    }
}
