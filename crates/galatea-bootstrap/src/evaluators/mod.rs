//! Evaluators of the standard plugin, one per file.

mod lesson;
mod mark;
mod reflection;

pub(crate) use mark::Mark;
pub(crate) use reflection::{INTERVAL, Reflection};
