//! The models that an agent uses, for text, embeddings and media. Wire formats live in
//! `galatea-models`.

mod answer;
mod bill;
mod drafts;
mod media;
pub mod object;
mod registered;
mod request;
pub mod schema;
mod sound;
pub mod text_actions;
#[doc(hidden)]
pub mod tokens;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::error::Result;

pub use crate::error::usage::{Spent, Usage};
pub use answer::{AnsweredBy, Finish, Opaque, TextAnswer, ToolCall};
pub use bill::{Attempt, Bill, Payer};
pub use drafts::{DraftSink, Drafts};
pub use media::{
    ImageGeneration, ImageRequest, Made, MediaFile, MediaModel, MediaTask, MediaUsage, Sound,
    SpeechRequest, TextToSpeech, Transcription, UnitPrice,
};
pub use object::{ObjectModel, ObjectModels, ObjectTier};
pub use registered::{PluginModel, RegisteredModel};
pub use request::{
    CacheFor, ChatMessage, ChatPart, ChatRole, Effort, Sampling, TextRequest, ToolChoice, ToolSpec,
};

/// Code of an error that stands for a limit of money or tokens: no model was asked, and the same call
/// passes when the limit does. Its kind is that of the runtime's other refusals, `Invalid`, so code
/// that drops what a model refuses has to look at the code first.
pub const LIMIT_CODE: &str = "GAL-LIMIT";

/// Code of an error that stands for a filter of the provider: it took the whole answer away, or refused
/// what was asked. Asked the same again, it would do the same.
pub const WITHHELD_CODE: &str = "GAL-MODEL-WITHHELD";

/// Takes each piece of visible text of an answer as it arrives.
pub type OnText<'a> = dyn Fn(&str) + Send + Sync + 'a;

/// Turns a conversation into text or tool calls.
#[async_trait]
pub trait TextModel: Send + Sync {
    /// Name and provider, for logs and badges. No I/O. Called before and after each call.
    fn info(&self) -> &ModelInfo;

    /// Makes one call: no retry and no fallback in here. `on_text` is called with each piece of
    /// visible text as it arrives when `request.stream` is set, and never otherwise.
    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer>;
}

/// Turns text into vectors.
#[async_trait]
pub trait EmbeddingModel: Send + Sync {
    /// Name and provider. No I/O. Called before each call.
    fn info(&self) -> &ModelInfo;
    /// Returns one vector per text, all of the same width. Called with stored texts soon after
    /// their commit, in batches, and with the question of each search.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>>;
    /// Another embedding model of the same service, by its [`ModelInfo::full_name`]. Called after a
    /// change of the model: memories that the model before embedded are compared by it until they
    /// are embedded again. `None` if this service cannot have a model of that name. No I/O: whether
    /// the service still has it, the first call shows. A plugin's model may implement it, too; other
    /// models that the plugin registers are found without it.
    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        let _ = full_name;
        None
    }
}

/// Description of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// `openai`, `anthropic`, `ollama`, `google`, `openrouter`, `local`, `offline`.
    pub provider: String,
    /// The model's name there.
    pub model: String,
    /// The model accepts tools; otherwise actions are described in the prompt.
    pub tools: bool,
    /// Pictures can be shown to it.
    pub vision: bool,
    /// A script, not AI: its answers carry a label.
    pub scripted: bool,
    /// Limits of reading and writing, as far as that is known.
    #[serde(default)]
    pub limits: ModelLimits,
    /// Price; none where that is unknown, or where it runs on a machine of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Price of a media model by minutes, pictures or characters; none where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_price: Option<UnitPrice>,
}

impl ModelInfo {
    /// Provider and model, such as `openai text-embedding-3-small`.
    pub fn full_name(&self) -> String {
        format!("{} {}", self.provider, self.model)
    }

