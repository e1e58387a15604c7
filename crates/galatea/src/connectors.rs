//! The list of platforms, and how a connector is built from settings. To add a platform, add a line
//! to [`PLATFORMS`].

use galatea_core::{
    Archive, BrowserLogin, Connector, ConnectorConfig, ExposeSecret, Host, KnownAccount, RemoteId,
    Result, SendHandler, Settings, Source, Variable,
    character::Explanation,
    settings::{Layer, Origin, Setting},
};
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use galatea_runtime::{Encoder, Encoders};

use crate::accounts::{self, AccountSettings};

/// Every platform, in display order.
pub(crate) const PLATFORMS: &[Platform] = &[
    platform::<galatea_telegram::TelegramConfig>("Telegram", galatea_telegram::parse_link)
        .public(galatea_telegram::parse_public_link)
        .exports(galatea_telegram::read_export),
    platform::<galatea_discord::DiscordConfig>("Discord", galatea_discord::parse_link)
        .exports(galatea_discord::read_export),
    platform::<galatea_x::XConfig>("X", galatea_x::parse_link),
    platform::<galatea_terminal::Config>("Terminal", no_links),
];

/// A platform and the functions that its connector crate supplies.
pub(crate) struct Platform {
    /// Name in addresses and settings.
    pub(crate) source: Source,
    /// Name for people.
    pub(crate) title: &'static str,
    /// Every setting the connector reads.
    pub(crate) variables: &'static [Variable],
    /// Explanations of error codes, if the connector's crate provides them. The others are in the
    /// catalogue.
    pub(crate) pages: &'static [Explanation],
    /// Parses a link to a message, as copied from the platform.
    pub(crate) parse_link: fn(&str) -> Option<Link>,
    /// Parses a link that contains the public name of a place. Returns the name and a function that
    /// completes the link from the place's id.
    pub(crate) parse_public_link: fn(&str) -> Option<PublicLink>,
    /// Reads messages from a file that people export from the platform, with a description of each
    /// that cannot be read; `None` for any other JSON.
    pub(crate) read_export: ReadExport,
    /// Whether a person on this platform can have this id.
    pub(crate) is_person_id: fn(&str) -> bool,
    policy: Policy,
    build: Build,
    encoder: BuildEncoder,
    /// Starts a browser login. `None` if the platform logs in with settings alone.
    pub(crate) login: Login,
}

/// Reads an export.
type ReadExport = fn(&serde_json::Value) -> Option<Archive>;

