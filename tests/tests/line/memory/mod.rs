//! Memory of long talks: which of it reaches the prompt, and which must not.

mod canaries;
mod command;
mod delay;
mod exported;
mod forgotten;
mod imported;
pub(crate) mod learner;
mod linked;
mod long;
mod older;
mod planted;
mod profiles;
mod retention;
mod stage;
mod talk;
