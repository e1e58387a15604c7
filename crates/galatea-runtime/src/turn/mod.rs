//! The line from a stored message to a committed answer. [`Engine::run_turn`] reads as its table of
//! contents.

mod act;
mod beginning;
mod commands;
mod commit;
mod compose;
mod confirm;
mod context;
mod conversation;
mod decide;
mod engine;
mod evaluate;
mod fail;
mod fit;
mod gate;
mod gather;
mod hear;
mod hops;
mod journal;
mod judge;
mod memories;
mod message;
mod more;
mod notice;
mod notices;
mod outcome;
mod pair;
mod parts;
mod prompt;
mod quiet;
mod record;
mod refuse;
mod repeated;
mod report;
mod room_people;
mod run;
mod see;
mod skip;
mod think;
mod typing;
mod unanswered;
mod unread;
mod window;

pub(crate) use engine::{Background, Claims, Engine, EngineState, PluginParts, Thinking};
pub(crate) use message::{Claimed, Waiting};
pub(crate) use run::TurnEnd;
