//! Builds the connectors of an agent's accounts, and assigns each login to one agent.

use galatea_core::{
    AgentId, Connector, ExposeSecret, Host, Result, Settings, Source,
    settings::{Layer, Origin, Setting},
};
use galatea_runtime::{Encoder, Encoders};
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use super::{
    accounts::{self, AccountSettings},
    list::{PLATFORMS, Platform, TERMINAL},
};

/// Whether an agent is connected to a platform.
pub enum Built {
    /// Connected by this connector.
    On(Arc<dyn Connector>),
    /// Not connected, with the reason.
    Off(String),
}

/// Logins and sockets already assigned in this process. Each serves one agent.
#[derive(Default)]
pub struct Taken {
    logins: HashMap<(Source, String), (AgentId, String)>,
    /// The agent with the terminal's default socket.
    terminal: Option<AgentId>,
}

impl Platform {
    /// Builds this platform's connector for one account of an agent. Returns [`Built::Off`] if the
    /// account is not configured or another agent already uses its login.
    ///
    /// # Errors
    /// `Invalid` with the place of an invalid setting.
    pub fn connector(
        &self,
        account: &AccountSettings,
        host: &Host,
        taken: &mut Taken,
    ) -> Result<Built> {
        let settings = if self.source == TERMINAL {
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
            && let Some(owner) = taken.by(self.source.clone(), secrets, host)
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
                taken.by(self.source.clone(), &format!("account {who}{whose}"), host)
        {
            return shared(format!("account {who}"), &owner);
        }
        Ok(Built::On(connector))
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
pub fn encoders(settings: &Settings) -> Encoders {
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
    /// Frees the logins of an agent, so that it can be made anew.
    pub fn release_logins(&mut self, agent: AgentId) {
        self.logins.retain(|_, (owner, _)| *owner != agent);
    }

    /// Frees all that an agent had, which is gone.
    pub fn release(&mut self, agent: AgentId) {
        self.release_logins(agent);
        self.terminal = self.terminal.filter(|owner| *owner != agent);
    }

    /// Returns the agent that already uses this login; otherwise assigns it to the agent of `host`.
    /// Several characters see the same environment, and a platform lets one process read a login. The
    /// first character gets it.
    fn by(&mut self, platform: Source, what: &str, host: &Host) -> Option<String> {
        match self.logins.entry((platform, what.to_owned())) {
            Entry::Occupied(owner) => Some(owner.get().1.clone()),
            Entry::Vacant(free) => {
                free.insert((host.agent.id(), host.agent_name.clone()));
                None
            }
        }
    }

    /// The first agent uses the default socket. Every other agent gets its own socket next to it,
    /// unless its character file names one.
    pub(super) fn own_terminal(&mut self, settings: &Settings, host: &Host) -> Settings {
        const SOCKET: &str = "TERMINAL_SOCKET";
        let first = *self.terminal.get_or_insert_with(|| host.agent.id()) == host.agent.id();
        let own =
            matches!(settings.raw(SOCKET), Some(Setting { origin: Origin::Character { .. }, .. }));
        if first || own {
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
