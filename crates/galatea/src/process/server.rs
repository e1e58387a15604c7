//! The control plane of a process that runs agents.

use galatea_core::{
    Clock, Result, SecretString, SystemClock, redact::Redactor, store::ProcessRole,
};
use galatea_host::{
    agents::boot::Booted,
    config::SignInOptions,
    ops::{Installation, Operator, Ops, live::Live, logs::LogRing},
    readiness::Probe,
};
use galatea_http::listen::{Limits, StreamLimits, serve};
use galatea_server::{App, Version, router};
use std::{io, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use super::version;

/// Longest wait for streams to end. The listener closes them after its own, shorter time.
const END: Duration = Duration::from_secs(5);

/// What the settings say about the server.
pub(crate) struct Around {
    pub(crate) role: ProcessRole,
    /// Pages of other servers that may show the chat script.
    pub(crate) pages: Vec<String>,
    pub(crate) installation: Arc<Installation>,
    pub(crate) sign_in: SignInOptions,
    /// Newest lines of the log.
    pub(crate) logs: Arc<LogRing>,
}

/// The running server.
pub(crate) struct Server {
    ops: Ops,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
    /// Sends events to addresses outside.
    webhooks: JoinHandle<()>,
}

impl Server {
    /// Begins to serve. `redactor` masks secrets in what the health routes answer.
    pub(crate) fn start(
        listener: TcpListener,
        booted: &Booted,
        probe: Probe,
        redactor: Redactor,
        Around { role, pages, installation, sign_in, logs }: Around,
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let orchestrator = Arc::clone(&booted.orchestrator);
        let ops = Ops::new(Arc::clone(&booted.store), Arc::clone(&clock), Some(orchestrator))
            .with_installation(installation)
            .with_sign_in(sign_in)
            .with_logs(logs);
        // Role `api` repeats the events of the others on its own bus.
        let keeps = role != ProcessRole::Api;
        let live = Live::start(&booted.store, &clock, booted.orchestrator.events(), keeps);
        let version = Version { version: env!("CARGO_PKG_VERSION"), commit: version::commit() };
        let app = App::new(ops.clone(), live, probe, redactor, version);
        app.allow_pages(pages);
        let sender = ops.clone();
        let webhooks = tokio::spawn(async move { sender.send_webhooks().await });
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(serve(listener, router(app), limits(), stopped));
        Self { ops, stop, task, webhooks }
    }

    /// A secret that signs an owner in once.
    ///
    /// # Errors
    /// Failures of the store.
    pub(crate) async fn login_link(&self) -> Result<SecretString> {
        Ok(self.ops.login_link(&Operator::command_line()).await?.secret)
    }

    /// Ends streams with a last word, and closes the port.
    pub(crate) async fn end(self) {
        self.webhooks.abort();
        let _ = self.stop.send(());
        let _ = tokio::time::timeout(END, self.task).await;
    }
}

/// Bounds of the listener: a quarter of the files that the process may open. The database, platforms
/// and models need theirs, whoever asks the server.
fn limits() -> Limits {
    let connections = (open_files() / 4).clamp(64, Limits::SERVER.connections);
    let most = connections - connections / 4;
    let streams = StreamLimits { most, ..Limits::SERVER.streams };
    Limits { connections, streams, ..Limits::SERVER }
}

/// How many files the process may open; 1,024 where the system does not say, as most allow.
fn open_files() -> usize {
    use nix::sys::resource::{Resource, getrlimit};
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1_024, 1_024));
    usize::try_from(soft).unwrap_or(usize::MAX)
}
