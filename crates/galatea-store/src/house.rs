//! Users of the control plane and what signs them in.

use async_trait::async_trait;
use galatea_core::{
    CredentialId, Result, Timestamp, UserId,
    store::{Credential, CredentialKind, HouseStore, OperatorRole, SecretDigest, User},
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, from_name, to_json},
    dialect::{Dialects, Statement, Value, values},
};

/// Changes of users one after another: two that each leave the other owner would leave none. The
/// first number is ours alone.
pub(crate) const LOCK: Dialects =
    Dialects { sqlite: "", postgres: "SELECT pg_advisory_xact_lock(1271819331, 1)" };
pub(crate) const USERS: Dialects = Dialects::same(
    "SELECT id, name, role, CAST(agents AS text) AS agents, password, created_at, disabled FROM users ORDER BY name",
);
pub(crate) const ADD_USER: Dialects = Dialects::same(
    "INSERT INTO users (id, name, role, password, created_at, disabled, agents) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
);
macro_rules! owner_remains {
    ($this:literal) => {
        concat!(
            "(", $this, "EXISTS (SELECT 1 FROM users o WHERE o.id <> $1 AND o.role = 'owner' AND NOT o.disabled))"
        )
    };
}
pub(crate) const CHANGE_USER: Dialects = Dialects::same(concat!(
    "UPDATE users SET role = $2, password = $3, disabled = $4, agents = $5 WHERE id = $1 AND ",
    owner_remains!("role <> 'owner' OR disabled OR ($2 = 'owner' AND NOT $4) OR ")
));
pub(crate) const REMOVE_USER: Dialects = Dialects::same(concat!(
    "DELETE FROM users WHERE id = $1 AND ",
    owner_remains!("role <> 'owner' OR disabled OR ")
));
pub(crate) const END_OF_REMOVED: Dialects = Dialects::same(
    "DELETE FROM credentials WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM users WHERE id = $1)",
);
pub(crate) const EXPIRE: Dialects =
    Dialects::same("DELETE FROM credentials WHERE expires_at IS NOT NULL AND expires_at <= $1");
pub(crate) const ADD: Dialects = Dialects::same(
    "INSERT INTO credentials (digest, id, user_id, kind, name, role, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
);
macro_rules! credential {
    ($rest:literal) => {
        Dialects::same(concat!(
            "SELECT c.id, c.user_id, c.kind, c.name, c.role, c.created_at, c.expires_at, c.used_at",
            $rest
        ))
    };
}
pub(crate) const FIND: Dialects = credential!(
    ", u.name AS user_name, u.role AS user_role, CAST(u.agents AS text) AS user_agents, u.created_at AS user_created \
     FROM credentials c JOIN users u ON u.id = c.user_id \
     WHERE c.digest = $1 AND (c.expires_at > $2 OR c.expires_at IS NULL) AND NOT u.disabled"
);
pub(crate) const FAMILY: Dialects = credential!(
    ", u.name AS user_name, u.role AS user_role, CAST(u.agents AS text) AS user_agents, u.created_at AS user_created \
     FROM credentials c JOIN users u ON u.id = c.user_id \
     WHERE c.kind = 'refresh' AND c.name = $1 AND c.used_at IS NULL AND c.expires_at > $2 AND NOT u.disabled ORDER BY c.created_at DESC LIMIT 1"
);
pub(crate) const LIST: Dialects = credential!(
    " FROM credentials c WHERE c.kind = $1 AND (c.expires_at > $2 OR c.expires_at IS NULL) ORDER BY c.created_at DESC LIMIT 1000"
);
pub(crate) const TAKE: Dialects = Dialects::same(
    "DELETE FROM credentials WHERE digest = $1 AND kind = 'link' AND expires_at > $2",
);
pub(crate) const TAKE_REFRESH: Dialects = Dialects::same(
    "UPDATE credentials SET used_at = $2 WHERE digest = $1 AND kind = 'refresh' AND used_at IS NULL AND expires_at > $2",
);
pub(crate) const END_FAMILY: Dialects =
    Dialects::same("DELETE FROM credentials WHERE kind = 'refresh' AND name = $1");
pub(crate) const NOTE_USE: Dialects =
    Dialects::same("UPDATE credentials SET used_at = $2 WHERE id = $1");
pub(crate) const END: Dialects = Dialects::same("DELETE FROM credentials WHERE id = $1");
pub(crate) const END_SESSIONS: Dialects = Dialects::same(
    "DELETE FROM credentials WHERE user_id = $1 AND (kind = 'session' OR kind = 'refresh') AND id <> $2",
);

#[derive(FromRow)]
struct StoredUser {
    id: Uuid,
    name: String,
    role: String,
    agents: String,
    password: Option<String>,
    created_at: i64,
    disabled: bool,
}

impl StoredUser {
    fn decode(self) -> Result<User> {
        Ok(User {
            id: UserId(self.id),
            name: self.name,
            role: from_name("role", self.role)?,
            agents: from_json("roles of agents", &self.agents)?,
            password: self.password,
            created_at: Timestamp(self.created_at),
            disabled: self.disabled,
        })
    }
}

