//! What the platform can do, whether it answers, and the supervised run.

use async_trait::async_trait;
use galatea_core::{
    Account, Capabilities, Connector, ConnectorConfig, ConnectorInfo, Finding, Gateway, Host,
    ReadBack, Result, Settings, Source, TextUnit, Variable, character::Explanation,
};
use galatea_http::{HttpClient, HttpOptions};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::{
    SOURCE,
    config::{self, ParrotConfig},
    decode::remote,
    encode::MAX_TEXT,
    error::{self, codes},
    receive,
    send::Api,
};

impl ConnectorConfig for ParrotConfig {
    const SOURCE: Source = SOURCE;
    const VARIABLES: &'static [Variable] = config::VARIABLES;
    const PAGES: &'static [Explanation] = error::PAGES;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        Self::read(settings)
    }

    fn build(self, host: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(ParrotConnector::new(&self, host)?))
    }
}

/// One account.
pub(crate) struct ParrotConnector {
    info: ConnectorInfo,
    api: Arc<Api>,
}

impl ParrotConnector {
    pub(crate) fn new(config: &ParrotConfig, host: &Host) -> Result<Self> {
        let me = config.account()?;
        // What is claimed here is tested by the shared suite and stated in prompts.
        let capabilities = Capabilities {
            max_text: MAX_TEXT,
            text_unit: TextUnit::CodePoints,
            edit: false,
            delete: false,
            react: false,
            typing: true,
            buttons: false,
            files: false,
            threads: false,
            read_back: ReadBack::Find,
            public: false,
        };
        let http =
            HttpClient::new(HttpOptions { clock: host.clock.clone(), ..HttpOptions::default() })?;
        let api = Api { http, root: config.api_root.clone(), token: config.token.clone(), me };
        let info = ConnectorInfo { source: SOURCE, account: Account(remote(me).0), capabilities };
        Ok(Self { info, api: Arc::new(api) })
    }
}

#[async_trait]
impl Connector for ParrotConnector {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        vec![match self.api.who().await {
            Ok(name) => Finding::ok(codes::OK, "connector", format!("logged in as {name}")),
            Err(error) => Finding::failure("connector", &error),
        }]
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        receive::run(&self.api, gateway, stop).await
    }
}
