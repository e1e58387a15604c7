//! The versions of Galatea that a plugin fits.

use semver::{Version, VersionReq};

use crate::error::{Error, Result};

/// This version of the contract, which a plugin's range is compared with.
pub const GALATEA_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Checks the range of versions that a plugin says it fits, such as `>=0.1, <0.3`. An empty range
/// fits every version.
///
/// # Errors
/// `Invalid` (`GAL-PLUGIN-VERSION`) for a range that cannot be read or that does not contain
/// `running`.
pub fn check_range(plugin: &str, range: &str, running: &str) -> Result<()> {
    if range.trim().is_empty() {
        return Ok(());
    }
    let fault = |what: &str| {
        Error::invalid(what.to_owned())
            .with_code("GAL-PLUGIN-VERSION")
            .with("plugin", plugin)
            .with("range", range)
            .with("galatea", running)
    };
    let wanted: VersionReq = range.parse().map_err(|cause: semver::Error| {
        fault("the range of Galatea's versions that a plugin fits cannot be read")
            .with("cause", cause)
            .with_fix("write it as `>=0.1, <0.2`")
    })?;
    let version: Version = running.parse().map_err(|cause: semver::Error| {
        Error::unexpected("this version of Galatea cannot be read").with("cause", cause)
    })?;
    // A release candidate counts as the version that it becomes.
    let version = Version::new(version.major, version.minor, version.patch);
    if wanted.matches(&version) {
        return Ok(());
    }
    Err(fault("a plugin was made for another version of Galatea")
        .with_fix("take a version of the plugin that fits this Galatea, or leave the plugin out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_to_contain_the_running_version() {
        for range in ["", "*", "0.1", "^0.1.0", ">=0.1, <0.3", "=0.1.4"] {
            assert!(check_range("poll", range, "0.1.4").is_ok(), "{range}");
        }
        assert!(check_range("poll", ">=0.2", "0.2.0-rc.1").is_ok());
        for range in ["0.2", ">=0.1.5", "<0.1", "one"] {
            let error = check_range("poll", range, "0.1.4").unwrap_err();
            assert_eq!(error.code(), Some("GAL-PLUGIN-VERSION"), "{range}");
            assert!(error.fix().is_some() && error.report().contains("poll"), "{error}");
        }
    }
}
