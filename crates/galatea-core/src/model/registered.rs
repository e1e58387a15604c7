//! A model that a plugin brings for one type (elizaOS `registerModel`).

use std::sync::Arc;

use super::{
    EmbeddingModel, ImageGeneration, MediaModel, ObjectModel, ObjectTier, TextModel, TextToSpeech,
    Tier, Transcription,
};

/// A model of a plugin, with its priority.
///
/// The models of a type are asked from the highest priority down; the next one answers if one
/// fails. The configured models have priority 0 and are asked before a plugin's models of the same
/// priority. The offline script never answers in place of a failed model. Parameters that a call
/// leaves open come from the settings of the type, as for configured models.
#[derive(Clone)]
pub struct RegisteredModel {
    /// Above 0 before the configured models, otherwise after them.
    pub priority: i32,
    /// The model, and its type.
    pub model: PluginModel,
}

/// A model by the type that it serves.
#[derive(Clone)]
pub enum PluginModel {
    /// Text of a tier.
    Text(Tier, Arc<dyn TextModel>),
    /// JSON that fits a schema ([`super::object::generate`]). No configured model has these types:
    /// the text models write objects after all models of plugins, whatever their priority.
    Object(ObjectTier, Arc<dyn ObjectModel>),
    /// Describes pictures.
    Vision(Arc<dyn TextModel>),
    /// Vectors. Only the model of the highest priority is used, and none in its place if it fails:
    /// vectors of two models cannot be compared. The others, and what [`EmbeddingModel::sibling`] of
    /// each of them names, embed questions for memories that they embedded before. So a plugin that
    /// changes its model registers the earlier one with a lower priority.
    Embedding(Arc<dyn EmbeddingModel>),
    /// Turns sound into words.
    Transcription(Arc<dyn MediaModel<Transcription>>),
    /// Turns words into pictures.
    Image(Arc<dyn MediaModel<ImageGeneration>>),
    /// Turns words into speech.
    Speech(Arc<dyn MediaModel<TextToSpeech>>),
}