#[derive(FromRow)]
struct Stored {
    id: Uuid,
    user_id: Uuid,
    kind: String,
    name: String,
    role: String,
    created_at: i64,
    expires_at: Option<i64>,
    used_at: Option<i64>,
}

impl Stored {
    fn decode(self) -> Result<Credential> {
        Ok(Credential {
            id: CredentialId(self.id),
            user: UserId(self.user_id),
            kind: from_name("kind of a credential", self.kind)?,
            name: self.name,
            role: from_name("role", self.role)?,
            created_at: Timestamp(self.created_at),
            expires_at: self.expires_at.map(Timestamp),
            used_at: self.used_at.map(Timestamp),
        })
    }
}

#[derive(FromRow)]
struct Found {
    #[sqlx(flatten)]
    credential: Stored,
    user_name: String,
    user_role: String,
    user_agents: String,
    user_created: i64,
}

impl Found {
    fn decode(self) -> Result<(Credential, User)> {
        let credential = self.credential.decode()?;
        let role: OperatorRole = from_name("role", self.user_role)?;
        let user = User {
            id: credential.user,
            name: self.user_name,
            role,
            agents: from_json("roles of agents", &self.user_agents)?,
            password: None,
            created_at: Timestamp(self.user_created),
            disabled: false,
        };
        Ok((credential, user))
    }
}

impl Database {
    /// Commits statements and returns how many rows the one of a number touched.
    async fn write_all(&self, statements: Vec<Statement>, counted: usize) -> Result<u64> {
        let mut change = Change::default();
        change.push(Write::Other { statements, counted: Some(counted) })?;
        Ok(self.write(change).await?.first().copied().unwrap_or(0))
    }
}

#[async_trait]
impl HouseStore for Database {
    async fn users(&self) -> Result<Vec<User>> {
        self.all(USERS.with(values![])).await?.into_iter().map(StoredUser::decode).collect()
    }

    async fn add_user(&self, user: &User) -> Result<bool> {
        let User { id, name, role, agents, password, created_at, disabled } = user;
        let mut values =
            values![id.0, name.as_str(), role.as_str(), password.clone(), created_at.0, *disabled];
        values.push(Value::Json(Some(to_json(agents)?)));
        Ok(self.write_one(ADD_USER.with(values)).await? > 0)
    }

    async fn change_user(&self, user: &User) -> Result<bool> {
        let mut values =
            values![user.id.0, user.role.as_str(), user.password.clone(), user.disabled];
        values.push(Value::Json(Some(to_json(&user.agents)?)));
        let statements = vec![LOCK.with(values![]), CHANGE_USER.with(values)];
        Ok(self.write_all(statements, 1).await? > 0)
    }

    async fn remove_user(&self, id: UserId) -> Result<bool> {
        let statements = vec![
            LOCK.with(values![]),
            REMOVE_USER.with(values![id.0]),
            END_OF_REMOVED.with(values![id.0]),
        ];
        Ok(self.write_all(statements, 1).await? > 0)
    }

    async fn add_credential(&self, digest: &SecretDigest, credential: &Credential) -> Result<()> {
        let Credential { id, user, kind, name, role, created_at, expires_at, used_at: _ } =
            credential;
        let add = ADD.with(values![
            digest.0.as_str(),
            id.0,
            user.0,
            kind.as_str(),
            name.as_str(),
            role.as_str(),
            created_at.0,
            expires_at.map(|at| at.0)
        ]);
        self.write_all(vec![EXPIRE.with(values![created_at.0]), add], 1).await.map(drop)
    }

    async fn credential(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<(Credential, User)>> {
        let found = self.fetch_one::<Found>(FIND.with(values![digest.0.as_str(), now.0])).await?;
        found.map(Found::decode).transpose()
    }

    async fn take_refresh(&self, digest: &SecretDigest, now: Timestamp) -> Result<bool> {
        Ok(self.write_one(TAKE_REFRESH.with(values![digest.0.as_str(), now.0])).await? > 0)
    }

    async fn family(&self, name: &str, now: Timestamp) -> Result<Option<(Credential, User)>> {
        let found = self.fetch_one::<Found>(FAMILY.with(values![name, now.0])).await?;
        found.map(Found::decode).transpose()
    }

    async fn end_family(&self, name: &str) -> Result<u64> {
        self.write_one(END_FAMILY.with(values![name])).await
    }

    async fn take_link(&self, digest: &SecretDigest, now: Timestamp) -> Result<bool> {
        Ok(self.write_one(TAKE.with(values![digest.0.as_str(), now.0])).await? > 0)
    }

    async fn note_use(&self, id: CredentialId, at: Timestamp) -> Result<()> {
        self.write_one(NOTE_USE.with(values![id.0, at.0])).await.map(drop)
    }

    async fn credentials(&self, kind: CredentialKind, now: Timestamp) -> Result<Vec<Credential>> {
        let rows = self.all(LIST.with(values![kind.as_str(), now.0])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn end_credential(&self, id: CredentialId) -> Result<bool> {
        Ok(self.write_one(END.with(values![id.0])).await? > 0)
    }

    async fn end_sessions(&self, user: UserId, but: Option<CredentialId>) -> Result<u64> {
        let but = but.map_or(Uuid::nil(), |id| id.0);
        self.write_one(END_SESSIONS.with(values![user.0, but])).await
    }
}
