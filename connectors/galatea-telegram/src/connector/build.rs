//! Builds the connector from its settings.

use galatea_core::{
    Connector, ConnectorConfig, Encoder, Encoding, Host, KnownAccount, Result, SendHandler,
    Settings, Source, Variable, character::Explanation,
};
use std::sync::Arc;

use super::TelegramConnector;
use crate::{
    config::{self, TelegramConfig},
    encode, error,
};

impl ConnectorConfig for TelegramConfig {
    const SOURCE: Source = crate::SOURCE;
    const VARIABLES: &'static [Variable] = config::VARIABLES;
    const PAGES: &'static [Explanation] = error::PAGES;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        Self::read(settings)
    }

    fn is_person_id(text: &str) -> bool {
        galatea_core::people::is_number(text)
    }

    fn encoder(_: &Settings, account: &KnownAccount) -> Result<Option<Arc<dyn SendHandler>>> {
        let encoding = Encoding { encode: Box::new(encode::encode), awaits: |_| false };
        Ok(Some(Arc::new(Encoder::new(account, encoding))))
    }

    fn build(self, host: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self.connector(host)?))
    }
}

impl TelegramConfig {
    /// Builds the connector like [`ConnectorConfig::build`], but returns the concrete type.
    ///
    /// # Errors
    /// `Invalid` for invalid or contradictory settings; `Unexpected` if the HTTP client cannot be
    /// built.
    pub fn connector(self, host: &Host) -> Result<TelegramConnector> {
        self.validate()?;
        TelegramConnector::new(self, host)
    }
}
