//! Evaluators of the standard plugin, one per file, and the steps of a reflection.

mod apply;
mod embedding;
mod lesson;
mod mark;
mod people;
mod profiles;
mod question;
mod reflection;
mod summarization;
mod talk;

pub(crate) use embedding::EmbeddingQueue;
pub(crate) use mark::Mark;
pub(crate) use profiles::Profiles;
pub(crate) use reflection::{INTERVAL, Reflection};
pub(crate) use summarization::Summarization;
