//! What the agent remembers of long talks: what reaches the prompt, and what must not.

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
