//! Evaluators of the standard plugin, one per file.

mod lesson;
mod reflection;

pub(crate) use reflection::{INTERVAL, Reflection};
