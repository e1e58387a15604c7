//! Checks the machine's clock and the port of the health server.

use galatea_core::{Finding, Severity};
use std::time::{Duration, SystemTime};

use super::examined::Examined;
use crate::process::health;

/// 2026-01-01T00:00:00Z in Unix seconds. This version was released later, so a correct clock cannot
/// show an earlier time.
const MADE_AFTER: Duration = Duration::from_secs(1_767_225_600);

/// A finding if the clock is far behind.
pub(super) fn clock() -> Option<Finding> {
    is_behind(SystemTime::now()).then(|| {
        Finding::new(
            Severity::Error,
            "GAL-DOCTOR-CLOCK",
            "clock",
            "the clock of this machine is wrong: it shows a time before this version was made",
        )
        .with_fix("set it, best by a time service such as systemd-timesyncd or chrony")
    })
}

fn is_behind(now: SystemTime) -> bool {
    now < SystemTime::UNIX_EPOCH + MADE_AFTER
}

/// Whether the health server can bind its port. Skipped if the process is running.
pub(super) async fn port(examined: &Examined<'_>) -> Vec<Finding> {
    if examined.running.is_some() {
        return Vec::new();
    }
    let settings = &examined.configuration.settings;
    let address = match health::address(settings, None) {
        Ok(address) => address,
        Err(error) => return vec![Finding::failure("port", &error)],
    };
    match health::bind(address, &health::origin(settings, None)).await {
        Ok(_) if address.port() == 0 => {
            vec![Finding::ok("GAL-PORT", "port", "the health server takes any free port")]
        }
        Ok(_) => vec![Finding::ok(
            "GAL-PORT",
            "port",
            format!("{address} is free for the health server"),
        )],
        Err(error) => vec![Finding::failure("port", &error)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_before_this_version_is_wrong() {
        assert!(is_behind(SystemTime::UNIX_EPOCH));
        assert!(!is_behind(SystemTime::UNIX_EPOCH + MADE_AFTER));
    }
}
