//! The web connector's info, its check, and its supervised run.

use async_trait::async_trait;
use galatea_core::{
    Account, Capabilities, Connector, ConnectorConfig, ConnectorInfo, Finding, Gateway, Host,
    ReadBack, Result, Settings, Source, TextUnit, Variable, character::Explanation,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{self, Config, Visitors},
    decode::MAX_TEXT,
    error, receive,
};

impl ConnectorConfig for Config {
    const SOURCE: Source = crate::SOURCE;
    const VARIABLES: &'static [Variable] = config::VARIABLES;
    const PAGES: &'static [Explanation] = error::PAGES;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        Self::read(settings)
    }

    fn build(self, _: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(Web::new(crate::SOURCE, false)))
    }
}

impl ConnectorConfig for Visitors {
    const SOURCE: Source = crate::VISITORS;
    const VARIABLES: &'static [Variable] = config::OF_VISITORS;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        Self::read(settings)
    }

    fn build(self, _: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(Web::new(crate::VISITORS, true)))
    }
}

/// The web connector of one agent.
pub(crate) struct Web {
    info: ConnectorInfo,
}

impl Web {
    pub(crate) fn new(source: Source, public: bool) -> Self {
        let capabilities = Capabilities {
            max_text: MAX_TEXT,
            text_unit: TextUnit::CodePoints,
            edit: false,
            delete: false,
            react: false,
            typing: false,
            buttons: true,
            files: true,
            threads: false,
            read_back: ReadBack::Key,
            public,
        };
        let account = Account(crate::ACCOUNT.to_owned());
        Self { info: ConnectorInfo { source, account, capabilities } }
    }
}

#[async_trait]
impl Connector for Web {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        vec![Finding::ok("GAL-WEB-OK", "connector", "served by this program")]
    }

    fn delivers_by_commit(&self) -> bool {
        true
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        receive::run(gateway, stop).await
    }
}
