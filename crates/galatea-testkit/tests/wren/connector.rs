//! What the platform can do, and the supervised run.

use async_trait::async_trait;
use galatea_core::{
    Account, Capabilities, Connector, ConnectorInfo, Finding, Gateway, ReadBack, Result, TextUnit,
};
use std::{net::SocketAddr, sync::Arc};
use tokio_util::sync::CancellationToken;

use super::{SOURCE, encode::MAX_TEXT, receive, send::Line};

/// One login.
pub(crate) struct Wren {
    pub(crate) info: ConnectorInfo,
    pub(crate) server: SocketAddr,
    pub(crate) name: String,
    pub(crate) secret: String,
    pub(crate) line: Arc<Line>,
}

impl Wren {
    pub(crate) fn new(server: SocketAddr, name: &str, secret: &str) -> Self {
        let capabilities = Capabilities {
            max_text: MAX_TEXT,
            text_unit: TextUnit::Bytes,
            edit: false,
            delete: false,
            react: false,
            typing: false,
            buttons: false,
            files: false,
            threads: false,
            // Nothing can be looked up, and no key keeps a line from being shown twice.
            read_back: ReadBack::None,
            public: true,
        };
        let info =
            ConnectorInfo { source: SOURCE, account: Account(name.to_owned()), capabilities };
        Self {
            info,
            server,
            name: name.to_owned(),
            secret: secret.to_owned(),
            line: Arc::default(),
        }
    }
}

#[async_trait]
impl Connector for Wren {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        vec![match receive::connect(self).await {
            Ok(_) => Finding::ok("GAL-WREN-OK", "connector", format!("logged in as {}", self.name)),
            Err(error) => Finding::failure("connector", &error),
        }]
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        gateway.register_send_handler(self.line.clone());
        let ended = receive::run(self, &gateway, stop).await;
        // From here on a send says at once that it did not happen.
        self.line.hang_up().await;
        ended
    }
}
