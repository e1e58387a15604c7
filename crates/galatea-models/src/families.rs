//! Families: what is known of models by their names: windows, prices, parameters, and which to
//! prefer. The data is one file, compiled in.

mod data;
pub mod pattern;

use std::sync::OnceLock;

use galatea_core::model::{Effort, ModelLimits, Price};

pub use data::{Limit, Sampling, Wire};
pub use pattern::{Pattern, Version};

const DATA: &str = include_str!("../data/models.toml");

/// The data file is worth a warning when it is older: providers announce ends of models at least
/// half a year ahead.
pub const OLD_AFTER: time::Duration = time::Duration::days(180);

/// What the data file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Families {
    /// When it was written.
    pub date: time::Date,
    /// Where it is from.
    pub source: String,
    /// What to prefer of each provider.
    pub preferences: Vec<Preference>,
    /// In the order in which they are looked through.
    pub families: Vec<Family>,
    /// Announced ends.
    pub ends: Vec<End>,
    /// What names of models that see pictures begin with or contain, wherever they run.
    pub seeing: Vec<String>,
}

/// Families to prefer, by what they are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preference {
    /// Provider, as in [`galatea_core::ModelInfo`].
    pub provider: String,
    /// For quick decisions.
    pub small: Vec<Pattern>,
    /// For answers.
    pub large: Vec<Pattern>,
    /// For pictures; none: the large one.
    pub vision: Vec<Pattern>,
    /// For vectors.
    pub embedding: Vec<Pattern>,
}

impl Preference {
    /// Families for a purpose, most wanted first.
    pub fn of(&self, role: Role) -> &[Pattern] {
        match role {
            Role::Small => &self.small,
            Role::Large => &self.large,
            Role::Vision => &self.vision,
            Role::Embedding => &self.embedding,
        }
    }
}

/// What a model is chosen for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Quick decisions.
    Small,
    /// Answers.
    Large,
    /// Pictures.
    Vision,
    /// Vectors.
    Embedding,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Small, Self::Large, Self::Vision, Self::Embedding];

    /// For people and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
            Self::Vision => "vision",
            Self::Embedding => "embedding",
        }
    }
}

/// What the models of one family have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Provider, as in [`galatea_core::ModelInfo`].
    pub provider: String,
    /// Its names.
    pub name: Pattern,
    /// First version that this is about.
    pub least: Version,
    /// Newest generally available one when the data was written.
    pub model: Option<String>,
    /// Window and longest answer.
    pub limits: ModelLimits,
    /// Price, and from a day on another one.
    pub price: Option<Price>,
    /// The later price.
    pub later: Option<(time::Date, Price)>,
    /// Which parameters it takes.
    pub rules: Rules,
    /// It sees pictures.
    pub vision: bool,
}

/// Which parameters a model takes. `Default` is what models took before they reasoned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Format of OpenAI.
    pub wire: Wire,
    /// What the longest answer is called.
    pub limit: Limit,
    /// Whether temperature and its like are taken.
    pub sampling: Sampling,
    /// Efforts of reasoning it takes.
    pub efforts: Vec<Effort>,
    /// A conversation may end with the model's own side.
    pub prefill: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            wire: Wire::Chat,
            limit: Limit::MaxTokens,
            sampling: Sampling::Always,
            efforts: Vec::new(),
            prefill: true,
        }
    }
}

impl Rules {
    /// Whether temperature and its like are taken with this effort.
    pub fn samples(&self, effort: Option<Effort>) -> bool {
        match self.sampling {
            Sampling::Always => true,
            Sampling::NoEffort => effort == Some(Effort::None),
            Sampling::Never => false,
        }
    }

    /// The effort asked for, if it is one of those taken.
    pub fn effort(&self, wanted: Option<Effort>) -> Option<Effort> {
        wanted.filter(|effort| self.efforts.contains(effort))
    }
}

impl Family {
    /// What it costs on a day.
    pub fn price_on(&self, day: time::Date) -> Option<Price> {
        self.later.filter(|(from, _)| day >= *from).map(|(_, price)| price).or(self.price)
    }

    /// The version of a name of this family.
    pub fn version_of(&self, model: &str) -> Option<Version> {
        self.name.version_of(model).filter(|version| *version >= self.least)
    }
}

/// When a provider switches models off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Provider.
    pub provider: String,
    /// Last day.
    pub date: time::Date,
    /// Their names.
    pub models: Vec<String>,
}

/// The day of a moment, for prices and announced ends.
pub fn day(now: galatea_core::Timestamp) -> time::Date {
    time::OffsetDateTime::from_unix_timestamp(now.0 / 1000)
        .map_or(known().date, time::OffsetDateTime::date)
}

/// What is known. Read once.
pub fn known() -> &'static Families {
    static KNOWN: OnceLock<Families> = OnceLock::new();
    // A test reads the file, so a faulty one never gets this far; a program without the table would
    // still answer with configured names.
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

    /// The family of a model.
    pub fn of(&self, provider: &str, model: &str) -> Option<&Family> {
        let model = model.strip_prefix("models/").unwrap_or(model);
        self.families
            .iter()
            .find(|family| family.provider == provider && family.version_of(model).is_some())
    }

    /// What is preferred of a provider.
    pub fn preference(&self, provider: &str) -> Option<&Preference> {
        self.preferences.iter().find(|preference| preference.provider == provider)
    }

    /// The model asked until the provider's own list has been read.
    pub fn built_in(&self, provider: &str, role: Role) -> Option<&str> {
        let wanted = self.preference(provider)?.of(role);
        let model = |pattern: &Pattern| {
            self.families
                .iter()
                .find(|f| f.provider == provider && f.name == *pattern && f.model.is_some())
        };
        wanted.iter().find_map(model)?.model.as_deref()
    }

    /// When a model ends, if that was announced.
    pub fn end_of(&self, provider: &str, model: &str) -> Option<time::Date> {
        let model = model.strip_prefix("models/").unwrap_or(model);
        self.ends
            .iter()
            .find(|end| end.provider == provider && end.models.iter().any(|name| name == model))
            .map(|end| end.date)
    }

    /// Whether a model sees pictures, by its name alone, at whatever service it is.
    pub fn sees(&self, model: &str) -> bool {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let by_family =
            self.families.iter().any(|family| family.vision && family.version_of(&name).is_some());
        by_family || self.seeing.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether the data is so old that it probably misleads.
    pub fn is_old(&self, today: time::Date) -> bool {
        today - self.date > OLD_AFTER
    }
}

#[cfg(test)]
mod tests;
