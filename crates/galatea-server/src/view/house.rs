//! Users, sessions, tokens.

use galatea_core::{
    ExposeSecret as _,
    store::{Credential, User},
};
use galatea_host::ops::{NewSecret, Operator};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;
use uuid::Uuid;

use super::list;

/// Who is signed in.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignedIn {
    /// Name of the user.
    name: String,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<Uuid>,
    /// `viewer`, `operator` or `owner`.
    role: String,
}

impl From<Operator> for SignedIn {
    fn from(by: Operator) -> Self {
        Self { name: by.name, user: by.user.map(|id| id.0), role: by.role.to_string() }
    }
}

/// A user.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserView {
    id: Uuid,
    name: String,
    /// `viewer`, `operator` or `owner`.
    role: String,
    created_at: i64,
    /// It may not sign in.
    disabled: bool,
    /// Agents with which it may do more, and what.
    #[schema(value_type = Object)]
    agents: BTreeMap<String, String>,
    /// It has a password.
    password: bool,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        let User { id, name, role, agents, password, created_at, disabled } = user;
        Self {
            id: id.0,
            name,
            role: role.to_string(),
            created_at: created_at.0,
            disabled,
            agents: agents.iter().map(|(id, role)| (id.to_string(), role.to_string())).collect(),
            password: password.is_some(),
        }
    }
}

list!(/// Users.
    UserList of UserView);

/// A session.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    id: Uuid,
    user: Uuid,
    /// The browser, as it names itself.
    browser: String,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<i64>,
    /// It is the session of this request.
    current: bool,
}

impl Session {
    pub(crate) fn of(credential: Credential, by: &Operator) -> Self {
        Self {
            current: by.credential == Some(credential.id),
            id: credential.id.0,
            user: credential.user.0,
            browser: credential.name,
            created_at: credential.created_at.0,
            expires_at: credential.expires_at.map(|at| at.0),
            used_at: credential.used_at.map(|at| at.0),
        }
    }
}

list!(/// Sessions.
    SessionList of Session);

/// A token, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Token {
    id: Uuid,
    user: Uuid,
    name: String,
    /// The most that it may do: `viewer`, `operator` or `owner`.
    role: String,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<i64>,
}

impl From<Credential> for Token {
    fn from(credential: Credential) -> Self {
        Self {
            id: credential.id.0,
            user: credential.user.0,
            name: credential.name,
            role: credential.role.to_string(),
            created_at: credential.created_at.0,
            expires_at: credential.expires_at.map(|at| at.0),
            used_at: credential.used_at.map(|at| at.0),
        }
    }
}

list!(/// Tokens.
    TokenList of Token);

/// A new token. Its secret is shown once.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct NewToken {
    token: Token,
    /// Sent as `Authorization: Bearer`.
    secret: String,
}

impl From<NewSecret> for NewToken {
    fn from(made: NewSecret) -> Self {
        Self { secret: made.secret.expose_secret().to_owned(), token: made.credential.into() }
    }
}

/// A link that signs a user in once. It is shown once.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewLink {
    user: UserView,
    /// Path and fragment of the link. The fragment never reaches a server or its log.
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl NewLink {
    pub(crate) fn of(user: User, made: &NewSecret) -> Self {
        Self {
            user: user.into(),
            path: format!("/login#{}", made.secret.expose_secret()),
            expires_at: made.credential.expires_at.map(|at| at.0),
        }
    }
}
