//! The settings of one account.

use galatea_core::{ExposeSecret, Result, SecretString, Settings, Variable};

use crate::error;

const TOKEN: Variable =
    Variable::new("PARROT_TOKEN", "The account's token: number, colon, secret.")
        .secret()
        .required();
const API_ROOT: Variable =
    Variable::new("PARROT_API_ROOT", "Address of the server.").or(DEFAULT_ROOT);

/// Every setting of the connector.
pub(crate) const VARIABLES: &[Variable] = &[TOKEN, API_ROOT];

// `.example` is not a host by definition (RFC 2606 §2): put the platform's own address here.
const DEFAULT_ROOT: &str = "https://chat.example";

/// Settings of one account.
#[derive(Debug, Clone)]
pub struct ParrotConfig {
    /// The account's number, a colon and a secret.
    pub token: SecretString,
    /// Address of the server, without a slash at its end.
    pub api_root: String,
}

fn default_root() -> String {
    DEFAULT_ROOT.to_owned()
}

impl ParrotConfig {
    /// Reads the settings; none without a token.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>> {
        let Some(token) = settings.secret(&TOKEN) else { return Ok(None) };
        let api_root = settings.text(&API_ROOT).unwrap_or_else(default_root);
        if !api_root.starts_with("https://") && !api_root.starts_with("http://") {
            return Err(settings.invalid_setting(&API_ROOT, "is not an http or https address"));
        }
        let config = Self { token, api_root: api_root.trim_end_matches('/').to_owned() };
        config.account().map_err(|error| {
            error.with("where", format!("{} from {}", TOKEN.name, settings.origin(&TOKEN)))
        })?;
        Ok(Some(config))
    }

    /// The account's own number, known without a call.
    pub(crate) fn account(&self) -> Result<u64> {
        let (number, secret) = self.token.expose_secret().split_once(':').unwrap_or_default();
        // The token is not repeated: it may be right but for one character.
        number.parse().ok().filter(|_| !secret.is_empty()).ok_or_else(error::token_shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_without_a_token_and_on_with_one() {
        assert!(ParrotConfig::read(&Settings::default()).unwrap().is_none());
        let config =
            ParrotConfig::read(&Settings::from_pairs([(TOKEN.name, "7:secret")])).unwrap().unwrap();
        assert_eq!((config.account().unwrap(), config.api_root.as_str()), (7, DEFAULT_ROOT));
    }

    #[test]
    fn nonsense_is_refused_with_its_place_and_without_the_secret() {
        let error = ParrotConfig::read(&Settings::from_pairs([(TOKEN.name, "hush")])).unwrap_err();
        assert!(
            error.to_string().contains(TOKEN.name) && !error.report().contains("hush"),
            "{}",
            error.report()
        );
        let pairs = [(TOKEN.name, "7:secret"), (API_ROOT.name, "ftp://x")];
        assert!(ParrotConfig::read(&Settings::from_pairs(pairs)).is_err());
    }
}
