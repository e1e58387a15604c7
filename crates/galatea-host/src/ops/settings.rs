//! Settings: where each comes from, and those that operators set. `.env` and `galatea.toml` are never
//! written.

use galatea_core::{
    AgentId, Error, ErrorKind, ExposeSecret as _, Result, Settings, Timestamp, Variable,
    settings::Origin,
    store::{OperatorRole, StoredSetting},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

use super::{Installation, Operator, Ops};
use crate::{
    agents::factory::{PersonaFactory, change_to, needs_restart},
    characters::{
        personas::Persona,
        stored::{StoredLayers, row},
    },
    config::{self, PROCESS},
    platforms::{Built, PLATFORMS, Taken, accounts},
    storage::seal::Seal,
};

/// Longest value, in characters.
const LONGEST: usize = 16_384;
/// How long turns and sends in flight may take to end when an agent is made anew.
const DRAIN: Duration = Duration::from_secs(25);
/// Longest wait for agents to take a change over; they go on with it afterwards.
const PATIENCE: Duration = Duration::from_secs(10);

/// A setting as it is.
#[derive(Debug, Clone)]
pub struct ListedSetting {
    /// Its name.
    pub name: String,
    /// Heading of its group.
    pub group: &'static str,
    /// Its purpose.
    pub help: &'static str,
    /// Its value or default; none for a secret and where there is neither.
    pub value: Option<String>,
    /// It has a value.
    pub is_set: bool,
    /// Where the value comes from.
    pub origin: Origin,
    /// A secret: its value is never shown.
    pub secret: bool,
    /// It can be set here.
    pub editable: bool,
    /// An operator's value, and when and by whom it was set.
    pub stored: Option<(Timestamp, String)>,
}

/// A change of a setting.
#[derive(Debug, Clone)]
pub struct ChangedSetting {
    /// The setting as it is now.
    pub setting: ListedSetting,
    /// Agents were made anew for it, or are still.
    pub restarted: bool,
}

impl Ops {
    /// Every setting, of the process or as an agent sees it, in the order of the reference.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, and failures of the store.
    pub async fn settings(
        &self,
        by: &Operator,
        agent: Option<AgentId>,
    ) -> Result<Vec<ListedSetting>> {
        by.need(OperatorRole::Viewer)?;
        let installation = self.installation()?;
        let settings = match agent {
            Some(agent) => installation.persona(agent)?.settings,
            None => {
                let layers = self.stored_layers(installation).await?;
                let process = &installation.configuration.settings;
                let nobody = AgentId(uuid::Uuid::nil());
                layers.put_into(process, nobody, process.layers().len())
            }
        };
        let stored = self.store.stored_settings().await?;
        let mut listed = Vec::new();
        for group in config::groups() {
            for variable in &group.variables {
                let own = stored.iter().find(|one| one.agent == agent && one.name == variable.name);
                listed.push(shown(&settings, variable, variable.name, group.title, own));
            }
        }
        // Settings of further accounts have numbers, and stand in no group.
        for one in stored.iter().filter(|one| one.agent == agent) {
            if let Some(variable) = config::find_variable(&one.name)
                && !listed.iter().any(|known| known.name == one.name)
            {
                listed.push(shown(&settings, variable, &one.name, "Accounts", Some(one)));
            }
        }
        Ok(listed)
    }

    /// Sets a setting, of all agents or of one; none removes what an operator set. Agents take it over
    /// at once, or are made anew for it.
    ///
    /// # Errors
    /// `NotFound` (`GAL-CFG-UNKNOWN`) for an unknown name, `Conflict` (`GAL-CFG-FIXED`) for one that is
    /// read before the database is open or that the environment sets, and `Invalid` with the reason for
    /// a value that cannot be used; nothing has changed then.
    pub async fn set_setting(
        &self,
        by: &Operator,
        agent: Option<AgentId>,
        name: &str,
        value: Option<&str>,
    ) -> Result<ChangedSetting> {
        by.need(OperatorRole::Owner)?;
        let installation = self.installation()?;
        if let Some(agent) = agent {
            installation.persona(agent)?;
        }
        let variable = config::find_variable(name)
            .filter(|_| {
                name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            })
            .ok_or_else(|| {
                let error = Error::not_found("there is no setting of this name")
                    .with_code("GAL-CFG-UNKNOWN");
                match config::nearest(name) {
                    Some(meant) => error.with_fix(format!("did you mean {meant}?")),
                    None => error.with_fix("the list of settings has every name"),
                }
            })?;
        editable(&installation.configuration.settings, variable, name, agent)?;
        if value.is_some_and(|value| value.chars().count() > LONGEST || value.contains('\0')) {
            return Err(
                Error::new(ErrorKind::TooLong, "the value is too long").with_code("GAL-CFG-VALUE")
            );
        }
        let before = self.store.stored_settings().await?;
        let before = before.into_iter().find(|one| one.agent == agent && one.name == name);
        let mut layers = self.stored_layers(installation).await?;
        put(&mut layers, agent, name, value);
        let changes = changes(installation, &layers);
        for (_, after) in &changes {
            check(installation, after)?;
        }
        // The agents' own readers of settings are asked first: a value that one refuses is not stored.
        let former = former(&changes);
        let restarted = self.apply_or_undo(changes).await?;
        if let Err(error) = self.store_setting(by, agent, name, value, variable.secret).await {
            self.undo(former).await;
            return Err(error);
        }
        let of = |value: Option<&str>, set: bool| match (variable.secret, value) {
            (true, _) => Some(json!({ "set": set })),
            (false, value) => Some(json!({ "value": value })),
        };
        let was = before.as_ref().filter(|before| !before.sealed).map(|b| b.value.as_str());
        let target = agent.map_or_else(|| name.to_owned(), |agent| format!("{name} of {agent}"));
        let (was, is) = (of(was, before.is_some()), of(value, value.is_some()));
        self.record(by, "setting.change", target, was, is).await?;
        let all = self.settings(by, agent).await?;
        let setting = all.into_iter().find(|one| one.name == name);
        let setting = match setting {
            Some(setting) => setting,
            None => {
                let settings = &installation.configuration.settings;
                shown(settings, variable, name, "Accounts", None)
            }
        };
        Ok(ChangedSetting { setting, restarted })
    }

    async fn store_setting(
        &self,
        by: &Operator,
        agent: Option<AgentId>,
        name: &str,
        value: Option<&str>,
        sealed: bool,
    ) -> Result<()> {
        let Some(value) = value else {
            return self.store.remove_setting(agent, name).await.map(drop);
        };
        let value = if sealed {
            let installation = self.installation()?;
            installation.configuration.redactor().learn(value);
            self.seal(installation)?.seal(&row(agent, name), value)?
        } else {
            value.to_owned()
        };
        let setting = StoredSetting {
            agent,
            name: name.to_owned(),
            value,
            sealed,
            at: self.clock.now(),
            by: by.name.clone(),
        };
        self.store.save_setting(&setting).await
    }

    /// Hands changed personas to their agents, or the former ones if one of them cannot become it.
    ///
    /// # Errors
    /// Why one cannot.
    pub(super) async fn apply_or_undo(
        &self,
        changes: Vec<(Arc<PersonaFactory>, Persona)>,
    ) -> Result<bool> {
        let former = former(&changes);
        match self.apply(changes).await {
            Ok(restarted) => Ok(restarted),
            Err(error) => {
                self.undo(former).await;
                Err(error)
            }
        }
    }

    /// Brings former personas back.
    pub(super) async fn undo(&self, former: Vec<(Arc<PersonaFactory>, Persona)>) {
        if let Err(error) = self.apply(former).await {
            tracing::warn!(error = %error.report(), "an agent could not be brought back to what it was; restart it");
        }
    }

    pub(super) fn seal(&self, installation: &Installation) -> Result<Seal> {
        let settings = &installation.configuration.settings;
        Seal::open(settings, &installation.surroundings.data_dir)
    }

    pub(super) async fn stored_layers(&self, installation: &Installation) -> Result<StoredLayers> {
        let configuration = &installation.configuration;
        let data_dir = &installation.surroundings.data_dir;
        let (settings, redactor) = (&configuration.settings, configuration.redactor());
        StoredLayers::read(&*self.store, settings, data_dir, redactor).await
    }

    /// Hands changed personas to their agents. True if one is made anew for it.
    async fn apply(&self, changes: Vec<(Arc<PersonaFactory>, Persona)>) -> Result<bool> {
        let mut restarts = Vec::new();
        for (factory, after) in changes {
            let before = factory.persona();
            let id = after.character.identity().id();
            let (restart, change) = (needs_restart(&before, &after), change_to(&after)?);
            factory.set(after);
            let orchestrator = Arc::clone(self.running()?);
            if restart {
                restarts
                    .push(tokio::spawn(async move { orchestrator.restart_agent(id, DRAIN).await }));
            } else if let Err(error) = orchestrator.update_agent(id, change).await {
                factory.set(before);
                return Err(error);
            }
        }
        let restarted = !restarts.is_empty();
        // A turn under way may take its time; the agents go on with it without this request.
        if let Ok(done) = timeout(PATIENCE, futures::future::join_all(restarts)).await {
            for outcome in done {
                outcome.map_err(|_| Error::unexpected("the restart of an agent ended early"))??;
            }
        }
        Ok(restarted)
    }
}

/// The personas before changes.
pub(super) fn former(
    changes: &[(Arc<PersonaFactory>, Persona)],
) -> Vec<(Arc<PersonaFactory>, Persona)> {
    changes.iter().map(|(factory, _)| (Arc::clone(factory), factory.persona())).collect()
}

/// The personas of all agents that settings change.
fn changes(
    installation: &Installation,
    layers: &StoredLayers,
) -> Vec<(Arc<PersonaFactory>, Persona)> {
    let shared = installation.configuration.settings.layers().len();
    let factories = installation.factories.read();
    let changed = factories.iter().filter_map(|(id, factory)| {
        let before = factory.persona();
        let settings = layers.put_into(&before.settings, *id, shared);
        let same = settings.layers() == before.settings.layers();
        (!same).then(|| (Arc::clone(factory), Persona { settings, ..before }))
    });
    changed.collect()
}

pub(super) fn put(
    layers: &mut StoredLayers,
    agent: Option<AgentId>,
    name: &str,
    value: Option<&str>,
) {
    let layer = match agent {
        Some(agent) => layers.own.entry(agent).or_default(),
        None => &mut layers.all,
    };
    match value {
        Some(value) => {
            let setting =
                galatea_core::settings::Setting { value: value.into(), origin: Origin::Stored };
            layer.insert(name.to_owned(), setting);
        }
        None => {
            layer.remove(name);
        }
    }
}

/// Builds what is made of the settings, without a call to a platform or model.
pub(super) fn check(installation: &Installation, persona: &Persona) -> Result<()> {
    installation.surroundings.configured(persona)?;
    change_to(persona)?;
    let host = galatea_core::Host {
        agent: persona.character.identity(),
        agent_name: persona.character.name.clone(),
        data_dir: installation.surroundings.data_dir.clone(),
        clock: Arc::clone(&installation.surroundings.clock),
    };
    let mut taken = Taken::default();
    for platform in PLATFORMS {
        for account in accounts::of(platform, &persona.settings) {
            match platform.connector(&account, &host, &mut taken)? {
                Built::On(_) | Built::Off(_) => {}
            }
        }
    }
    Ok(())
}

/// # Errors
/// `Conflict` (`GAL-CFG-FIXED`) for a setting whose value here would not count.
fn editable(
    settings: &Settings,
    variable: &Variable,
    name: &str,
    agent: Option<AgentId>,
) -> Result<()> {
    let fixed = |what: &str, fix: &str| {
        Err(Error::new(ErrorKind::Conflict, what.to_owned())
            .with_code("GAL-CFG-FIXED")
            .with_fix(fix.to_owned()))
    };
    if is_of_process(variable) {
        return fixed(
            "this setting is read before the database is open",
            "set it in the environment, in .env or in galatea.toml, and restart",
        );
    }
    let environment = settings.layers().first().and_then(|layer| layer.get(name));
    if agent.is_none() && environment.is_some_and(|setting| !setting.text().is_empty()) {
        return fixed("the environment sets it, which counts more", "unset it there, and restart");
    }
    Ok(())
}

fn is_of_process(variable: &Variable) -> bool {
    let process = config::groups().iter().filter(|group| group.title == PROCESS);
    process.flat_map(|group| &group.variables).any(|known| known.name == variable.name)
}

fn shown(
    settings: &Settings,
    variable: &'static Variable,
    name: &str,
    group: &'static str,
    stored: Option<&StoredSetting>,
) -> ListedSetting {
    let (found, value) = if name == variable.name {
        (settings.find(variable), settings.text(variable))
    } else {
        let raw = settings.raw(name);
        (raw, raw.map(galatea_core::settings::Setting::text))
    };
    ListedSetting {
        name: name.to_owned(),
        group,
        help: variable.help,
        value: value.filter(|_| !variable.secret),
        is_set: found.is_some_and(|found| !found.secret().expose_secret().is_empty()),
        origin: found.map_or(Origin::Default, |found| found.origin.clone()),
        secret: variable.secret,
        editable: editable(settings, variable, name, None).is_ok(),
        stored: stored.map(|stored| (stored.at, stored.by.clone())),
    }
}
