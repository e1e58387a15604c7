//! Reads and checks the data file of model families.

use galatea_core::{
    Error, Result,
    model::{Effort, ModelLimits, Price, UnitPrice},
};
use serde::Deserialize;
use std::collections::HashMap;

use super::{
    End, Families, Family, Preference, Rules,
    family::{Limit, Sampling, Wire},
    pattern::{Pattern, Version, version},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    date: String,
    source: String,
    seeing: Vec<String>,
    provider: Vec<Wanted>,
    family: Vec<FamilyEntry>,
    end: Vec<Last>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
    #[serde(default)]
    small: Vec<String>,
    #[serde(default)]
    large: Vec<String>,
    #[serde(default)]
    reasoning_small: Vec<String>,
    #[serde(default)]
    reasoning_large: Vec<String>,
    #[serde(default)]
    vision: Vec<String>,
    #[serde(default)]
    embedding: Vec<String>,
    transcription: Option<String>,
    cache: Option<StoredTokens>,
}

/// Cost of storing a token in the provider's cache, as a multiple of reading it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTokens {
    minutes: String,
    hour: Option<String>,
}

/// [`StoredTokens`] in millionths.
#[derive(Clone, Copy, Default)]
struct Multiples {
    minutes: Option<u64>,
    hour: Option<u64>,
}

const MILLION: u64 = 1_000_000;

impl StoredTokens {
    fn multiples(&self) -> Result<Multiples> {
        let hour = self.hour.as_deref().map(micros).transpose()?;
        Ok(Multiples { minutes: Some(micros(&self.minutes)?), hour })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyEntry {
    provider: String,
    name: String,
    least: Option<String>,
    model: Option<String>,
    window: Option<u32>,
    output: Option<u32>,
    price: Option<Dollars>,
    unit: Option<Units>,
    later: Option<Later>,
    #[serde(default)]
    wire: Wire,
    #[serde(default)]
    limit: Limit,
    #[serde(default)]
    sampling: Sampling,
    #[serde(default)]
    efforts: Vec<Effort>,
    #[serde(default = "yes")]
    prefill: bool,
    #[serde(default)]
    vision: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dollars {
    input: String,
    cached: String,
    output: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Units {
    minute: Option<String>,
    image: Option<String>,
    characters: Option<String>,
    /// The page that states the price.
    source: String,
    /// Day of reading.
    read: String,
}

impl Units {
    fn price(&self) -> Result<UnitPrice> {
        day(&self.read)?;
        if self.source.trim().is_empty() {
            return Err(bad("has a price without a source", &self.read));
        }
        let read = |dollars: &Option<String>| dollars.as_deref().map(micros).transpose();
        Ok(UnitPrice {
            minute: read(&self.minute)?,
            image: read(&self.image)?,
            characters: read(&self.characters)?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Later {
    from: String,
    input: String,
    cached: String,
    output: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    provider: String,
    date: String,
    models: Vec<String>,
}

fn yes() -> bool {
    true
}

/// Parses the data file.
///
/// # Errors
/// `Invalid` with the reason.
pub(super) fn parse(text: &str) -> Result<Families> {
    let file: File =
        toml::from_str(text).map_err(|error| bad("is not a table of models", error.message()))?;
    let patterns = |names: Vec<String>| names.into_iter().map(Pattern::new).collect();
    let mut storing = HashMap::new();
    for wanted in &file.provider {
        if let Some(cache) = &wanted.cache {
            storing.insert(wanted.name.clone(), cache.multiples()?);
        }
    }
    let preferences = file
        .provider
        .into_iter()
        .map(|wanted| Preference {
            provider: wanted.name,
            small: patterns(wanted.small),
            large: patterns(wanted.large),
            reasoning_small: patterns(wanted.reasoning_small),
            reasoning_large: patterns(wanted.reasoning_large),
            vision: patterns(wanted.vision),
            embedding: patterns(wanted.embedding),
            transcription: wanted.transcription,
        })
        .collect();
    let end = |last: Last| {
        Ok(End { provider: last.provider, date: day(&last.date)?, models: last.models })
    };
    Ok(Families {
        date: day(&file.date)?,
        source: file.source,
        seeing: file.seeing,
        preferences,
        families: file
            .family
            .into_iter()
            .map(|entry| family(entry, &storing))
            .collect::<Result<_>>()?,
        ends: file.end.into_iter().map(end).collect::<Result<_>>()?,
    })
}

fn family(entry: FamilyEntry, storing: &HashMap<String, Multiples>) -> Result<Family> {
    let least = match &entry.least {
        Some(text) => version(text).ok_or_else(|| bad("has an invalid version", text))?,
        None => Version::new(),
    };
    let Multiples { minutes, hour } = storing.get(&entry.provider).copied().unwrap_or_default();
    let price = |input: &str, cached: &str, output: &str| -> Result<Price> {
        let input = micros(input)?;
        let stored = |multiple: u64| input.checked_mul(multiple).map(|price| price / MILLION);
        Ok(Price {
            input,
            cached: micros(cached)?,
            output: micros(output)?,
            stored: minutes.and_then(stored),
            stored_long: hour.and_then(stored),
        })
    };
    let later = match &entry.later {
        Some(later) => {
            Some((day(&later.from)?, price(&later.input, &later.cached, &later.output)?))
        }
        None => None,
    };
    Ok(Family {
        price: entry.price.as_ref().map(|p| price(&p.input, &p.cached, &p.output)).transpose()?,
        unit: entry.unit.as_ref().map(Units::price).transpose()?,
        later,
        provider: entry.provider,
        name: Pattern::new(entry.name),
        least,
        model: entry.model,
        limits: ModelLimits { window: entry.window, output: entry.output },
        rules: Rules {
            wire: entry.wire,
            limit: entry.limit,
            sampling: entry.sampling,
            efforts: entry.efforts,
            prefill: entry.prefill,
        },
        vision: entry.vision,
    })
}

fn day(text: &str) -> Result<time::Date> {
    let format = time::macros::format_description!("[year]-[month]-[day]");
    time::Date::parse(text, format).map_err(|_| bad("has an invalid date", text))
}

/// Converts dollars, written with at most six decimals, to micro-dollars.
pub(crate) fn micros(dollars: &str) -> Result<u64> {
    let wrong = || bad("has an invalid price", dollars);
    let (whole, part) = dollars.split_once('.').unwrap_or((dollars, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || part.len() > 6 || !digits(whole) || !digits(part) {
        return Err(wrong());
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    number(whole)?
        .checked_mul(1_000_000)
        .and_then(|whole| Some((whole, number(&format!("{part:0<6}")).ok()?)))
        .and_then(|(w, p)| w.checked_add(p))
        .ok_or_else(wrong)
}

fn bad(what: &str, value: &str) -> Error {
    Error::invalid(format!("the table of models {what}"))
        .with("value", galatea_http::shorten(value, 200))
}
