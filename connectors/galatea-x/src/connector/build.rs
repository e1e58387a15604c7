//! Builds the connector from its settings.

use galatea_core::{
    BrowserLogin, Connector, ConnectorConfig, Encoder, Encoding, Host, KnownAccount, Result,
    SendHandler, Settings, Source, Variable, character::Explanation,
};
use std::sync::Arc;

use super::XConnector;
use crate::{
    SCHEDULE,
    config::{XConfig, read, variables},
    encode, error,
};

impl ConnectorConfig for XConfig {
    const SOURCE: Source = crate::SOURCE;
    const VARIABLES: &'static [Variable] = variables::ALL;
    const PAGES: &'static [Explanation] = error::PAGES;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        read::read(settings)
    }

    /// Translates elizaOS's list of people into the runtime gate's setting. The gate applies it
    /// before it asks a model, and records that it did.
    fn policy(settings: &Settings) -> Result<Vec<(&'static str, String)>> {
        let users = read::target_users(settings)?;
        Ok(if users.is_empty() {
            Vec::new()
        } else {
            vec![("X_TARGET_USERS", format!("{users},@{SCHEDULE}"))]
        })
    }

    fn is_person_id(text: &str) -> bool {
        galatea_core::people::is_number(text)
    }

    fn encoder(
        settings: &Settings,
        account: &KnownAccount,
    ) -> Result<Option<Arc<dyn SendHandler>>> {
        let (tier, notices) = read::for_encoding(settings)?;
        let encoding = Encoding {
            encode: Box::new(move |outgoing| encode::encode(outgoing, tier, notices)),
            awaits: |_| false,
        };
        Ok(Some(Arc::new(Encoder::new(account, encoding))))
    }

    fn build(self, host: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self.connector(host)?))
    }

    fn login(self, host: &Host) -> Result<Option<Box<dyn BrowserLogin>>> {
        XConnector::login(&self, host)
    }
}

impl XConfig {
    /// Builds the connector; [`ConnectorConfig::build`] with the concrete type.
    ///
    /// # Errors
    /// `Invalid` for a token without an account id, `Unexpected` when the HTTP client or the data
    /// folder cannot be set up.
    pub fn connector(self, host: &Host) -> Result<XConnector> {
        XConnector::new(self, host)
    }
}