    /// Price; a model of one's own machine and a script cost nothing. None where that is
    /// unknown.
    pub fn known_price(&self) -> Option<Price> {
        const FREE: Price =
            Price { input: 0, cached: 0, output: 0, stored: None, stored_long: None };
        let at_home = self.scripted || ["ollama", "local"].contains(&self.provider.as_str());
        self.price.or_else(|| at_home.then_some(FREE))
    }
}

/// Limits of what a model reads and writes, in tokens as its provider counts them. None means
/// unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelLimits {
    /// Prompt and answer together.
    pub window: Option<u32>,
    /// Longest answer, thoughts included.
    pub output: Option<u32>,
}

/// Price of a model, in micro-dollars (millionths of a US dollar) per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Of what it reads.
    pub input: u64,
    /// Of what it reads and the provider's cache held already.
    pub cached: u64,
    /// Of what it writes.
    pub output: u64,
    /// Of input tokens that the provider writes to its cache for minutes. `None`: the price is
    /// `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<u64>,
    /// Price of tokens stored for an hour or longer. `None`: the price is that of `stored`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_long: Option<u64>,
}

impl Price {
    /// Cost of these tokens, in micro-dollars, rounded up: many small calls must not count as
    /// free.
    pub fn of(&self, usage: Usage) -> u64 {
        // A provider's counts may contradict each other: each part is at most what is left.
        let mut rest = usage.input;
        let mut part = |tokens: u64| {
            let part = tokens.min(rest);
            rest -= part;
            part
        };
        let (cached, stored, stored_long) =
            (part(usage.cached), part(usage.stored), part(usage.stored_long));
        let stored_price = self.stored.unwrap_or(self.input);
        let parts = [
            (rest, self.input),
            (cached, self.cached),
            (stored, stored_price),
            (stored_long, self.stored_long.unwrap_or(stored_price)),
            (usage.output, self.output),
        ];
        let sum: u128 =
            parts.into_iter().map(|(tokens, price)| u128::from(tokens) * u128::from(price)).sum();
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// elizaOS model types for text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Tier {
    /// Quick decisions: whether to join in, what to remember.
    TextSmall,
    /// Answers to people.
    TextLarge,
    /// Short questions that need thought, such as a check or a choice.
    #[serde(rename = "REASONING_SMALL", alias = "TEXT_REASONING_SMALL")]
    ReasoningSmall,
    /// Long questions that need thought, such as a plan.
    #[serde(rename = "REASONING_LARGE", alias = "TEXT_REASONING_LARGE")]
    ReasoningLarge,
}

/// The models of one agent. A configured model that fails says so; an answer of a fallback names it
/// ([`TextAnswer::by`]).
#[derive(Clone)]
pub struct Models {
    /// Makes decisions: quick and cheap.
    pub small: Arc<dyn TextModel>,
    /// Makes answers.
    pub large: Arc<dyn TextModel>,
    /// For thought; none means the large model.
    pub reasoning: ReasoningModels,
    /// For describing pictures; none when the provider has no such model.
    pub vision: Option<Arc<dyn TextModel>>,
    /// For JSON that fits a schema; without any, the text models write it.
    pub objects: ObjectModels,
    /// For search; none means keyword search.
    pub embedding: Option<Arc<dyn EmbeddingModel>>,
    /// For sound, pictures and speech.
    pub media: MediaModels,
}

/// The models that think before they answer; none of a size means the large model.
#[derive(Clone, Default)]
pub struct ReasoningModels {
    /// Takes short prompts; none if no model of this size is configured.
    pub small: Option<Arc<dyn TextModel>>,
    /// Takes long prompts; none if no model of this size is configured.
    pub large: Option<Arc<dyn TextModel>>,
}

/// The media models of one agent; none of a kind where none is configured.
#[derive(Clone, Default)]
pub struct MediaModels {
    /// Makes voice messages readable.
    pub transcription: Option<Arc<dyn MediaModel<Transcription>>>,
    /// Makes pictures; none if no such model is configured.
    pub image: Option<Arc<dyn MediaModel<ImageGeneration>>>,
    /// Makes speech; none if no such model is configured.
    pub speech: Option<Arc<dyn MediaModel<TextToSpeech>>>,
}

impl Models {
    /// A text model for everything, and nothing else.
    pub fn of_text(model: Arc<dyn TextModel>) -> Self {
        Self {
            small: Arc::clone(&model),
            large: model,
            reasoning: ReasoningModels::default(),
            vision: None,
            objects: ObjectModels::default(),
            embedding: None,
            media: MediaModels::default(),
        }
    }

