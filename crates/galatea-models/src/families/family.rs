//! Families of models, and what is known of each.

use galatea_core::model::{Effort, ModelLimits, Price, UnitPrice};
use serde::{Deserialize, Serialize};

use super::pattern::{Pattern, Version};

/// Content of the data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Families {
    /// Day on which it was written.
    pub date: time::Date,
    /// Its sources.
    pub source: String,
    /// The preferred families of each provider.
    pub preferences: Vec<Preference>,
    /// All families; the first that matches a name applies.
    pub families: Vec<Family>,
    /// Announced ends.
    pub ends: Vec<End>,
    /// Parts of the names of models that accept pictures, at any service.
    pub seeing: Vec<String>,
}

/// A provider's preferred families, by purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preference {
    /// Provider, as in [`galatea_core::ModelInfo`].
    pub provider: String,
    /// For quick decisions.
    pub small: Vec<Pattern>,
    /// For answers.
    pub large: Vec<Pattern>,
    /// For short questions that need thought.
    pub reasoning_small: Vec<Pattern>,
    /// For long ones.
    pub reasoning_large: Vec<Pattern>,
    /// For pictures; empty where the large model is used.
    pub vision: Vec<Pattern>,
    /// For vectors.
    pub embedding: Vec<Pattern>,
    /// The model that makes sound readable, if the provider has one.
    pub transcription: Option<String>,
}

impl Preference {
    /// Families for a purpose, most preferred first.
    pub fn of(&self, role: Role) -> &[Pattern] {
        match role {
            Role::Small => &self.small,
            Role::Large => &self.large,
            Role::ReasoningSmall => &self.reasoning_small,
            Role::ReasoningLarge => &self.reasoning_large,
            Role::Vision => &self.vision,
            Role::Embedding => &self.embedding,
        }
    }
}

/// The purpose that a model is chosen for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Quick decisions.
    Small,
    /// Answers.
    Large,
    /// Short questions that need thought.
    ReasoningSmall,
    /// Long questions that need thought.
    ReasoningLarge,
    /// Pictures.
    Vision,
    /// Vectors.
    Embedding,
}

impl Role {
    /// All purposes.
    pub const ALL: [Self; 6] = [
        Self::Small,
        Self::Large,
        Self::ReasoningSmall,
        Self::ReasoningLarge,
        Self::Vision,
        Self::Embedding,
    ];

    /// Name of the purpose, for people and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
            Self::ReasoningSmall => "reasoning-small",
            Self::ReasoningLarge => "reasoning-large",
            Self::Vision => "vision",
            Self::Embedding => "embedding",
        }
    }
}

/// The properties that the models of one family share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Provider, as in [`galatea_core::ModelInfo`].
    pub provider: String,
    /// Pattern of its names.
    pub name: Pattern,
    /// First version that this entry applies to.
    pub least: Version,
    /// Newest generally available model when the data was written.
    pub model: Option<String>,
    /// Window and longest answer.
    pub limits: ModelLimits,
    /// Price until the day of `later`, if there is one.
    pub price: Option<Price>,
    /// Price of other units than tokens.
    pub unit: Option<UnitPrice>,
    /// A later price and the day from which it applies.
    pub later: Option<(time::Date, Price)>,
    /// Parameters that it accepts.
    pub rules: Rules,
    /// True if it accepts pictures.
    pub vision: bool,
}

/// Parameters that a model accepts. `Default` describes models without reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Wire format of OpenAI's API.
    pub wire: Wire,
    /// Name of the parameter that limits the answer's length.
    pub limit: Limit,
    /// Treatment of sampling parameters such as temperature.
    pub sampling: Sampling,
    /// Reasoning efforts that it accepts.
    pub efforts: Vec<Effort>,
    /// True if a conversation may end with a message of the model.
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
    /// True if sampling parameters are accepted with this effort.
    pub fn samples(&self, effort: Option<Effort>) -> bool {
        match self.sampling {
            Sampling::Always => true,
            Sampling::NoEffort => effort == Some(Effort::None),
            Sampling::Never => false,
        }
    }

    /// The requested effort, if the model accepts it.
    pub fn effort(&self, wanted: Option<Effort>) -> Option<Effort> {
        wanted.filter(|effort| self.efforts.contains(effort))
    }
}

impl Family {
    /// The price that applies on a day.
    pub fn price_on(&self, day: time::Date) -> Option<Price> {
        self.later.filter(|(from, _)| day >= *from).map(|(_, price)| price).or(self.price)
    }

    /// The version in a model's name; `None` if the name is not of this family or the version is
    /// older than `least`.
    pub fn version_of(&self, model: &str) -> Option<Version> {
        self.name.version_of(model).filter(|version| *version >= self.least)
    }
}

/// The announced end of some of a provider's models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Provider.
    pub provider: String,
    /// Last day.
    pub date: time::Date,
    /// Names of the models.
    pub models: Vec<String>,
}

/// The wire format of OpenAI's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Chat Completions, which many other services support too.
    #[default]
    Chat,
    /// Responses, which several of OpenAI's models require for tools.
    Responses,
}

/// Name of the parameter that limits the answer's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `max_tokens`.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// Cases in which sampling parameters such as temperature are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Always.
    #[default]
    Always,
    /// Only with effort `none`.
    NoEffort,
    /// Never.
    Never,
}
