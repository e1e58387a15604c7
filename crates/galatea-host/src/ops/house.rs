//! Users, and what signs them in. A secret is handed out once; its digest is stored.

use galatea_core::{
    AgentId, CredentialId, Error, ErrorKind, Result, SecretString, Timestamp, UserId,
    store::{Credential, CredentialKind, OperatorRole, SecretDigest, User},
};
use rand::RngExt as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, fmt::Write as _};

use super::{Operator, Ops, operator};

/// How long a login link may be used, in milliseconds: long enough to walk to another machine.
const LINK: i64 = 15 * 60 * 1000;
/// How long an invitation may be used.
const INVITATION: i64 = 24 * 60 * 60 * 1000;
/// How long a session lasts.
pub(super) const SESSION: i64 = 14 * 24 * 60 * 60 * 1000;
/// Uses of a credential are noted to the minute, so that requests cause no writes.
const NOTED: i64 = 60 * 1000;
/// Longest name of a user or token, in characters.
const NAME: usize = 64;
/// What distinguishes a token from other secrets, for people and for scanners of leaked secrets.
const TOKEN: &str = "galatea_";
/// The same of what renews the access of a program.
const REFRESH: &str = "galatear_";
/// The user that the first login link makes.
const FIRST: &str = "owner";

/// A secret that is handed out once.
pub struct NewSecret {
    /// The credential that it belongs to.
    pub credential: Credential,
    /// The secret.
    pub secret: SecretString,
}

/// Digest of a secret. Equal digests are looked up in an index, so a comparison tells an attacker
/// nothing about the secret.
pub fn digest(secret: &str) -> SecretDigest {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(secret.as_bytes()) {
        let _ = write!(text, "{byte:02x}");
    }
    SecretDigest(text)
}

/// 256 random bits.
fn secret(prefix: &str) -> String {
    let bytes: [u8; 32] = rand::rng().random();
    bytes.iter().fold(prefix.to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn checked_name(name: &str) -> Result<&str> {
    let name = name.trim();
    let length = name.chars().count();
    if length == 0 || length > NAME || name.chars().any(char::is_control) {
        return Err(Error::invalid(format!(
            "a name has 1 to {NAME} characters, none of them invisible"
        )));
    }
    Ok(name)
}

/// The browser of a session, as it names itself.
pub(super) fn browser_name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NAME).collect()
}

fn unknown(what: &'static str) -> Error {
    Error::not_found(what)
}

fn last_owner() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "there is no such user, or no owner who may sign in would remain",
    )
    .with_code("GAL-AUTH-OWNER")
    .with_fix("make another user an owner first")
}

impl Ops {
    /// Makes a link that signs in an owner once. The first call makes the user `owner`.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner, and failures of the store.
    pub async fn login_link(&self, by: &Operator) -> Result<NewSecret> {
        by.need(OperatorRole::Owner)?;
        let users = self.store.users().await?;
        let owner = users.into_iter().find(|u| u.role == OperatorRole::Owner && !u.disabled);
        let owner = match owner {
            Some(owner) => owner,
            None => self.first_owner().await?,
        };
        let made =
            self.hand_out(&owner, CredentialKind::Link, "login link", owner.role, Some(LINK));
        made.await
    }

    async fn first_owner(&self) -> Result<User> {
        let user = User {
            id: UserId::fresh(),
            name: FIRST.to_owned(),
            role: OperatorRole::Owner,
            agents: BTreeMap::new(),
            password: None,
            created_at: self.clock.now(),
            disabled: false,
        };
        if self.store.add_user(&user).await? {
            return Ok(user);
        }
        // Another process made it meanwhile, or a user without the role has the name.
        let users = self.store.users().await?;
        users
            .into_iter()
            .find(|u| u.role == OperatorRole::Owner && !u.disabled)
            .ok_or_else(|| Error::new(ErrorKind::Conflict, "a user named `owner` may not own this"))
    }

    pub(super) async fn hand_out(
        &self,
        user: &User,
        kind: CredentialKind,
        name: &str,
        role: OperatorRole,
        lasts: Option<i64>,
    ) -> Result<NewSecret> {
        let text = secret(match kind {
            CredentialKind::Token => TOKEN,
            CredentialKind::Refresh => REFRESH,
            CredentialKind::Session | CredentialKind::Link => "",
        });
        let now = self.clock.now();
        let credential = Credential {
            id: CredentialId::fresh(),
            user: user.id,
            kind,
            name: name.to_owned(),
            role,
            created_at: now,
            expires_at: lasts.map(|lasts| Timestamp(now.0.saturating_add(lasts))),
            used_at: None,
        };
        self.store.add_credential(&digest(&text), &credential).await?;
        Ok(NewSecret { credential, secret: text.into() })
    }

