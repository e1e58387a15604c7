//! Reads the web connector's config from the agent's settings.

use galatea_core::{Result, Settings, Variable};

const ENABLED: Variable = Variable::new(
    "WEB_ENABLED",
    "Lets people and programs talk to this agent over the program's own server.",
)
.or("true");

/// Pages of other servers that may show the chat script. The server reads it for the whole process.
pub const ORIGINS: Variable = Variable::new(
    "WEB_ORIGINS",
    "Pages of other servers that may show this program's chat, separated by commas: https://example.org. Nobody else's page can.",
);

/// Every setting of the web.
pub(crate) const VARIABLES: &[Variable] = &[ENABLED];
/// Every setting of visitors.
pub(crate) const OF_VISITORS: &[Variable] = &[ORIGINS];

/// The pages that may show the chat script.
///
/// # Errors
/// `Invalid` for one that is no origin: a scheme, a host and perhaps a port.
pub fn origins(settings: &Settings) -> Result<Vec<String>> {
    let listed = settings.list(&ORIGINS)?.unwrap_or_default();
    let read = |text: &String| {
        let text = text.trim().trim_end_matches('/').to_ascii_lowercase();
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let fits =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
        let sound = host.is_some_and(|host| !host.is_empty() && host.bytes().all(fits));
        sound.then_some(text)
    };
    listed.iter().map(read).collect::<Option<Vec<_>>>().ok_or_else(|| {
        settings.invalid_setting(
            &ORIGINS,
            "lists something that is no page such as https://example.org",
        )
    })
}

/// Anonymous visitors of other pages may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visitors;

impl Visitors {
    /// Reads the settings; none where no page may show the chat script.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>> {
        Ok((!origins(settings)?.is_empty()).then_some(Self))
    }
}

/// The web connector is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config;

impl Config {
    /// Reads the settings; none when it is switched off.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>> {
        Ok(settings.flag(&ENABLED)?.then_some(Self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_are_listed() {
        let of = |text: &'static str| origins(&Settings::from_pairs([("WEB_ORIGINS", text)]));
        assert_eq!(
            of("https://Example.org/, http://localhost:8000").unwrap(),
            ["https://example.org", "http://localhost:8000"]
        );
        assert_eq!(origins(&Settings::default()).unwrap(), [""; 0]);
        for bad in ["*", "example.org", "https://", "https://example.org/page", "null"] {
            assert!(of(bad.to_owned().leak()).is_err(), "{bad}");
        }
        let page = Settings::from_pairs([("WEB_ORIGINS", "https://example.org")]);
        assert_eq!(Visitors::read(&page).unwrap(), Some(Visitors));
        assert_eq!(Visitors::read(&Settings::default()).unwrap(), None);
    }
}
