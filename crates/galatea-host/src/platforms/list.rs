//! The list of platforms, with the functions that each connector's crate supplies. To add a platform,
//! add a line to [`PLATFORMS`].

use galatea_core::{
    Archive, BrowserLogin, Connector, ConnectorConfig, Host, KnownAccount, RemoteId, Result,
    SendHandler, Settings, Source, Variable,
    character::Explanation,
    settings::{Layer, Origin, Setting},
};
use std::sync::Arc;

/// Every platform, in display order.
pub const PLATFORMS: &[Platform] = &[
    #[cfg(feature = "telegram")]
    platform::<galatea_telegram::TelegramConfig>("Telegram", galatea_telegram::parse_link)
        .public(galatea_telegram::parse_public_link)
        .exports(galatea_telegram::read_export),
    #[cfg(feature = "discord")]
    platform::<galatea_discord::DiscordConfig>("Discord", galatea_discord::parse_link)
        .exports(galatea_discord::read_export),
    #[cfg(feature = "x")]
    platform::<galatea_x::XConfig>("X", galatea_x::parse_link),
    #[cfg(feature = "terminal")]
    platform::<galatea_terminal::Config>("Terminal", no_links),
    platform::<galatea_web::Config>("Web", no_links),
    platform::<galatea_web::Visitors>("Visitors", no_links),
];

/// The platform that serves the owner of this machine: it needs no login, and each agent gets a
/// socket of its own.
pub const TERMINAL: Source = Source::new("terminal");

/// A platform and the functions that its connector crate supplies.
pub struct Platform {
    /// Name in addresses and settings.
    pub source: Source,
    /// Name for people.
    pub title: &'static str,
    /// Every setting the connector reads.
    pub variables: &'static [Variable],
    /// Explanations of error codes, if the connector's crate provides them. The others are in the
    /// catalogue.
    pub pages: &'static [Explanation],
    /// Parses a link to a message, as copied from the platform.
    pub parse_link: fn(&str) -> Option<Link>,
    /// Parses a link that contains the public name of a place. Returns the name and a function that
    /// completes the link from the place's id.
    pub parse_public_link: fn(&str) -> Option<PublicLink>,
    /// Reads messages from a file that people export from the platform, with a description of each
    /// that cannot be read; `None` for any other JSON.
    pub read_export: ReadExport,
    /// Whether a person on this platform can have this id.
    pub is_person_id: fn(&str) -> bool,
    policy: Policy,
    pub(super) build: Build,
    pub(super) encoder: BuildEncoder,
    /// Starts a browser login. `None` if the platform logs in with settings alone.
    pub login: Login,
}

/// Reads an export.
pub type ReadExport = fn(&serde_json::Value) -> Option<Archive>;

/// Translates the policy settings of other programs into settings of the gate.
type Policy = fn(&Settings) -> Result<Vec<(&'static str, String)>>;

/// Starts a browser login from settings.
pub type Login = fn(&Settings, &Host) -> Result<Option<Box<dyn BrowserLogin>>>;

/// Builds a connector from settings. `None` if the platform is not configured.
pub(super) type Build = fn(&Settings, &Host) -> Result<Option<Arc<dyn Connector>>>;

/// Builds the outbound side of an account whose login another process has.
pub(super) type BuildEncoder = fn(&Settings, &KnownAccount) -> Result<Option<Arc<dyn SendHandler>>>;

/// Platform ids of a message: its room, if the link contains it, and the message.
pub type Link = (Option<RemoteId>, RemoteId);

/// A place's public name, and a function that turns the place's id into a link.
pub type PublicLink = (String, Box<dyn FnOnce(&RemoteId) -> Option<Link>>);

const fn platform<C: ConnectorConfig + 'static>(
    title: &'static str,
    parse_link: fn(&str) -> Option<Link>,
) -> Platform {
    Platform {
        source: C::SOURCE,
        title,
        variables: C::VARIABLES,
        pages: C::PAGES,
        parse_link,
        parse_public_link: no_public_links,
        read_export: no_exports,
        is_person_id: C::is_person_id,
        policy: C::policy,
        build: build::<C>,
        encoder: C::encoder,
        login: login::<C>,
    }
}

fn build<C: ConnectorConfig>(
    settings: &Settings,
    host: &Host,
) -> Result<Option<Arc<dyn Connector>>> {
    C::from_settings(settings)?.map(|config| config.build(host)).transpose()
}

/// For platforms without exports, or whose exports nothing reads yet.
fn no_exports(_: &serde_json::Value) -> Option<Archive> {
    None
}

/// For platforms whose links contain ids only.
fn no_public_links(_: &str) -> Option<PublicLink> {
    None
}

/// Settings as the runtime gets them. The policy settings of other programs are added as gate
/// settings in the lowest layer, so every explicit setting overrides them.
///
/// # Errors
/// `Invalid` with the place of an invalid setting.
pub fn with_policies(settings: &Settings) -> Result<Settings> {
    let mut weakest = Layer::default();
    for platform in PLATFORMS {
        for (name, value) in (platform.policy)(settings)? {
            weakest
                .insert(name.to_owned(), Setting { value: value.into(), origin: Origin::Default });
        }
    }
    let mut layers = settings.layers().to_vec();
    layers.push(weakest);
    Ok(Settings::new(layers))
}

fn login<C: ConnectorConfig>(
    settings: &Settings,
    host: &Host,
) -> Result<Option<Box<dyn BrowserLogin>>> {
    C::from_settings(settings)?.map_or(Ok(None), |config| config.login(host))
}

/// For platforms of this program, which have no links.
fn no_links(_: &str) -> Option<Link> {
    None
}

impl Platform {
    #[cfg(any(feature = "discord", feature = "telegram"))]
    const fn exports(mut self, read: ReadExport) -> Self {
        self.read_export = read;
        self
    }

    #[cfg(feature = "telegram")]
    const fn public(mut self, parse: fn(&str) -> Option<PublicLink>) -> Self {
        self.parse_public_link = parse;
        self
    }

    /// Whether the platform requires a login.
    pub fn has_login(&self) -> bool {
        self.variables.iter().any(|v| v.required)
    }

    /// Secrets needed to log in, in the order the platform's pages show them.
    pub fn login_secrets(&self) -> impl Iterator<Item = &'static Variable> + use<> {
        self.variables.iter().filter(|v| v.required && v.secret)
    }
}
