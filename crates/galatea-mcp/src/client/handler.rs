//! What a server may ask of us: that we look at its lists again, and questions to people. Sampling,
//! roots and logs are refused: the protocol is giving them up.

use parking_lot::Mutex;
use rmcp::{
    ClientHandler,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
        ProgressNotificationParam, ProgressToken, ProtocolVersion, UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext, RoleClient},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

/// How long a server's question may wait for a person, less than a call may last.
const PATIENCE: Duration = Duration::from_secs(280);
/// Reports of progress that a slow call may miss.
const PROGRESS: usize = 64;

/// A question of a server that waits for its answer.
pub(crate) struct Asked {
    pub(crate) params: ElicitRequestParams,
    pub(crate) reply: oneshot::Sender<ElicitResult>,
}

/// Channels from a connection to those who use it.
#[derive(Clone)]
pub(crate) struct Channels {
    /// A list of the server changed.
    pub(crate) changed: Arc<Notify>,
    /// A call reports its progress.
    pub(crate) progress: broadcast::Sender<ProgressToken>,
    /// The one call whose questions are answered; none if several run, since a question does not
    /// name its call.
    asking: Arc<Mutex<Vec<mpsc::Sender<Asked>>>>,
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            changed: Arc::default(),
            progress: broadcast::channel(PROGRESS).0,
            asking: Arc::default(),
        }
    }
}

impl Channels {
    /// Registers a call for the questions of the server, until the receiver is dropped.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Asked> {
        let (sender, receiver) = mpsc::channel(1);
        let mut asking = self.asking.lock();
        asking.retain(|other| !other.is_closed());
        asking.push(sender);
        receiver
    }

    fn asker(&self) -> Option<mpsc::Sender<Asked>> {
        let mut asking = self.asking.lock();
        asking.retain(|other| !other.is_closed());
        match &**asking {
            [only] => Some(only.clone()),
            _ => None,
        }
    }
}

/// Our side of a connection.
#[derive(Clone, Default)]
pub(crate) struct Handler(pub(crate) Channels);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        ClientConfig::new(capabilities, Implementation::new("galatea", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    #[allow(deprecated, reason = "refused because it is deprecated")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<rmcp::model::ListRootsRequestMethod>())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let cancelled = ElicitResult::new(ElicitationAction::Cancel);
        let Some(asker) = self.0.asker() else { return Ok(cancelled) };
        let (reply, replied) = oneshot::channel();
        if asker.send(Asked { params, reply }).await.is_err() {
            return Ok(cancelled);
        }
        Ok(match tokio::time::timeout(PATIENCE, replied).await {
            Ok(Ok(answer)) => answer,
            _ => cancelled,
        })
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.progress.send(params.progress_token);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }
}
