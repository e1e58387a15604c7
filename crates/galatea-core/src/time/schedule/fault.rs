//! What is wrong with a rule of time.

use crate::{
    error::{Error, Result},
    zone::Zone,
};

/// The failure of a rule that cannot be read.
pub(super) fn invalid(message: &'static str) -> Error {
    Error::invalid(message).with_code("GAL-TASK-RULE").with_fix(
        "use five fields (minute, hour, day, month, weekday), such as `0 9 * * 1-5`, and a zone such as Europe/Berlin",
    )
}

/// The zone of a rule.
pub(super) fn zone(name: &str) -> Result<Zone> {
    Zone::named(name).ok_or_else(|| invalid("no time zone has this name").with("zone", name))
}
