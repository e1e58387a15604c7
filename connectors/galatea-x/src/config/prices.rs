//! Prices of calls, and amounts of money.

use galatea_core::Result;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// US dollars, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    /// From cents.
    pub const fn from_cents(cents: u64) -> Self {
        Self(cents * 10_000)
    }
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
    pub(crate) fn times(self, count: usize) -> Self {
        Self(self.0.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX)))
    }
}

impl FromStr for Usd {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let amount: f64 = text.trim().trim_start_matches('$').parse().map_err(|_| ())?;
        if !(0.0..=1_000_000.0).contains(&amount) {
            return Err(());
        }
        // At most 10^12, exact in a double.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be between 0 and a million"
        )]
        Ok(Self((amount * 1_000_000.0).round() as u64))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0.is_multiple_of(10_000) { 2 } else { 3 };
        #[allow(clippy::cast_precision_loss, reason = "shown with three digits")]
        let amount = self.0 as f64 / 1_000_000.0;
        write!(f, "${amount:.digits$}")
    }
}

/// Prices per call kind (X, pay-per-use list of 2026-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// A mention of the app owner's account, per post read.
    pub mention: Usd,
    /// Any other post read.
    pub read: Usd,
    /// A person read.
    pub user: Usd,
    /// A post.
    pub post: Usd,
    /// A post with a link in it.
    pub link: Usd,
    /// A reply to a person who summoned us.
    pub reply: Usd,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            mention: Usd(1_000),
            read: Usd(5_000),
            user: Usd(10_000),
            post: Usd(15_000),
            link: Usd(200_000),
            reply: Usd(10_000),
        }
    }
}
