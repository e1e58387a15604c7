//! TIME: what day and hour it is.

use async_trait::async_trait;
use galatea_core::{Error, Fragment, Provider, ProviderUse, Result, Turn};
use time::{OffsetDateTime, macros::format_description};

/// What day and hour it is, in UTC.
pub(crate) struct Time;

#[async_trait]
impl Provider for Time {
    fn name(&self) -> &'static str {
        "TIME"
    }
    fn description(&self) -> &'static str {
        "The current date and time in UTC"
    }
    fn position(&self) -> i32 {
        -10
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let format = format_description!("[weekday], [month repr:long] [day padding:none], [year], [hour]:[minute] UTC");
        let now =
            OffsetDateTime::from_unix_timestamp(turn.now().0.div_euclid(1000)).map_err(|e| Error::unexpected("the clock shows no date").with_source(e))?;
        let text = now.format(format).map_err(|e| Error::unexpected("the date has no form").with_source(e))?;
        Ok(Fragment::text(format!("It is {text}.")).value("time", text))
    }
}
