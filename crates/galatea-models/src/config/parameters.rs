//! Reads sampling parameters from settings. `<TYPE>_<PARAM>` has precedence over `DEFAULT_<PARAM>`,
//! and that over the oldest names.

use std::str::FromStr;

use galatea_core::{
    Result, Settings, Variable,
    model::{Effort, Sampling, Tier},
};

use super::variables::{DEFAULT, LEGACY, REASONING_LARGE, REASONING_SMALL, TEXT_LARGE, TEXT_SMALL};

/// The sampling parameters that the settings give to a tier. The call's own values have precedence.
pub(super) fn sampling(settings: &Settings, tier: Tier) -> Result<Sampling> {
    // Without an effort, some models do not think at all.
    let usual = match tier {
        Tier::TextSmall | Tier::TextLarge => None,
        Tier::ReasoningSmall => Some(Effort::Medium),
        Tier::ReasoningLarge => Some(Effort::High),
    };
    let set = set(settings, tier)?;
    Ok(Sampling { effort: set.effort.or(usual), ..set })
}

/// Those of them that a setting names.
pub(super) fn set(settings: &Settings, tier: Tier) -> Result<Sampling> {
    let own = match tier {
        Tier::TextSmall => &TEXT_SMALL,
        Tier::TextLarge => &TEXT_LARGE,
        Tier::ReasoningSmall => &REASONING_SMALL,
        Tier::ReasoningLarge => &REASONING_LARGE,
    };
    let read = Reader { settings, own };
    Ok(Sampling {
        max_tokens: read.value(0, Some(&LEGACY[0]), "a whole number")?,
        temperature: read.value(1, Some(&LEGACY[1]), "a number")?,
        top_p: read.value(2, None, "a number")?,
        top_k: read.value(3, None, "a whole number")?,
        min_p: read.value(4, None, "a number")?,
        seed: read.value(5, None, "a whole number")?,
        repetition_penalty: read.value(6, None, "a number")?,
        frequency_penalty: read.value(7, Some(&LEGACY[2]), "a number")?,
        presence_penalty: read.value(8, Some(&LEGACY[3]), "a number")?,
        stop: Vec::new(),
        effort: read.value(9, None, "none, minimal, low, medium, high, xhigh or max")?,
    })
}

struct Reader<'a> {
    settings: &'a Settings,
    own: &'a [Variable; 10],
}

impl Reader<'_> {
    fn value<T: FromStr>(
        &self,
        at: usize,
        legacy: Option<&Variable>,
        expected: &str,
    ) -> Result<Option<T>> {
        for variable in [Some(&self.own[at]), Some(&DEFAULT[at]), legacy].into_iter().flatten() {
            if let Some(value) = self.settings.parse(variable, expected)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}