    /// Exchanges a link for a session. A session that the browser had before is not continued.
    ///
    /// # Errors
    /// `Unauthorized` (`GAL-AUTH-LINK`) for a link that was used, has ended or never was.
    pub async fn sign_in(
        &self,
        link: &str,
        browser: &str,
        origin: &str,
    ) -> Result<(NewSecret, Operator)> {
        let now = self.clock.now();
        let link = digest(link);
        let found = self.store.credential(&link, now).await?;
        let found = found.filter(|(credential, _)| credential.kind == CredentialKind::Link);
        let refused = || {
            Error::new(ErrorKind::Unauthorized, "this link was used, has ended, or never was")
                .with_code("GAL-AUTH-LINK")
                .with_fix("run `galatea login` on the machine that galatea runs on for another")
        };
        let (_, user) = found.ok_or_else(refused)?;
        if !self.store.take_link(&link, now).await? {
            return Err(refused());
        }
        self.begin_browser_session(&user, browser, origin).await
    }

    /// Whoever has this secret, of one of these kinds; none for an unknown, ended or foreign one.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn identify(
        &self,
        secret: &str,
        kind: CredentialKind,
        origin: &str,
    ) -> Result<Option<Operator>> {
        let now = self.clock.now();
        let found = self.store.credential(&digest(secret), now).await?;
        let Some((credential, user)) = found.filter(|(credential, _)| credential.kind == kind)
        else {
            return Ok(None);
        };
        if credential.used_at.is_none_or(|used| now.0.saturating_sub(used.0) > NOTED) {
            self.store.note_use(credential.id, now).await?;
        }
        let origin = match kind {
            CredentialKind::Token => format!("{origin}, token {}", credential.name),
            _ => origin.to_owned(),
        };
        Ok(Some(operator(&user, Some(credential.id), credential.role, &origin)))
    }

    /// Ends the operator's own session. A token is revoked, not signed out.
    ///
    /// # Errors
    /// `NotFound` if the request has no session, and failures of the store.
    pub async fn sign_out(&self, by: &Operator) -> Result<()> {
        let own = self.sessions(by).await?;
        let own = own.into_iter().find(|session| Some(session.id) == by.credential);
        let id = own.ok_or_else(|| unknown("this request has no session"))?.id;
        self.store.end_credential(id).await?;
        self.record(by, "session.end", id, None, None).await
    }

    /// Sessions: an owner sees all, everybody else their own.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn sessions(&self, by: &Operator) -> Result<Vec<Credential>> {
        self.own(by, CredentialKind::Session).await
    }

    /// Tokens: an owner sees all, everybody else their own.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn tokens(&self, by: &Operator) -> Result<Vec<Credential>> {
        self.own(by, CredentialKind::Token).await
    }

    async fn own(&self, by: &Operator, kind: CredentialKind) -> Result<Vec<Credential>> {
        by.need(OperatorRole::Viewer)?;
        let mut all = self.store.credentials(kind, self.clock.now()).await?;
        if by.role < OperatorRole::Owner {
            all.retain(|credential| Some(credential.user) == by.user);
        }
        Ok(all)
    }

    /// Makes a token that may do at most what `role` may, for `days` or until it is revoked.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner, `Invalid` for a name that cannot be.
    pub async fn make_token(
        &self,
        by: &Operator,
        name: &str,
        role: OperatorRole,
        days: Option<u16>,
    ) -> Result<NewSecret> {
        by.need(OperatorRole::Owner)?;
        let name = checked_name(name)?;
        let users = self.store.users().await?;
        let user = match by.user {
            Some(id) => users.into_iter().find(|user| user.id == id),
            None => users.into_iter().find(|u| u.role == OperatorRole::Owner && !u.disabled),
        };
        let user = match user {
            Some(user) => user,
            None => self.first_owner().await?,
        };
        let lasts = days.map(|days| i64::from(days) * INVITATION);
        let made = self.hand_out(&user, CredentialKind::Token, name, role, lasts).await?;
        let after = json!({ "name": name, "role": role.as_str() });
        self.record(by, "token.make", made.credential.id, None, Some(after)).await?;
        Ok(made)
    }

    /// Ends a session or a token: an owner any, everybody else their own.
    ///
    /// # Errors
    /// `NotFound` if there is none that the operator may end.
    pub async fn end_credential(&self, by: &Operator, id: CredentialId) -> Result<()> {
        let mut mine = self.sessions(by).await?;
        mine.extend(self.tokens(by).await?);
        if !mine.iter().any(|credential| credential.id == id)
            || !self.store.end_credential(id).await?
        {
            return Err(unknown("there is no such session or token"));
        }
        self.record(by, "credential.end", id, None, None).await
    }

    /// Every user.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner.
    pub async fn users(&self, by: &Operator) -> Result<Vec<User>> {
        by.need(OperatorRole::Owner)?;
        self.store.users().await
    }

    /// Adds a user, and makes a link that signs them in once, within a day.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner, `Invalid` for a name that cannot be, `Conflict` for one
    /// that is taken.
    pub async fn invite(
        &self,
        by: &Operator,
        name: &str,
        role: OperatorRole,
    ) -> Result<(User, NewSecret)> {
        by.need(OperatorRole::Owner)?;
        let name = checked_name(name)?.to_owned();
        let user = User {
            id: UserId::fresh(),
            name,
            role,
            agents: BTreeMap::new(),
            password: None,
            created_at: self.clock.now(),
            disabled: false,
        };
        if !self.store.add_user(&user).await? {
            return Err(Error::new(ErrorKind::Conflict, "a user of this name is there already")
                .with_code("GAL-AUTH-NAME")
                .with_fix("choose another name"));
        }
        let after = json!({ "name": user.name, "role": role.as_str() });
        self.record(by, "user.add", user.id, None, Some(after)).await?;
        let lasts = Some(INVITATION);
        let made = self.hand_out(&user, CredentialKind::Link, "invitation", role, lasts).await?;
        Ok((user, made))
    }

    /// Makes another link for a user, who lost theirs or their password. Their sessions and their password
    /// end.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner, `NotFound` for an unknown user.
    pub async fn reset(&self, by: &Operator, id: UserId) -> Result<(User, NewSecret)> {
        let user = User { password: None, ..self.user(by, id).await? };
        self.store.change_user(&user).await?;
        self.store.end_sessions(id, None).await?;
        self.record(by, "user.reset", id, None, None).await?;
        let link = CredentialKind::Link;
        let made = self.hand_out(&user, link, "reset", user.role, Some(INVITATION)).await?;
        Ok((user, made))
    }

    /// Changes what a user may do.
    ///
    /// # Errors
    /// `Forbidden` for anybody but an owner, `NotFound` for an unknown user, `Conflict`
    /// (`GAL-AUTH-OWNER`) if no owner would remain.
    pub async fn change_user(
        &self,
        by: &Operator,
        id: UserId,
        role: Option<OperatorRole>,
        disabled: Option<bool>,
        agents: Option<BTreeMap<AgentId, OperatorRole>>,
    ) -> Result<User> {
        let user = self.user(by, id).await?;
        let shown = |user: &User| json!({ "role": user.role, "disabled": user.disabled, "agents": user.agents });
        let before = shown(&user);
        let user = User {
            role: role.unwrap_or(user.role),
            disabled: disabled.unwrap_or(user.disabled),
            agents: agents.unwrap_or_else(|| user.agents.clone()),
            ..user
        };
        if !self.store.change_user(&user).await? {
            return Err(last_owner());
        }
        self.record(by, "user.change", id, Some(before), Some(shown(&user))).await?;
        Ok(user)
    }

    /// Removes a user with their sessions and tokens.
    ///
    /// # Errors
    /// As [`Ops::change_user`].
    pub async fn remove_user(&self, by: &Operator, id: UserId) -> Result<()> {
        let user = self.user(by, id).await?;
        if !self.store.remove_user(id).await? {
            return Err(last_owner());
        }
        let before = json!({ "name": user.name, "role": user.role.as_str() });
        self.record(by, "user.remove", id, Some(before), None).await
    }

    async fn user(&self, by: &Operator, id: UserId) -> Result<User> {
        let users = self.users(by).await?;
        users.into_iter().find(|user| user.id == id).ok_or_else(|| unknown("there is no such user"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_their_digests_are_sha256() {
        let (a, b) = (secret(TOKEN), secret(TOKEN));
        assert!(a != b && a.len() == 72 && a.starts_with(TOKEN));
        assert_eq!(
            digest("abc").0,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn names_are_visible() {
        assert_eq!(checked_name(" Ada ").unwrap(), "Ada");
        for bad in ["", "  ", "a\nb", &"x".repeat(65)] {
            assert!(checked_name(bad).is_err(), "{bad:?}");
        }
    }
}
