//! The address of an API or a page, as a setting.

use galatea_core::{Result, Settings, Variable};
use url::Url;

/// Reads the address that a setting holds. Connectors call it for each of their addresses while they
/// read their configuration. `None` if the setting is not there.
///
/// # Errors
/// `Invalid` with the place of the setting: not an address, not http or https, or with a user name
/// or a password, which would reach logs.
pub fn address(settings: &Settings, variable: &Variable) -> Result<Option<Url>> {
    let Some(url) = settings.parse::<Url>(variable, "an address such as https://host/path")? else {
        return Ok(None);
    };
    if !matches!(url.scheme(), "http" | "https")
        || url.host_str().is_none()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(settings
            .invalid_setting(variable, "is not an http or https address without a user name"));
    }
    Ok(Some(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_without_a_user_name_are_taken() {
        const ROOT: Variable = Variable::new("PARROT_API_ROOT", "the address");
        let read = |text: &str| address(&Settings::from_pairs([("PARROT_API_ROOT", text)]), &ROOT);
        assert_eq!(read("https://host/path").unwrap().unwrap().as_str(), "https://host/path");
        assert!(address(&Settings::default(), &ROOT).unwrap().is_none());
        for wrong in ["host", "ftp://host", "https://me@host", "https://:secret@host"] {
            let report = read(wrong).unwrap_err().report();
            assert!(report.contains("PARROT_API_ROOT") && !report.contains("secret"), "{report}");
        }
    }
}
