//! Knowledge about models by their names: context windows, prices, parameters, and
//! which model to prefer. The data is one file, compiled in.

mod data;
mod family;
pub mod pattern;

use std::sync::OnceLock;

pub use self::family::{End, Families, Family, Limit, Preference, Role, Rules, Sampling, Wire};
pub use pattern::{Pattern, Version};

const DATA: &str = include_str!("../data/models.toml");

/// Age from which the data file causes a warning: providers announce the end of a model at least
/// half a year ahead.
pub const OLD_AFTER: time::Duration = time::Duration::days(180);

/// The day (UTC) of a timestamp, for prices and announced ends.
pub fn day(now: galatea_core::Timestamp) -> time::Date {
    time::OffsetDateTime::from_unix_timestamp(now.0 / 1000)
        .map_or(known().date, time::OffsetDateTime::date)
}

/// The built-in table, parsed once.
pub fn known() -> &'static Families {
    static KNOWN: OnceLock<Families> = OnceLock::new();
    // A test parses the file, so this cannot fail in practice. Without the table, the program still
    // works with configured model names.
    KNOWN.get_or_init(|| data::parse(DATA).unwrap_or_else(|_| Families::nothing()))
}

impl Families {
    fn nothing() -> Self {
        Self {
            date: time::Date::MIN,
            source: String::new(),
            preferences: Vec::new(),
            families: Vec::new(),
            ends: Vec::new(),
            seeing: Vec::new(),
        }
    }

    /// The family of a model, if it is known.
    pub fn of(&self, provider: &str, model: &str) -> Option<&Family> {
        let model = model.strip_prefix("models/").unwrap_or(model);
        self.families
            .iter()
            .find(|family| family.provider == provider && family.version_of(model).is_some())
    }

    /// The preferred families of a provider.
    pub fn preference(&self, provider: &str) -> Option<&Preference> {
        self.preferences.iter().find(|preference| preference.provider == provider)
    }

    /// The model that is used until the provider's own list has been read.
    pub fn built_in(&self, provider: &str, role: Role) -> Option<&str> {
        let wanted = self.preference(provider)?.of(role);
        let model = |pattern: &Pattern| {
            self.families
                .iter()
                .find(|f| f.provider == provider && f.name == *pattern && f.model.is_some())
        };
        wanted.iter().find_map(model)?.model.as_deref()
    }

    /// The day on which a model ends, if announced.
    pub fn end_of(&self, provider: &str, model: &str) -> Option<time::Date> {
        let model = model.strip_prefix("models/").unwrap_or(model);
        self.ends
            .iter()
            .find(|end| end.provider == provider && end.models.iter().any(|name| name == model))
            .map(|end| end.date)
    }

    /// True if a model accepts pictures, judged by its name alone, at any service.
    pub fn sees(&self, model: &str) -> bool {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let by_family =
            self.families.iter().any(|family| family.vision && family.version_of(&name).is_some());
        by_family || self.seeing.iter().any(|part| name.contains(part.as_str()))
    }

    /// True if the data is older than [`OLD_AFTER`].
    pub fn is_old(&self, today: time::Date) -> bool {
        today - self.date > OLD_AFTER
    }
}

#[cfg(test)]
mod tests;
