//! Reads sampling parameters from settings. The parameters of a role have precedence over those of
//! all models, and a parameter's own name over the structured value.

use std::str::FromStr;

use galatea_core::{
    Result, Settings,
    model::{Effort, Sampling, Tier},
};
use serde_json::{Map, Value};

use super::variables::sampling::{
    DEFAULT, PARAMETERS, REASONING_LARGE, REASONING_SMALL, SamplingSettings, TEXT_LARGE, TEXT_SMALL,
};

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

/// The parameters that a setting names.
pub(super) fn set(settings: &Settings, tier: Tier) -> Result<Sampling> {
    let read = Reader {
        settings,
        roles: [Read::of(settings, role(tier))?, Read::of(settings, &DEFAULT)?],
    };
    Ok(Sampling {
        max_tokens: read.value(0, "a whole number")?,
        temperature: read.value(1, "a number")?,
        top_p: read.value(2, "a number")?,
        top_k: read.value(3, "a whole number")?,
        min_p: read.value(4, "a number")?,
        seed: read.value(5, "a whole number")?,
        repetition_penalty: read.value(6, "a number")?,
        frequency_penalty: read.value(7, "a number")?,
        presence_penalty: read.value(8, "a number")?,
        stop: Vec::new(),
        effort: read.value(9, "none, minimal, low, medium, high, xhigh or max")?,
    })
}

/// The settings of a tier.
pub(super) fn role(tier: Tier) -> &'static SamplingSettings {
    match tier {
        Tier::TextSmall => &TEXT_SMALL,
        Tier::TextLarge => &TEXT_LARGE,
        Tier::ReasoningSmall => &REASONING_SMALL,
        Tier::ReasoningLarge => &REASONING_LARGE,
    }
}

/// A role with the parameters of its structured value.
struct Read<'a> {
    role: &'a SamplingSettings,
    values: Vec<(usize, String)>,
}

impl<'a> Read<'a> {
    fn of(settings: &Settings, role: &'a SamplingSettings) -> Result<Self> {
        let text = settings.text(&role.whole).unwrap_or_default();
        let values = pairs(text.trim()).ok_or_else(|| {
            settings.invalid_setting(
                &role.whole,
                "is not written like `temperature=0.7, max_tokens=2000`, with parameters of its list",
            )
        })?;
        Ok(Self { role, values })
    }
}

/// The parameters of a structured value, by their places: a list, or the JSON object of a character
/// file. None if it names another parameter.
fn pairs(text: &str) -> Option<Vec<(usize, String)>> {
    let place =
        |name: &str| PARAMETERS.iter().position(|known| known.eq_ignore_ascii_case(name.trim()));
    if text.starts_with('{') {
        let map: Map<String, Value> = serde_json::from_str(text).ok()?;
        let scalar =
            |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return map.iter().map(|(name, value)| Some((place(name)?, scalar(value)))).collect();
    }
    text.split([',', '\n'])
        .filter(|item| !item.trim().is_empty())
        .map(|item| {
            let (name, value) = item.split_once('=')?;
            Some((place(name)?, value.trim().to_owned()))
        })
        .collect()
}

struct Reader<'a> {
    settings: &'a Settings,
    roles: [Read<'a>; 2],
}

impl Reader<'_> {
    /// The parameter at this place of [`PARAMETERS`].
    fn value<T: FromStr>(&self, at: usize, expected: &str) -> Result<Option<T>> {
        for Read { role, values } in &self.roles {
            if let Some(value) = self.settings.parse(&role.parts[at], expected)? {
                return Ok(Some(value));
            }
            if let Some((_, text)) = values.iter().find(|(place, _)| *place == at) {
                let wrong = format!("sets {}, which is not {expected}", PARAMETERS[at]);
                let value =
                    text.parse().map_err(|_| self.settings.invalid_setting(&role.whole, &wrong))?;
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}
