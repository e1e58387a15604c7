//! The terminal connector's info, its check, and its supervised run.

use async_trait::async_trait;
use galatea_core::{
    Account, Capabilities, Connector, ConnectorConfig, ConnectorInfo, Finding, Gateway, Host,
    ReadBack, Result, Settings, Source, TextUnit, Variable, character::Explanation,
};
use std::{path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{self, Config},
    error,
};

impl ConnectorConfig for Config {
    const SOURCE: Source = crate::SOURCE;
    const VARIABLES: &'static [Variable] = config::VARIABLES;
    const PAGES: &'static [Explanation] = error::PAGES;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        Self::read(settings)
    }

    fn build(self, host: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(Terminal::new(host, host.data_dir.join(self.socket))))
    }
}

/// The terminal connector of one agent.
pub(crate) struct Terminal {
    info: ConnectorInfo,
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix sockets show the name"))]
    agent_name: String,
    socket: PathBuf,
}

impl Terminal {
    pub(crate) fn new(host: &Host, socket: PathBuf) -> Self {
        let capabilities = Capabilities {
            max_text: crate::MAX_TEXT,
            text_unit: TextUnit::CodePoints,
            edit: false,
            delete: false,
            react: false,
            typing: true,
            buttons: false,
            files: false,
            threads: false,
            read_back: ReadBack::Key,
            public: false,
        };
        let info = ConnectorInfo {
            source: crate::SOURCE,
            account: Account("local".to_owned()),
            capabilities,
        };
        Self { info, agent_name: host.agent_name.clone(), socket }
    }

    fn check_path(&self) -> Result<()> {
        let length = self.socket.as_os_str().len();
        if length > error::MAX_PATH { Err(error::path_too_long(&self.socket)) } else { Ok(()) }
    }
}

#[cfg(unix)]
#[async_trait]
impl Connector for Terminal {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        let finding = match self.probe().await {
            Ok(message) => Finding::ok("GAL-TERM-OK", "connector", message),
            Err(error) => Finding::failure("connector", &error),
        };
        vec![finding]
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        self.check_path()?;
        crate::receive::run(&self.socket, &self.agent_name, gateway, stop).await
    }
}

#[cfg(unix)]
impl Terminal {
    async fn probe(&self) -> Result<String> {
        self.check_path()?;
        if crate::receive::answers(&self.socket).await? {
            return Ok(format!("a galatea answers on {}", self.socket.display()));
        }
        let folder = self.socket.parent().unwrap_or(std::path::Path::new("."));
        let writable =
            tokio::fs::metadata(folder).await.map_err(|e| error::cannot_listen(&self.socket, e))?;
        if writable.permissions().readonly() {
            return Err(error::cannot_listen(
                &self.socket,
                std::io::ErrorKind::PermissionDenied.into(),
            ));
        }
        Ok(format!("can listen on {}", self.socket.display()))
    }
}

#[cfg(not(unix))]
#[async_trait]
impl Connector for Terminal {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        vec![Finding::failure("connector", &error::no_unix_sockets())]
    }

    async fn run(&self, _gateway: Gateway, _stop: CancellationToken) -> Result<()> {
        self.check_path()?;
        Err(error::no_unix_sockets())
    }
}
