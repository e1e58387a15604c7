//! `galatea start`: runs the agents until a signal stops the process.

mod activity;
mod banner;
mod follow;
mod overview;

use clap::Args;
use galatea_core::{ExposeSecret as _, Settings, store::ProcessRole};
use std::{
    io::IsTerminal as _,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    cli::flags::Characters,
    context::Context,
    process::{
        allocator, executable, health,
        server::{Around, Server},
        signals::Signals,
        version,
    },
    report::{exit::Exit, failure::Result, output::Output},
};
use galatea_host::{
    agents::{
        Platforms,
        boot::{self, BootOptions, Booted, Place},
    },
    characters::personas,
    config::{GALATEA_ROLE, SignInOptions},
    look::{Color, Look},
    ops::Installation,
    readiness,
    report::Trouble,
    storage::{data_dir::DataDir, lock::InstanceLock},
};

/// Longest wait for turns and sends in flight after the first signal. Service managers kill a
/// process after 30 s or more.
const DRAIN: Duration = Duration::from_secs(25);

/// Run the agents until Ctrl-C
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    characters: Characters,
    /// Port of the health server, in place of SERVER_PORT
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// What this process does of the work it shares, in place of GALATEA_ROLE
    #[arg(long, value_name = "ROLE", value_parser = ["all", "ingress", "worker", "api"])]
    role: Option<String>,
    /// Follow the character files (`galatea dev`).
    #[arg(skip)]
    follows: bool,
}

impl Start {
    /// The same, with character files that are followed.
    pub(super) fn following(self) -> Self {
        Self { follows: true, ..self }
    }

    fn role(&self, settings: &Settings) -> galatea_core::Result<ProcessRole> {
        match &self.role {
            Some(role) => role.parse(),
            None => Ok(settings
                .parse(&GALATEA_ROLE, "one of all, ingress, worker, api")?
                .unwrap_or_default()),
        }
    }

    /// Boots, serves, and drains.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let began = Instant::now();
        let mut signals = Signals::listen()?;
        let configuration = context.configuration()?;
        let settings = &configuration.settings;
        let personas =
            personas::load(&self.characters.characters, configuration, &context.working_dir)?;
        for warning in personas.iter().flat_map(|p| &p.warnings) {
            context.output.report(warning);
        }
        let demo = personas.iter().all(|p| p.file.is_none());
        let data_dir = DataDir::locate(settings, &context.working_dir);
        data_dir.create()?;
        let mut lock = InstanceLock::take(data_dir.path())?;
        let sign_in = SignInOptions::read(settings)?;
        let public = sign_in.public.clone();
        let listener = health::bind(
            health::address(settings, self.port)?,
            &health::origin(settings, self.port),
        )
        .await?;
        let address = listener.local_addr().map_err(|e| {
            galatea_core::Error::unexpected("the health server has no address").with("cause", e)
        })?;
        let redactor = &context.output.redactor;
        let role = self.role(settings)?;
        let options = BootOptions {
            settings,
            data_dir: &data_dir,
            platforms: Platforms::All,
            role,
            redactor,
            version: version::FULL,
            parser: &executable::path(),
            place: Place::default(),
        };
        let booted =
            boot::boot_stored(options, personas, configuration, &context.working_dir).await?;

        tokio::spawn(allocator::give_back_after_bursts());
        let stopping = Arc::new(AtomicBool::new(false));
        let probe = readiness::probe(&booted, began, Arc::clone(&stopping));
        let pages = galatea_host::platforms::chat_pages(settings)?;
        let installation = Installation::new(&booted, configuration, &context.working_dir);
        let logs = Arc::clone(&context.logs);
        let around = Around { role, pages, installation, sign_in, logs };
        let server = Server::start(listener, &booted, probe, redactor.clone(), around);
        let people = (!context.logs_json()).then(|| context.output.clone());
        let models = booted.agents.iter().map(|a| (a.id, a.health.clone())).collect();
        let activity = activity::Watch::start(
            booted.orchestrator.events().subscribe(),
            Arc::clone(&booted.store),
            models,
            people.clone(),
        );
        lock.announce(address)?;
        context.output.say(
            overview::banner(&booted, &data_dir, address, demo, context)
                .render(context.output.talk_style)
                .trim_end(),
        );
        booted.orchestrator.start()?;
        // Not into a file: whoever reads it within a quarter of an hour could sign in.
        if std::io::stderr().is_terminal() {
            let link = server.login_link().await?;
            let secret = link.expose_secret();
            let place = public.map_or_else(|| format!("http://{address}"), |public| public.origin);
            context.output.say(format_args!("Sign in once: {place}/login#{secret}"));
        }
        let took = format!("ready in {:.2} s", began.elapsed().as_secs_f64());
        context.output.say(context.output.talk_style.bold(Color::Green, &took));
        booted
            .agents
            .iter()
            .filter_map(|agent| agent.no_answer.as_ref())
            .for_each(|trouble| report_no_model(trouble, people.as_ref()));

        tokio::select! {
            () = signals.next() => {}
            () = follow::follow(&booted, configuration, context), if self.follows => {}
            broken = booted.database.broken() => {
                stopping.store(true, Ordering::Relaxed);
                // Nothing can be finished. After a restart, work continues from what the database
                // contains.
                booted.stop(Duration::ZERO).await;
                activity.end().await;
                return Err(broken.into());
            }
        }
        stopping.store(true, Ordering::Relaxed);
        context.output.say(format_args!(
            "Stopping: what is under way is finished first (at most {} s; again to stop at once).",
            DRAIN.as_secs()
        ));
        let code = drain(&booted, &mut signals).await;
        server.end().await;
        activity.end().await;
        Ok(code)
    }
}

/// Finishes work in flight. A second signal ends the process immediately; committed work continues
/// at the next start.
async fn drain(booted: &Booted, signals: &mut Signals) -> ExitCode {
    tokio::select! {
        () = booted.stop(DRAIN) => ExitCode::SUCCESS,
        () = signals.next() => {
            tracing::warn!("stopped at once; unfinished work continues at the next start");
            // Returning from main would wait for the work that is to be abandoned.
            std::process::exit(Exit::Interrupted as i32)
        }
    }
}

/// Reports once that no model answers: as a log line, or to `people` as an error.
fn report_no_model(trouble: &Trouble, people: Option<&Output>) {
    match people {
        Some(people) => people.report(&trouble.report("model")),
        None => {
            tracing::error!(code = trouble.code, fix = trouble.fix, "model  {}", trouble.message)
        }
    }
}
