//! Where a NATS server is, and how it knows us.

use galatea_core::{Result, SecretString, secret::ExposeSecret as _};
use url::Url;

use super::invalid;

/// How the server knows us (NATS documentation, "Authentication").
#[derive(Debug)]
pub enum Login {
    /// It does not ask.
    None,
    /// A name and a password.
    Password(String, SecretString),
    /// A token.
    Token(SecretString),
}

/// The servers of one bus.
#[derive(Debug)]
pub struct Address {
    /// Each without its login.
    pub servers: Vec<String>,
    /// The first one's, for all of them.
    pub login: Login,
}

impl Address {
    /// Reads addresses separated by commas.
    ///
    /// # Errors
    /// `Invalid` when one is none.
    pub fn read(text: &SecretString) -> Result<Self> {
        let (mut servers, mut login) = (Vec::new(), Login::None);
        for (n, text) in text.expose_secret().split(',').map(str::trim).filter(|text| !text.is_empty()).enumerate() {
            let mut url = Url::parse(text).map_err(|error| invalid(&format!("holds no address: {error}")))?;
            if !matches!(url.scheme(), "nats" | "tls") || url.host_str().is_none_or(str::is_empty) {
                return Err(invalid("begins with nats:// or tls:// and a host"));
            }
            if n == 0 {
                login = of(&url);
            }
            // Fails for addresses without a host only.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            servers.push(url.to_string());
        }
        if servers.is_empty() {
            return Err(invalid("is empty"));
        }
        Ok(Self { servers, login })
    }
}

fn of(url: &Url) -> Login {
    let plain = |part: &str| percent_decoded(part);
    match (url.username(), url.password()) {
        ("", _) => Login::None,
        (token, None) => Login::Token(SecretString::from(plain(token))),
        (user, Some(password)) => Login::Password(plain(user), SecretString::from(plain(password))),
    }
}

/// `%40` is a sign like any other in a password.
fn percent_decoded(text: &str) -> String {
    url::form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes()).next().map_or_else(String::new, |(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Address> {
        Address::read(&SecretString::from(text.to_owned()))
    }

    #[test]
    fn logins_are_taken_out() {
        let address = read("nats://ann:p%40ss+1@a:4222, tls://b").unwrap();
        assert_eq!(address.servers, ["nats://a:4222", "tls://b"]);
        let Login::Password(user, password) = address.login else { panic!("{address:?}") };
        assert_eq!((user.as_str(), password.expose_secret()), ("ann", "p@ss+1"));
        let Login::Token(token) = read("nats://s3cr3t@a").unwrap().login else { panic!("a token") };
        assert_eq!(token.expose_secret(), "s3cr3t");
        assert!(matches!(read("nats://127.0.0.1:4222").unwrap().login, Login::None));
    }

    #[test]
    fn what_is_no_address_is_said_without_its_password() {
        for text in ["", " , ", "host:4222", "http://u:canary@h", "nats://u:canary@:4222", "nats:u:canary"] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code(), Some("GAL-NATS"), "{text}");
            assert!(error.fix().is_some() && !error.report().contains("canary"), "{}", error.report());
        }
    }
}