    /// elizaOS `useModel` for text types. A reasoning type without a model of its own is the large
    /// model.
    pub fn text(&self, tier: Tier) -> &Arc<dyn TextModel> {
        match tier {
            Tier::TextSmall => &self.small,
            Tier::TextLarge => &self.large,
            Tier::ReasoningSmall => self.reasoning.small.as_ref().unwrap_or(&self.large),
            Tier::ReasoningLarge => self.reasoning.large.as_ref().unwrap_or(&self.large),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(ModelInfo);

    #[async_trait]
    impl TextModel for Named {
        fn info(&self) -> &ModelInfo {
            &self.0
        }
        async fn generate(&self, _: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
            Ok(TextAnswer::default())
        }
    }

    #[test]
    fn without_a_reasoning_model_the_large_one_thinks() {
        let of = |name: &str| -> Arc<dyn TextModel> {
            Arc::new(Named(ModelInfo { model: name.to_owned(), ..ModelInfo::default() }))
        };
        let mut models = Models { small: of("small"), ..Models::of_text(of("large")) };
        models.reasoning.small = Some(of("thinks"));
        let name = |tier| models.text(tier).info().model.clone();
        assert_eq!(name(Tier::TextSmall), "small");
        assert_eq!(name(Tier::ReasoningSmall), "thinks");
        assert_eq!(name(Tier::ReasoningLarge), "large");
        for (text, tier) in [
            ("\"REASONING_SMALL\"", Tier::ReasoningSmall),
            ("\"TEXT_REASONING_LARGE\"", Tier::ReasoningLarge),
            ("\"TEXT_LARGE\"", Tier::TextLarge),
        ] {
            assert_eq!(serde_json::from_str::<Tier>(text).unwrap(), tier, "{text}");
        }
    }

    #[test]
    fn a_price_counts_what_was_cached_for_less_and_rounds_up() {
        let price =
            Price { input: 1_000_000, cached: 100_000, output: 5_000_000, ..Price::default() };
        let of =
            |input, cached, output| price.of(Usage { input, cached, output, ..Usage::default() });
        assert_eq!(of(1_000_000, 0, 0), 1_000_000);
        assert_eq!(of(1_000_000, 900_000, 100_000), 100_000 + 90_000 + 500_000);
        assert_eq!((of(0, 0, 0), of(0, 0, 1), of(1, 1, 0)), (0, 5, 1));
        assert_eq!(of(10, 99, 0), 1, "a provider that counts more cached than read");
        assert_eq!(of(u64::MAX, 0, u64::MAX), u64::MAX);
    }

    #[test]
    fn what_the_cache_stores_has_its_own_price() {
        let usage = Usage {
            input: 1_000_000,
            cached: 400_000,
            stored: 200_000,
            stored_long: 100_000,
            output: 0,
        };
        let plain = Price { input: 1_000_000, cached: 100_000, ..Price::default() };
        assert_eq!(plain.of(usage), 40_000 + 600_000, "without a price of its own");
        let dearer = Price { stored: Some(1_250_000), ..plain };
        assert_eq!(dearer.of(usage), 40_000 + 375_000 + 300_000);
        let long = Price { stored_long: Some(2_000_000), ..dearer };
        assert_eq!(long.of(usage), 40_000 + 250_000 + 200_000 + 300_000);
        let contradictory =
            Usage { input: 100, cached: 90, stored: 90, stored_long: 90, output: 0 };
        assert_eq!(long.of(contradictory), (9_000_000_u64 + 12_500_000).div_ceil(1_000_000));
    }
}
