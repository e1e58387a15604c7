//! Passwords, and the access of programs that renew it: a refresh token is taken once, and its second
//! use ends all that followed from one sign-in.

use argon2::{
    Argon2,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use galatea_core::{
    CredentialId, Error, ErrorKind, ExposeSecret as _, Result, SecretString,
    store::{CredentialKind, OperatorRole, User},
};
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;

use super::{
    NewSecret, Operator, Ops, digest,
    house::{SESSION, browser_name},
    operator,
};
use crate::config::{GALATEA_SECRET_KEY, SignInOptions};

/// Shortest password in characters (NIST SP 800-63B rev. 4 §3.1.1.2 asks for 15 where it is the only
/// factor; links, the other way in, are no secret that is chosen).
const SHORTEST: usize = 12;
/// Longest password in bytes: hashing costs no more for it.
const LONGEST: usize = 1_024;
/// How long a refresh token may be used, in milliseconds.
const REFRESH: i64 = 30 * 24 * 60 * 60 * 1000;
/// Passwords that are hashed at once: each takes 19 MiB and some 20 ms of a core.
static AT_ONCE: Semaphore = Semaphore::const_new(2);

fn refused() -> Error {
    Error::new(ErrorKind::Unauthorized, "the name or the password is wrong")
        .with_code("GAL-AUTH-PASSWORD")
        .with_fix(
            "try again; an owner makes a new link with `galatea user reset` or in the console",
        )
}

/// A hash that no password has: an unknown name takes as long as a known one.
fn nobody() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let random: [u8; 32] = rand::random();
        Argon2::default().hash_password(&random).map(|hash| hash.to_string()).unwrap_or_default()
    })
}

async fn hash(password: SecretString) -> Result<String> {
    let _place = AT_ONCE.acquire().await;
    let hashed = tokio::task::spawn_blocking(move || {
        Argon2::default().hash_password(password.expose_secret().as_bytes()).map(|h| h.to_string())
    });
    let hashed = hashed.await.map_err(|_| Error::unexpected("a password could not be hashed"))?;
    hashed.map_err(|_| Error::unexpected("a password could not be hashed"))
}

async fn fits(password: SecretString, hash: Option<String>) -> bool {
    let _place = AT_ONCE.acquire().await;
    let checked = tokio::task::spawn_blocking(move || {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| nobody().to_owned());
        let Ok(parsed) = PasswordHash::new(&hash) else { return false };
        let fits =
            Argon2::default().verify_password(password.expose_secret().as_bytes(), &parsed).is_ok();
        fits && known
    });
    checked.await.unwrap_or(false)
}

impl Ops {
    /// With the ways to sign in that the settings have.
    #[must_use]
    pub fn with_sign_in(mut self, options: SignInOptions) -> Self {
        self.sign_in = Arc::new(options);
        self
    }

    /// The ways to sign in that the settings have.
    pub fn sign_in_options(&self) -> &SignInOptions {
        &self.sign_in
    }

    /// The key that signs access and seals what is remembered during a sign-in: that of the stored
    /// secrets, if the environment has one, so that all processes have the same; otherwise a new one.
    pub fn signing_key(&self) -> [u8; 32] {
        let settings = self.installation.as_ref().map(|found| &found.configuration.settings);
        match settings.and_then(|settings| settings.secret(&GALATEA_SECRET_KEY)) {
            Some(key) => Sha256::digest(format!("galatea access:{}", key.expose_secret())).into(),
            None => rand::random(),
        }
    }

