//! An account as every process knows it, and the outbound side of one whose login another process
//! has.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{
    connector::send_handler::{ConnectorInfo, Priority, SendHandler},
    content::Media,
    error::{Error, ErrorKind, Result, Sent},
    ids::RemoteId,
    message::{Address, Delivery, Encoded, Outgoing, ReadBackContext, ReadBackResult, Receipt},
};

/// Description of an account, without its login. A process that has the login stores it, so
/// that every process of the database can write for the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownAccount {
    /// Platform, account and abilities.
    #[serde(flatten)]
    pub info: ConnectorInfo,
    /// The account's user name, without `@`; none where there is none, or it is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The suffix of the settings that are this account's own, such as `_2`; empty for the first.
    #[serde(default)]
    pub suffix: String,
}

/// Makes the platform's parts of a message, as [`SendHandler::encode`].
pub type Encode = Box<dyn Fn(&Outgoing) -> Result<Vec<Encoded>> + Send + Sync>;

/// The pure parts of a platform's [`SendHandler`].
pub struct Encoding {
    /// Like [`SendHandler::encode`].
    pub encode: Encode,
    /// Like [`SendHandler::awaits`].
    pub awaits: fn(&RemoteId) -> bool,
}

/// The outbound side of an account whose login another process has: it encodes, and that process
/// sends. Without the login it neither shows typing nor opens files, and does not know who may
/// write where. Built by [`crate::ConnectorConfig::encoder`].
pub struct Encoder {
    account: KnownAccount,
    encoding: Encoding,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("account", &self.account).finish_non_exhaustive()
    }
}

impl Encoder {
    /// The outbound side of this account.
    pub fn new(account: &KnownAccount, encoding: Encoding) -> Self {
        Self { account: account.clone(), encoding }
    }

    fn without_login(&self) -> Error {
        let ConnectorInfo { source, account, .. } = &self.account.info;
        Error::new(ErrorKind::Unavailable, "another process has the login of this account")
            .with("source", source)
            .with("account", account)
            .with_sent(Sent::No)
    }
}

#[async_trait]
impl SendHandler for Encoder {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        (self.encoding.encode)(outgoing)
    }

    fn priority(&self, _: &Encoded) -> Priority {
        Priority::Answer
    }

    async fn send(&self, _: &Delivery) -> Result<Receipt> {
        Err(self.without_login())
    }

    async fn find(&self, _: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        Ok(ReadBackResult::Unknown)
    }

    async fn typing(&self, _: &Address) -> Result<()> {
        Ok(())
    }

    fn handle(&self) -> Option<String> {
        self.account.handle.clone()
    }

    fn awaits(&self, message: &RemoteId) -> bool {
        (self.encoding.awaits)(message)
    }

    async fn fetch(&self, _: &Media, _: usize) -> Result<Vec<u8>> {
        Err(self.without_login())
    }
}