/// Translates the policy settings of other programs into settings of the gate.
type Policy = fn(&Settings) -> Result<Vec<(&'static str, String)>>;

/// Starts a browser login from settings.
type Login = fn(&Settings, &Host) -> Result<Option<Box<dyn BrowserLogin>>>;

/// Builds a connector from settings. `None` if the platform is not configured.
type Build = fn(&Settings, &Host) -> Result<Option<Arc<dyn Connector>>>;

/// Builds the outbound side of an account whose login another process has.
type BuildEncoder = fn(&Settings, &KnownAccount) -> Result<Option<Arc<dyn SendHandler>>>;

/// Platform ids of a message: its room, if the link contains it, and the message.
pub(crate) type Link = (Option<RemoteId>, RemoteId);

/// A place's public name, and a function that turns the place's id into a link.
pub(crate) type PublicLink = (String, Box<dyn FnOnce(&RemoteId) -> Option<Link>>);

/// Whether an agent is connected to a platform.
pub(crate) enum Built {
    On(Arc<dyn Connector>),
    /// Not connected, with the reason.
    Off(String),
}

/// Logins and sockets already assigned in this process. Each serves one agent.
#[derive(Default)]
pub(crate) struct Taken {
    logins: HashMap<(Source, String), String>,
    terminals: usize,
}

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
pub(crate) fn with_policies(settings: &Settings) -> Result<Settings> {
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

/// For the terminal, which has no links.
fn no_links(_: &str) -> Option<Link> {
    None
}

impl Platform {
    const fn exports(mut self, read: ReadExport) -> Self {
        self.read_export = read;
        self
    }

    const fn public(mut self, parse: fn(&str) -> Option<PublicLink>) -> Self {
        self.parse_public_link = parse;
        self
    }

    /// Builds this platform's connector for one account of an agent. Returns [`Built::Off`] if the
    /// account is not configured or another agent already uses its login.
    ///
    /// # Errors
    /// `Invalid` with the place of an invalid setting.
    pub(crate) fn connector(
        &self,
        account: &AccountSettings,
        host: &Host,
        taken: &mut Taken,
    ) -> Result<Built> {
        let settings = if self.source == galatea_terminal::SOURCE {
            taken.own_terminal(&account.settings, host)
        } else {
            account.settings.clone()
        };
        let shared = |what: String, owner: &str| {
            Ok(Built::Off(if owner == host.agent_name {
                format!("{what} is there already; another account needs a login of its own")
            } else {
                format!(
                    "{what} is {owner}'s; give {} its own in settings.secrets of its character file",
                    host.agent_name
                )
            }))
        };
        let login = self.secrets(&settings);
        if let Some((variable, secrets)) = &login
            && let Some(owner) = taken.by(self.source.clone(), secrets, &host.agent_name)
        {
            return shared(account.name_of(variable), &owner);
        }
        let Some(connector) = (self.build)(&settings, host)? else {
            return Ok(Built::Off(self.why_off(account)));
        };
        // Two tokens of one account are the same login.
        let who = connector.info().account.to_string();
        // A browser login is stored per agent, so two agents that are not logged in yet do not
        // conflict. Two accounts of one agent do.
        let whose =
            if login.is_some() { String::new() } else { format!(" of {}", host.agent_name) };
        if self.has_login()
            && let Some(owner) =
                taken.by(self.source.clone(), &format!("account {who}{whose}"), &host.agent_name)
        {
            return shared(format!("account {who}"), &owner);
        }
        Ok(Built::On(connector))
    }

    /// Whether the platform requires a login.
    pub(crate) fn has_login(&self) -> bool {
        self.variables.iter().any(|v| v.required)
    }

    /// Secrets needed to log in, in the order the platform's pages show them.
    pub(crate) fn login_secrets(&self) -> impl Iterator<Item = &'static Variable> + use<> {
        self.variables.iter().filter(|v| v.required && v.secret)
    }

    /// All secrets of a login, joined, and the variable to name in messages. A login may need
    /// several secrets, such as those of an app and those of an account.
    fn secrets(&self, settings: &Settings) -> Option<(&'static str, String)> {
        let secrets: Vec<_> = self.login_secrets().collect();
        let variable = secrets.last()?;
        let values: Option<Vec<String>> = secrets
            .iter()
            .map(|v| settings.secret(v).map(|secret| secret.expose_secret().to_owned()))
            .collect();
        Some((variable.name, values?.join("\n")))
    }

    fn why_off(&self, account: &AccountSettings) -> String {
        let missing: Vec<String> = self
            .variables
            .iter()
            .filter(|v| v.required && account.settings.find(v).is_none())
            .map(|v| account.name_of(v.name))
            .collect();
        match &missing[..] {
            [] => "switched off by its settings".to_owned(),
            [one] => format!("set {one}"),
            [one, other] => format!("set {one} and {other}"),
            [one, ..] => format!("set {one} and {} more", missing.len() - 1),
        }
    }
}

/// Builds the outbound side of accounts whose login other processes have, with an agent's settings.
pub(crate) fn encoders(settings: &Settings) -> Encoders {
    let settings = settings.clone();
    Encoders::new(move |known| {
        let Some(platform) = PLATFORMS.iter().find(|p| p.source == known.info.source) else {
            return Ok(None);
        };
        let account = accounts::numbered(platform, &settings, &known.suffix);
        let handler = (platform.encoder)(&account.settings, known)?;
        let own = || accounts::own_settings(&account);
        let own = if account.number > 1 { Some(own()?) } else { None };
        Ok(handler.map(|handler| Encoder { handler, settings: own }))
    })
}

impl Taken {
    /// Returns the agent that already uses this login; otherwise assigns it to `agent`. Several
    /// characters see the same environment, and a platform lets one process read a login. The first
    /// character gets it.
    fn by(&mut self, platform: Source, what: &str, agent: &str) -> Option<String> {
        match self.logins.entry((platform, what.to_owned())) {
            Entry::Occupied(owner) => Some(owner.get().clone()),
            Entry::Vacant(free) => {
                free.insert(agent.to_owned());
                None
            }
        }
    }

    /// The first agent uses the default socket. Every other agent gets its own socket next to it,
    /// unless its character file names one.
    fn own_terminal(&mut self, settings: &Settings, host: &Host) -> Settings {
        const SOCKET: &str = "TERMINAL_SOCKET";
        self.terminals += 1;
        let own =
            matches!(settings.raw(SOCKET), Some(Setting { origin: Origin::Character { .. }, .. }));
        if self.terminals == 1 || own {
            return settings.clone();
        }
        let id = host.agent.id().to_string();
        let name = format!("terminal-{}.sock", id.split('-').next().unwrap_or(&id));
        settings.with_layer(Layer::from([(
            SOCKET.to_owned(),
            Setting { value: name.into(), origin: Origin::Default },
        )]))
    }
}

#[cfg(test)]
mod tests;
