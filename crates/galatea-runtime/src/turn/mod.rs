//! The line from a stored message to a committed answer. [`Engine::run_turn`] reads as its table of
//! contents.

mod act;
mod commit;
mod context;
mod ends;
mod engine;
mod evaluate;
mod gate;
mod gather;
mod message;
mod more;
mod notice;
mod prompt;
mod run;
mod see;
mod spelling;
mod state;
mod steps;
mod think;
mod typing;

pub(crate) use self::act::pending::{Pending, Request, TAG as WAITING};
pub use self::state::failures::Failing;
pub(crate) use self::state::failures::Failures;
pub use self::state::window::Shortened;
pub(crate) use self::state::window::Windows;
pub(crate) use engine::{
    Background, Claims, CurrentThinking, Engine, EngineParts, PluginParts, Thinking,
};
pub(crate) use message::{Claimed, Waiting};
pub(crate) use run::TurnEnd;
