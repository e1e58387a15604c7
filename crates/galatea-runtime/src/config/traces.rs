//! How much of turns is recorded, and for how long.

use galatea_core::{Result, Settings, Variable};

use super::{TRACE_DAYS, TRACE_MEGABYTES, TRACES};

/// How much of a turn is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceLevel {
    /// Nothing.
    Off,
    /// Steps with times and figures.
    Steps,
    /// Steps with prompts, answers, parameters and results.
    Full,
}

/// What is kept of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLimits {
    /// How much of a turn is recorded.
    pub level: TraceLevel,
    /// Days for which traces are kept.
    pub days: u32,
    /// Bytes of texts that are kept.
    pub bytes: u64,
}

impl TraceLimits {
    /// Reads the settings.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place.
    pub(super) fn from_settings(settings: &Settings) -> Result<Self> {
        let level = settings.text(&TRACES).unwrap_or_default();
        let level = match level.trim().to_ascii_lowercase().as_str() {
            "full" => TraceLevel::Full,
            "steps" => TraceLevel::Steps,
            "off" => TraceLevel::Off,
            _ => return Err(settings.invalid_setting(&TRACES, "is none of full, steps, off")),
        };
        let number = |variable: &Variable, most: u32| -> Result<u32> {
            let value: Option<u32> = settings.parse(variable, "a whole number")?;
            value.filter(|n| (1..=most).contains(n)).ok_or_else(|| {
                settings.invalid_setting(variable, &format!("has to be from 1 to {most}"))
            })
        };
        Ok(Self {
            level,
            days: number(&TRACE_DAYS, 365)?,
            bytes: u64::from(number(&TRACE_MEGABYTES, 1_000_000)?) << 20,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_name_their_place() {
        for (name, value) in [("TRACES", "some"), ("TRACE_DAYS", "0"), ("TRACE_MEGABYTES", "x")] {
            let settings = Settings::from_pairs([(name, value)]);
            let error = TraceLimits::from_settings(&settings).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        let usual = TraceLimits::from_settings(&Settings::default()).unwrap();
        assert_eq!((usual.level, usual.days, usual.bytes), (TraceLevel::Full, 7, 256 << 20));
    }
}
