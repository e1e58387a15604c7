//! Character files, each with the settings that its agent sees.

pub mod personas;
pub(crate) mod stored;
pub mod wants;