    /// Whether a user has a password.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn has_passwords(&self) -> Result<bool> {
        let users = self.store.users().await?;
        Ok(users.iter().any(|user| user.password.is_some() && !user.disabled))
    }

    async fn by_password(&self, name: &str, password: &SecretString) -> Result<User> {
        if password.expose_secret().len() > LONGEST {
            return Err(refused());
        }
        let users = self.store.users().await?;
        let user = users.into_iter().find(|user| user.name == name.trim() && !user.disabled);
        let hash = user.as_ref().and_then(|user| user.password.clone());
        if !fits(password.clone(), hash).await {
            return Err(refused());
        }
        user.ok_or_else(refused)
    }

    /// Exchanges a name and a password for a session.
    ///
    /// # Errors
    /// `Unauthorized` (`GAL-AUTH-PASSWORD`), the same for an unknown name and a wrong password.
    pub async fn sign_in_with_password(
        &self,
        name: &str,
        password: &SecretString,
        browser: &str,
        origin: &str,
    ) -> Result<(NewSecret, Operator)> {
        let user = self.by_password(name, password).await?;
        self.begin_browser_session(&user, browser, origin).await
    }

    /// Begins a session of a user whom an OpenID Connect provider has signed in: one who was invited
    /// under this name.
    ///
    /// # Errors
    /// `Unauthorized` (`GAL-AUTH-UNINVITED`) for anybody else.
    pub async fn sign_in_as(
        &self,
        name: &str,
        browser: &str,
        origin: &str,
    ) -> Result<(NewSecret, Operator)> {
        let users = self.store.users().await?;
        let user = users.into_iter().find(|user| user.name == name && !user.disabled);
        let user = user.ok_or_else(|| {
            Error::new(ErrorKind::Unauthorized, "no user of this name may sign in here")
                .with_code("GAL-AUTH-UNINVITED")
                .with_fix("an owner invites a user whose name is the e-mail address")
        })?;
        self.begin_browser_session(&user, browser, origin).await
    }

    pub(super) async fn begin_browser_session(
        &self,
        user: &User,
        browser: &str,
        origin: &str,
    ) -> Result<(NewSecret, Operator)> {
        let browser = browser_name(browser);
        let made = self.hand_out(
            user,
            CredentialKind::Session,
            &browser,
            OperatorRole::Owner,
            Some(SESSION),
        );
        let made = made.await?;
        let by = operator(user, Some(made.credential.id), OperatorRole::Owner, origin);
        self.record(&by, "session.begin", made.credential.id, None, None).await?;
        Ok((made, by))
    }

    /// Sets the operator's own password. Their other sessions end.
    ///
    /// # Errors
    /// `Unauthorized` (`GAL-AUTH-PASSWORD`) if the present one is wrong, `Invalid` for one that is too
    /// short or too long, `Conflict` for the command line, which has no user.
    pub async fn set_password(
        &self,
        by: &Operator,
        current: Option<&SecretString>,
        new: &SecretString,
    ) -> Result<()> {
        let id = by.user.ok_or_else(|| {
            Error::new(ErrorKind::Conflict, "this request has no user of its own")
                .with_fix("sign in with a link or a token")
        })?;
        let text = new.expose_secret();
        if text.chars().count() < SHORTEST || text.len() > LONGEST {
            return Err(Error::invalid(format!(
                "a password has at least {SHORTEST} characters and at most {LONGEST} bytes"
            ))
            .with_code("GAL-AUTH-WEAK"));
        }
        let users = self.store.users().await?;
        let user = users.into_iter().find(|user| user.id == id);
        let user = user.ok_or_else(|| Error::not_found("there is no such user"))?;
        if let Some(known) = user.password.clone() {
            let current = current.cloned().unwrap_or_default();
            if !fits(current, Some(known)).await {
                return Err(refused());
            }
        }
        let user = User { password: Some(hash(new.clone()).await?), ..user };
        if !self.store.change_user(&user).await? {
            return Err(Error::not_found("there is no such user"));
        }
        self.store.end_sessions(id, by.credential).await?;
        self.record(by, "user.password", id, None, None).await
    }

    /// Begins the access of a program by name and password: a refresh token, whose family it begins.
    ///
    /// # Errors
    /// As [`Ops::sign_in_with_password`].
    pub async fn begin_access(
        &self,
        name: &str,
        password: &SecretString,
        origin: &str,
    ) -> Result<(NewSecret, Operator)> {
        let user = self.by_password(name, password).await?;
        let family = CredentialId::fresh().to_string();
        let made = self.refresh_token(&user, &family).await?;
        let by = operator(&user, Some(made.credential.id), OperatorRole::Owner, origin);
        self.record(&by, "access.begin", &family, None, None).await?;
        Ok((made, by))
    }

    async fn refresh_token(&self, user: &User, family: &str) -> Result<NewSecret> {
        self.hand_out(user, CredentialKind::Refresh, family, OperatorRole::Owner, Some(REFRESH))
            .await
    }

    /// Exchanges a refresh token for the next one of its family.
    ///
    /// # Errors
    /// `Unauthorized`: `GAL-AUTH-NONE` for one that is unknown or has ended, `GAL-AUTH-REUSE` for one that
    /// was used before. Somebody has a copy of it then, so its whole family ends.
    pub async fn refresh(&self, secret: &str, origin: &str) -> Result<(NewSecret, Operator)> {
        let now = self.clock.now();
        let ended = || {
            Error::new(ErrorKind::Unauthorized, "this refresh token has ended or never was")
                .with_code("GAL-AUTH-NONE")
                .with_fix("sign in again")
        };
        let token = digest(secret);
        let found = self.store.credential(&token, now).await?;
        let found = found.filter(|(one, _)| one.kind == CredentialKind::Refresh);
        let (credential, user) = found.ok_or_else(ended)?;
        let family = credential.name;
        if credential.used_at.is_some() || !self.store.take_refresh(&token, now).await? {
            self.store.end_family(&family).await?;
            let by = operator(&user, Some(credential.id), OperatorRole::Owner, origin);
            self.record(&by, "access.reuse", &family, None, None).await?;
            return Err(Error::new(ErrorKind::Unauthorized, "this refresh token was used before")
                .with_code("GAL-AUTH-REUSE")
                .with_fix("sign in again; all access that followed from this sign-in has ended"));
        }
        let made = self.refresh_token(&user, &family).await?;
        let by = operator(&user, Some(made.credential.id), OperatorRole::Owner, origin);
        Ok((made, by))
    }

    /// Who has the access of a family, as long as it has not ended.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn identify_family(&self, family: &str, origin: &str) -> Result<Option<Operator>> {
        let found = self.store.family(family, self.clock.now()).await?;
        Ok(found.map(|(credential, user)| {
            operator(&user, Some(credential.id), credential.role, origin)
        }))
    }

    /// Ends the access of a refresh token and all of its family.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn end_access(&self, secret: &str) -> Result<()> {
        let found = self.store.credential(&digest(secret), self.clock.now()).await?;
        if let Some((credential, _)) = found.filter(|(one, _)| one.kind == CredentialKind::Refresh)
        {
            self.store.end_family(&credential.name).await?;
        }
        Ok(())
    }
}
