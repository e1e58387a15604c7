//! Agents in a program of one's own: created from characters, asked, changed, restarted and removed
//! while others run. The program owns the async runtime, the log, the signals and every listener.

mod adding;
mod agent;
mod answering;
mod builder;
mod callbacks;
mod finding;
mod health;
mod limits;
mod listening;
mod meeting;
mod running;
mod settings;
mod source;

pub use self::{
    adding::AddAgent,
    agent::Agent,
    answering::Answering,
    builder::Builder,
    callbacks::Callbacks,
    health::{AgentHealth, KeyCheck, SystemStatus},
    limits::AgentLimits,
    listening::Listener,
    meeting::Meeting,
    running::Galatea,
    source::AgentSource,
};
