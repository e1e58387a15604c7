//! Starts the agent in this process for the duration of the conversation, with its terminal only.

use galatea_core::{Error, ErrorKind, Health, Store, store::ProcessRole};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::broadcast::error::RecvError, time::timeout};

use crate::{
    context::Context,
    process::{executable, version},
    report::failure::Result,
};
use galatea_host::{
    agents::{
        Platforms,
        boot::{self, BootOptions, Booted, Place},
    },
    characters::personas,
    config::Configuration,
    storage::{data_dir::DataDir, lock::InstanceLock},
};

/// Longest wait for a local socket to open.
const OPENING: Duration = Duration::from_secs(10);
/// Longest wait for work in flight at the end. The answer has been shown by then.
const DRAIN: Duration = Duration::from_secs(5);

/// The agents that run in this process.
pub(crate) struct Here {
    booted: Booted,
    _lock: InstanceLock,
}

/// Takes the lock, boots the agents and waits for their terminals.
///
/// # Errors
/// `Conflict` (`GAL-LOCK`) if a galatea without a terminal runs with this data folder, and any
/// error that prevents an agent from starting.
pub(crate) async fn start(
    characters: &[PathBuf],
    configuration: &Configuration,
    data_dir: &DataDir,
    context: &Context,
) -> Result<Here> {
    let personas = personas::load(characters, configuration, &context.working_dir)?;
    data_dir.create()?;
    let lock = InstanceLock::take(data_dir.path())?;
    let options = BootOptions {
        settings: &configuration.settings,
        data_dir,
        platforms: Platforms::Terminal,
        role: ProcessRole::default(),
        redactor: &context.output.redactor,
        version: version::FULL,
        parser: &executable::path(),
        place: Place::default(),
    };
    let booted = boot::boot(options, personas).await?;
    let mut events = booted.orchestrator.events().subscribe();
    booted.orchestrator.start()?;
    let here = Here { booted, _lock: lock };
    let opened = timeout(OPENING, async {
        loop {
            if here.terminals()? {
                return Ok(());
            }
            match events.recv().await {
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => {
                    return Err(Error::unexpected("the agent ended while it started"));
                }
            }
        }
    })
    .await;
    match opened {
        Ok(Ok(())) => {
            let models: Vec<_> =
                here.booted.agents.iter().map(|a| format!("{}: {}", a.name, a.model)).collect();
            context.output.say(format_args!(
                "No galatea is running here, so this one answers for now. {}",
                models.join("; ")
            ));
            Ok(here)
        }
        Ok(Err(error)) => {
            here.stop().await;
            Err(error.into())
        }
        Err(_) => {
            here.stop().await;
            Err(Error::new(ErrorKind::Timeout, "the terminal did not open")
                .with_code("GAL-CHAT-OPEN")
                .with_fix("galatea connector check terminal")
                .into())
        }
    }
}

impl Here {
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.booted.store)
    }

    /// Stops the agents within [`DRAIN`].
    pub(crate) async fn stop(&self) {
        self.booted.stop(DRAIN).await;
    }

    /// Whether every terminal is listening.
    fn terminals(&self) -> galatea_core::Result<bool> {
        let statuses = self.booted.orchestrator.statuses();
        if statuses.is_empty() {
            return Err(Error::invalid("the terminal is switched off")
                .with_code("GAL-CHAT-OFF")
                .with_fix("set TERMINAL_ENABLED=true, or leave it out"));
        }
        for status in &statuses {
            match &status.health {
                Health::Up { .. } | Health::Degraded { .. } => {}
                Health::Starting | Health::Elsewhere => return Ok(false),
                Health::Retrying { reason, .. } => return Err(closed(reason, None)),
                Health::Down { reason, fix, .. } => return Err(closed(reason, fix.as_deref())),
            }
        }
        Ok(true)
    }
}

fn closed(reason: &str, fix: Option<&str>) -> Error {
    Error::new(ErrorKind::Conflict, "the terminal could not open")
        .with_code("GAL-CHAT-OPEN")
        .with("cause", reason)
        .with_fix(fix.unwrap_or("galatea connector check terminal").to_owned())
}
