//! People who operate the program, and how they sign in. What signs in (session, token, link) is kept
//! as a digest only: who reads the database cannot sign in.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::{
    clock::Timestamp,
    error::{Error, Result},
    ids::{AgentId, CredentialId, UserId},
};

/// What a user may do. Each may do all that the ones before it may.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OperatorRole {
    /// Reads.
    Viewer,
    /// Works with agents: answers, retries, approves.
    Operator,
    /// Changes users, tokens and settings too.
    Owner,
}

impl OperatorRole {
    /// The spelling in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for OperatorRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for OperatorRole {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        [Self::Viewer, Self::Operator, Self::Owner]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| Error::invalid("a role is one of viewer, operator, owner"))
    }
}

/// A user of the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its id.
    pub id: UserId,
    /// Its name, unique.
    pub name: String,
    /// What it may do.
    pub role: OperatorRole,
    /// Agents with which it may do more, and what.
    pub agents: BTreeMap<AgentId, OperatorRole>,
    /// Its password as an argon2id string; none if it signs in by links only.
    pub password: Option<String>,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// It may not sign in.
    pub disabled: bool,
}

/// Sort of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    /// A browser's session.
    Session,
    /// A token of a program.
    Token,
    /// A link that signs in once.
    Link,
    /// Renews the access of a program once. Its name is that of the family of all that followed one
    /// sign-in.
    Refresh,
}

impl CredentialKind {
    /// The spelling in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Token => "token",
            Self::Link => "link",
            Self::Refresh => "refresh",
        }
    }
}

/// Something that signs a user in. Its secret is not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its id, by which it is listed and revoked.
    pub id: CredentialId,
    /// Whom it signs in.
    pub user: UserId,
    /// What it is.
    pub kind: CredentialKind,
    /// Its name for people: of a token its purpose, of a session the browser.
    pub name: String,
    /// Most that it may do, whatever its user may.
    pub role: OperatorRole,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Its end; none for tokens that last until they are revoked.
    pub expires_at: Option<Timestamp>,
    /// Its last use, to the minute.
    pub used_at: Option<Timestamp>,
}

/// Digest of a secret: SHA-256, as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SecretDigest(pub String);

/// Users and their credentials. Called by the control plane and its commands only.
#[async_trait]
pub trait HouseStore: Send + Sync {
    /// Every user, by name.
    async fn users(&self) -> Result<Vec<User>>;
    /// Adds a user. False if the name is taken.
    async fn add_user(&self, user: &User) -> Result<bool>;
    /// Replaces role, password and state of a user. False if there is none, or if no owner who may
    /// sign in would remain.
    async fn change_user(&self, user: &User) -> Result<bool>;
    /// Removes a user with its credentials. False if there is none, or if no owner who may sign in
    /// would remain.
    async fn remove_user(&self, id: UserId) -> Result<bool>;
    /// Adds a credential, and removes those that have expired.
    async fn add_credential(&self, digest: &SecretDigest, credential: &Credential) -> Result<()>;
    /// The credential of a digest with its user, unless it has expired or the user is disabled.
    async fn credential(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<(Credential, User)>>;
    /// Takes a link: true for one caller only, and only before its end.
    async fn take_link(&self, digest: &SecretDigest, now: Timestamp) -> Result<bool>;
    /// Takes a refresh token: true for one caller only, and only before its end. It stays until its end,
    /// so that its second use is noticed.
    async fn take_refresh(&self, digest: &SecretDigest, now: Timestamp) -> Result<bool>;
    /// The newest refresh token of a family with its user, if it has one that has not ended.
    async fn family(&self, name: &str, now: Timestamp) -> Result<Option<(Credential, User)>>;
    /// Ends all refresh tokens of a family.
    async fn end_family(&self, name: &str) -> Result<u64>;
    /// Notes a use.
    async fn note_use(&self, id: CredentialId, at: Timestamp) -> Result<()>;
    /// Credentials of a kind that have not expired, newest first, at most 1,000.
    async fn credentials(&self, kind: CredentialKind, now: Timestamp) -> Result<Vec<Credential>>;
    /// Ends a credential. False if there is none.
    async fn end_credential(&self, id: CredentialId) -> Result<bool>;
    /// Ends all sessions and refresh tokens of a user but one session.
    async fn end_sessions(&self, user: UserId, but: Option<CredentialId>) -> Result<u64>;
}
