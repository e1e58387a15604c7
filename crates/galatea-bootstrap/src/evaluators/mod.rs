//! Evaluators of the standard plugin, one per file, and the steps of a reflection.

mod apply;
mod consolidate;
mod known;
mod lesson;
mod people;
mod profiles;
mod question;
mod reflection;
mod summarization;
mod talk;

pub(crate) use profiles::Profiles;
pub(crate) use reflection::{INTERVAL, Reflection};
pub(crate) use summarization::Summarization;
